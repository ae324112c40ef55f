package main

import (
	"cmp"
	"errors"
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
	is := cmp.Or(o.region, o.reading.region)
	if o.unpriced || is == "" {
		return o.region
	}

	for _, v := range sc.Volumes {
		t, err := catalog.Type(v.Value.Type)
		if err != nil {
			return o.region
		}

		// One volume without a price makes the whole layout unpriced, so all volumes must have one.
		region := catalog.DefaultRegion(t.Provider)
		var lacks *catalog.NoPriceError
		if _, err := a.catalog.Monthly(&v.Value, is); errors.As(err, &lacks) && is != region {
			fmt.Fprintf(a.stderr, "plimsoll: note: prices are those of %s: %s\nhint: %s\n", region, printable(err.Error()),
				printable(lacks.Importing()))
			return ""
		}
	}

	return is
}
