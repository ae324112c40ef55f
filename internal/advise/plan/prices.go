package plan

import "fmt"

// priceStatements say which prices a plan does without.
func (p *planner) priceStatements() []Statement {
	region := p.region()
	switch i := p.now.Instance(); {
	case p.opt.Unpriced:
		return []Statement{{"unpriced", "prices are left out: among layouts that meet the objective this one orders the fewest IOPS beyond what its volume types include, then " +
			"the least throughput, then the least size in steps of 100 GiB, then the least disruption and the fewest changes; its cost, and whether another would cost less, is unknown", []Evidence{}}}
	case i != nil:
		if _, err := i.Monthly(p.opt.Region); err != nil {
			return []Statement{{"machine-unpriced", fmt.Sprintf("the price of %s in %s is unknown: totals cover volumes only, and no other machine was considered (%s)",
				i.Name, region, "plimsoll catalog import takes one: a list with instance_type,usd_per_hour,region"), []Evidence{}}}
		}
	}
	return nil
}
