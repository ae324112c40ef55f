package plan

import (
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/model/catalog"
)

// latencyStatements say what the latency of Azure's and Google's volumes rests on: a public
// measurement, a promise, or another product's latency. EBS' are calibrated or documented.
func (p *planner) latencyStatements() []Statement {
	sc := p.now
	for _, o := range []*outcome{p.found.chosen, p.nearest()} {
		if o == nil {
			continue
		}
		if with, err := p.now.With(p.space.sets(o.choice)...); err == nil {
			sc = with
		}
		break
	}

	var said []string
	for k := 1; k <= sc.MemberCount(); k++ {
		for _, v := range sc.VolumesOf(k) {
			t, err := catalog.Type(v.Value.Type)
			if err != nil || t.Provider != "gcp" && t.Provider != "azure" || t.LatencyBasis == "" ||
				v.Value.Latency != nil {
				continue
			}
			if text := t.LatencyRestsOn(); !slices.Contains(said, text) {
				said = append(said, text)
			}
		}
	}

	if len(said) == 0 {
		return nil
	}

	return []Statement{{"latency", strings.Join(said, "; ") +
		". All latencies of this plan rest on that: measure yours with plimsoll probe, and put it into the scenario (volumes.NAME.latency)",
		[]Evidence{}}}
}

// priceStatements say which prices a plan does without.
func (p *planner) priceStatements() []Statement {
	region := p.region()
	switch i := p.now.Instance(); {
	case p.opt.Unpriced:
		return []Statement{{"unpriced",
			"prices are left out: among layouts that meet the objective this one orders the fewest IOPS beyond what its volume types include, then " +
				"the least throughput, then the least size in steps of 100 GiB, then the least disruption and the fewest changes; its cost, and whether another would cost less, is unknown",
			[]Evidence{}}}
	case i != nil:
		if _, err := i.Monthly(p.opt.Region); err != nil {
			return []Statement{{"machine-unpriced",
				fmt.Sprintf("the price of %s in %s is unknown: totals cover volumes only, and no other machine was considered (%s)",
					i.Name, region, "plimsoll catalog import takes one: a list with instance_type,usd_per_hour,region"),
				[]Evidence{}}}
		}
	}

	return nil
}
