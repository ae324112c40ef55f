package fleet

import (
	"fmt"
	"slices"

	"plimsoll/internal/base/units"
	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/model/catalog"
)

// priced is the volume type whose limits are bought separately.
const priced = "gp3"

// price is the monthly cost of the volumes in a group's fix: twice the binding limit, if gp3 is
// sold with that limit. For other limits, and for fixes that are settings, another layout or
// another instance, samples alone do not determine the price.
func price(g Group, dbs []Database) *Price {
	out, what := &Price{}, ""
	for _, d := range dbs {
		if d.report == nil {
			continue
		}
		for _, f := range d.report.Findings {
			if f.Rule != g.Rule || f.Severity == diagnose.Info || f.Cap == nil ||
				!slices.Contains(f.Cap.Types, priced) {
				continue
			}

			// gp3 has a maximum; beyond it, twice the limit is not for sale.
			monthly, ok := twice(f.Cap)
			if !ok {
				continue
			}

			if what = "IOPS"; f.Cap.IOPS == 0 {
				what = "throughput"
			}

			out.MonthlyUSD += float64(monthly)
			out.Volumes++
		}
	}

	if out.Volumes == 0 {
		return nil
	}

	out.Of = fmt.Sprintf("twice the %s for %s, if they are %s in %s", what, counted(out.Volumes, "volume"),
		priced, catalog.Region)
	return out
}

// twice is the extra monthly cost of a gp3 volume with double the limit.
func twice(c *rules.Cap) (units.USD, bool) {
	bill := func(factor float64) (units.USD, bool) {
		o := &catalog.Order{Type: priced, Size: 1 << 40} // any size: the difference does not depend on it
		if c.IOPS > 0 {
			o.IOPS = catalog.IOPS(factor * rounded(c.IOPS, 500))
		} else {
			o.Throughput = units.Throughput(factor * rounded(c.Throughput, 25<<20))
		}
		if o.Check().Err() != nil {
			return 0, false
		}
		b, err := catalog.Embedded().Monthly(o, catalog.Region)
		return b.Total, err == nil
	}

	now, ok := bill(1)
	if !ok {
		return 0, false
	}

	then, ok := bill(2)
	return then - now, ok
}

// rounded returns the limit that was bought, given the measured level: a multiple of a step.
func rounded(x, step float64) float64 { return float64(int64(x/step+0.5)) * step }
