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
			default:
				return ""
			}
		}
	}
	return region
}

// regionFor is the region of the prices: the one that was asked for, else the one that the sources
// report. If the prices there are not known, it says so, and leaves the default.
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
