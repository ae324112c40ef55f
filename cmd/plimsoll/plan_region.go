package main

import (
	"fmt"

	"plimsoll/internal/model/catalog"
	"plimsoll/internal/model/scenario"
	"plimsoll/internal/record/recording"
)

// reportedRegion is the cloud region that sources report; "" if none does, or two differ.
func reportedRegion(in []recording.Reader) string {
	region := ""
	for _, r := range in {
		for _, s := range r.Sources() {
			switch is := s.Facts["region"]; {
			case is == "" || is == region:
			case region == "":
				region = is
			// Sources in two regions do not say whose prices apply.
			default:
				return ""
			}
		}
	}
	return region
}

// regionFor returns the region of the prices: the requested one, otherwise the one that the sources
// report. If no prices are known there, it says so and uses the default.
func (o *planOptions) regionFor(a *app, sc *scenario.Scenario) string {
	is := o.reading.region
	if o.region != "" || o.unpriced || is == "" {
		return o.region
	}

	for _, v := range sc.Volumes {
		t, err := catalog.Type(v.Value.Type)
		if err != nil {
			return o.region
		}

		// One volume without a price makes the whole layout unpriced, so all volumes must have one.
		if _, err := v.Value.Monthly(is); err != nil {
			region := catalog.DefaultRegion(t.Provider)
			fmt.Fprintf(
				a.stderr, "plimsoll: note: prices are those of %s: the volumes are in %s, and %s. --region %s says how to import them\n",
				region, printable(is), printable(err.Error()), printable(is))
			return o.region
		}
	}

	return is
}
