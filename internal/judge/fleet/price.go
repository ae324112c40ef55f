package fleet

import (
	"fmt"
	"strings"

	"plimsoll/internal/base/units"
	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/model/catalog"
)

// price is what the volumes of a group's fix cost a month: twice the limit that binds, where what binds is a limit as gp3 is sold with. Of other
// limits, and of fixes that are settings, a layout of its own or another instance, samples alone do not tell the price.
func price(g Group, dbs []Database) *Price {
	signal := map[string]*rules.Signal{"disk/iops-capped": rules.DiskOps, "disk/throughput-capped": rules.DiskMoved}[g.Rule]
	if signal == nil {
		return nil
	}
	out := &Price{}
	for _, d := range dbs {
		if d.report == nil {
			continue
		}
		for _, f := range d.report.Findings {
			if f.Rule != g.Rule || f.Severity == diagnose.Info {
				continue
			}
			level, ok := plateau(f, signal)
			if !ok {
				continue
			}
			monthly, ok := twice(g.Rule, level)
			if !ok {
				continue
			}
			out.MonthlyUSD += float64(monthly)
			out.Volumes++
		}
	}
	if out.Volumes == 0 {
		return nil
	}
	what := map[string]string{"disk/iops-capped": "IOPS", "disk/throughput-capped": "throughput"}[g.Rule]
	out.Of = fmt.Sprintf("twice the %s for %s, if they are gp3 in %s", what, counted(out.Volumes, "volume"), catalog.Region)
	return out
}

// plateau is the level that a cap's finding rests on, if it is one that gp3 is sold with: then the finding says so.
func plateau(f diagnose.Finding, signal *rules.Signal) (level float64, ok bool) {
	sold := false
	for _, e := range f.Evidence {
		if e.Value != nil && e.Metric == signal.Name && !ok { // the first such figure is the plateau itself
			level, ok = *e.Value, true
		}
		sold = sold || strings.Contains(e.Text, "gp3")
	}
	return level, ok && sold
}

// twice is what a gp3 of twice a limit costs a month more than one of the limit.
func twice(rule string, level float64) (units.USD, bool) {
	bill := func(factor float64) (units.USD, bool) {
		o := &catalog.Order{Type: "gp3", Size: 1 << 40} // of any size: the difference is the same
		if rule == "disk/iops-capped" {
			o.IOPS = catalog.IOPS(factor * rounded(level, 500))
		} else {
			o.Throughput = units.Throughput(factor * rounded(level, 25<<20))
		}
		if o.Check().Err() != nil {
			return 0, false
		}
		b, err := o.Monthly(catalog.Region)
		return b.Total, err == nil
	}
	now, ok := bill(1)
	if !ok {
		return 0, false
	}
	then, ok := bill(2)
	return then - now, ok
}

// rounded is a measured level as the limit that was ordered: a multiple of a step.
func rounded(x, step float64) float64 { return float64(int64(x/step+0.5)) * step }
