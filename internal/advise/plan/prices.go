package plan

import (
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/model/catalog"
)

// latencyStatements state what the latencies of Azure's and Google's volumes are based on: a public
// measurement, a vendor's specification, or another product's latency. EBS latencies are calibrated or
// documented, so they need no statement.
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
		". All latencies in this plan are based on that: measure yours with plimsoll probe, and put it into the scenario (volumes.NAME.latency)",
		[]Evidence{}}}
}

// priceStatements state which prices a plan ignores.
func (p *planner) priceStatements() []Statement {
	region := p.region()
	switch i := p.now.Instance(); {
	case p.opt.Unpriced:
		return []Statement{{"unpriced",
			"prices are ignored: among the layouts that meet the objective, this one provisions the fewest IOPS beyond what its volume types include, then " +
				"the least throughput, then the least capacity in steps of 100 GiB, then the least disruption and the fewest changes; its cost is unknown, and another layout may cost less",
			[]Evidence{}}}
	case i != nil:
		if _, err := i.Monthly(p.opt.Region); err != nil {
			return []Statement{{"machine-unpriced",
				fmt.Sprintf("the price of %s in %s is unknown: totals cover only volumes, and no other machine was considered (%s)",
					i.Name,
					region, "plimsoll catalog import adds prices from a CSV file with the columns instance_type,usd_per_hour,region"),
				[]Evidence{}}}
		}
	}

	return nil
}
