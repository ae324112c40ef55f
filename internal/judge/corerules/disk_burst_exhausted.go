package corerules

import (
	"slices"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// A burst has ended if the ceiling of the saturated time falls by this factor and stays down. Burst
// credits refill only at the baseline rate, so the ceiling does not rise again under load.
const (
	burstDrop  = 1.5
	burstCells = 8
	// The load is unchanged if bytes fall with the requests (otherwise only their size changed) and each
	// request takes longer (otherwise there are fewer clients).
	burstAlike = 1.2
)

func diskBurstExhausted() rules.Rule {
	rule := rules.Rule{
		ID:      "disk/burst-exhausted",
		Title:   "Burst credits ran out",
		Kind:    rules.Cause,
		Traced:  atDevice,
		When:    saturated,
		Needs:   []*rules.Signal{},
		AnyOf:   []*rules.Signal{rules.DiskQueue, rules.EBSBurstBalance},
		NoAlert: "its condition is the same as for disk/iops-capped; a ceiling that falls under steady load shows over hours, not in PromQL",
		Cause:   "Some volumes and instances run faster than their baseline while credits last (gp2 to 3,000 IOPS; st1 and sc1; burstable instances for 30 minutes). When the credits run out, the ceiling falls to the baseline, although the load has not changed.",
		Words: rules.Words{
			"lower": "From {{.at}} UTC on, {{.device}} completed no more than {{.after}} while requests queued; before that it completed {{.before}} without queueing. This lasted {{.for}}.",
			"fell":  "At {{.at}} UTC the ceiling of {{.device}} fell from {{.before}} to {{.after}} under the same load and stayed there.",
			"spent": "The burst balance was used up for {{.for}}{{with .share}}, in {{.}} of the stalled time{{end}}.",
		},
		Advice: map[string]rules.Advice{
			"no credits": {Summary: "Replace gp2 (or st1, sc1) with gp3: no credits, always 3,000 IOPS and 125 MiB/s, more if provisioned",
				Expect:   "a ceiling that does not move",
				TradeOff: "gp3 costs less per GB than gp2 (0.08 to 0.10 USD a month, us-east-1), more than st1 (0.045); the change takes hours, during which the volume is a little slower",
				Do:       []*rules.Remedy{toGP3}},
			"instance": {Summary: "If it is the instance that bursts, choose a size whose baseline carries the load",
				Expect:    "no cliff after 30 minutes",
				TradeOff:  "the instance's price",
				NoCommand: changesInstance},
			"gp2": {Summary: "Replace gp2 with gp3 (no credits)", Expect: "a ceiling that does not move",
				TradeOff: "no increase in price at the same size", Do: []*rules.Remedy{toGP3}},
		}}

	rule.Judge = func(input *rules.Case, held []timeline.Track) []rules.Finding {
		var out []rules.Finding
		for _, h := range held {
			measures := []struct {
				signal *rules.Signal
				unit   string
			}{{rules.DiskOps, "1/s"}, {rules.DiskMoved, "bytes/s"}}

			if rules.FindCeiling(&input.Signals, h, nil).RequestBytes >= rules.LargeRequest {
				slices.Reverse(measures) // disks for streaming are sold by throughput
			}

			for _, m := range measures {
				if f, ok := ceilingFell(rule, input, h, m.signal, m.unit); ok {
					out = append(out, f)
					break
				}
			}
		}

		out = append(out, burstBalanceSpent(rule, input)...)
		for _, s := range input.Slowdowns() {
			named := func(f rules.Finding) bool { return f.Subject == s.Device }
			if how := burstEnded(input, s); limitFell(s, how) && !rules.Stacked(s.Device) &&
				!instanceSpent(input, s.Cells) &&
				!slices.ContainsFunc(out, named) {
				out = append(out, lowerLimit(rule, input, s))
			}
		}

		return out
	}

	return rule
}

// limitFell reports whether one volume stays constant for hours below a rate that it served quickly
// before: the limit fell. A fault of the volume itself does not look like this.
func limitFell(s *rules.Slowdown, how *burstEnd) bool {
	return how != nil && *how == endLong && s.Less && s.Flat
}

func lowerLimit(r rules.Rule, c *rules.Case, s *rules.Slowdown) rules.Finding {
	f := r.During(c, s.Device, rules.Share(s.Cells.Widen(1, 1), c.Stall.Cells),
		s.Cells.Close(c.Cells(instanceTogether)))
	f.Foremost = true

	f.Say(
		"lower",
		rules.Values{
			"at":     rules.Called(f.Windows[0].From.UTC().Format("15:04:05")),
			"device": rules.Called(s.Device),
			"after":  rules.Of(s.Ops, "IOPS"),
			"before": rules.Of(s.UsualOps, "IOPS"),
			"for":    rules.Seconds(c.Seconds(s.Cells)),
		},
	)
	f.Evidence = slowFigures(c, s)

	f.Advise("no credits", nil)
	f.Advise("instance", nil)
	return f
}

// ceilingFell looks for the cell after which the saturated rate stays at a lower level.
func ceilingFell(
	rule rules.Rule,
	input *rules.Case,
	held timeline.Track,
	signal *rules.Signal,
	unit string,
) (rules.Finding, bool) {
	dev := held.Labels.Get("device")
	rate := input.For(signal, "device", dev)
	sat := timeline.Known(held.Values)

	// Only saturated cells show a ceiling; below it the rate is the demand.
	var cells []int
	for k, b := range sat {
		if b && rate != nil && rate[k] > 0 {
			cells = append(cells, k)
		}
	}

	if len(cells) < 2*burstCells {
		return rules.Finding{}, false
	}

	vals := make([]float64, len(cells))
	for i, k := range cells {
		vals[i] = rate[k]
	}

	best, ok := fallAfter(vals, burstCells, burstCells)
	if !ok {
		return rules.Finding{}, false
	}

	before, after := vals[:best], vals[best:]
	hi, lo := timeline.Quantile(before, 0.5), timeline.Quantile(after, 0.5)
	if hi < burstDrop*lo {
		return rules.Finding{}, false
	}

	// Both must be levels, not a drift, and the lower one must not be exceeded again afterwards.
	if timeline.Quantile(after, 0.95) > lo*1.2 || timeline.Quantile(before, 0.25) < lo*1.2 {
		return rules.Finding{}, false
	}

	// Cells after the fall belong to the finding, including those in which nothing stalled.
	down := make(timeline.Mask, input.Grid.N)
	for _, k := range cells[best:] {
		down[k] = true
	}

	if instanceSpent(input, down) || !sameLoad(&input.Signals, dev, sat.Without(down), down) {
		return rules.Finding{}, false
	}

	finding := rule.During(input, dev, rules.Share(down.Widen(1, 1), input.Stall.Cells), down.Close(3))
	finding.Foremost = true
	shown := unit

	if unit == "1/s" {
		shown = "IOPS"
	}

	at := input.Grid.Time(cells[best])
	finding.Say(
		"fell",
		rules.Values{
			"at":     rules.Called(at.Format("15:04:05")),
			"device": rules.Called(dev),
			"before": rules.Of(hi, shown),
			"after":  rules.Of(lo, shown),
		},
	)
	finding.Evidence = []rules.Evidence{
		input.Figure("median rate of the saturated intervals before", signal, hi, unit, sat.Without(down)),
		input.Figure("median rate of the saturated intervals after", signal, lo, unit, down),
	}

	finding.Advise("no credits", nil)
	finding.Advise("instance", nil)
	return finding, true
}

// sameLoad reports whether a device's rate fell although its load did not: requests and bytes fall
// together, and each request takes longer (queue / rate, Little's law).
func sameLoad(sig *rules.Signals, dev string, before, after timeline.Mask) bool {
	get := func(signal *rules.Signal) []float64 { return sig.For(signal, "device", dev) }
	fell := func(v []float64) float64 {
		return timeline.Quantile(timeline.At(v, before), 0.5) / timeline.Quantile(timeline.At(v, after), 0.5)
	}
	ops, moved, queue := get(rules.DiskOps), get(rules.DiskMoved), get(rules.DiskQueue)

	// NaN, if one of them was not measured, rules nothing out.
	if fell(ops) < burstAlike || fell(moved) < burstAlike {
		return false
	}

	if ops == nil || queue == nil {
		return true
	}

	return !(fell(rules.Ratio(queue, ops)) > 1/burstAlike)
}

// balanceSpent is the balance at which a volume is down to its baseline. CloudWatch rounds and
// averages, so the last percent counts as none.
const balanceSpent = 0.01

func burstBalanceSpent(r rules.Rule, c *rules.Case) []rules.Finding {
	var out []rules.Finding
	for _, t := range c.Signal(rules.EBSBurstBalance) {
		spent := timeline.Where(t.Values, func(x float64) bool { return x <= balanceSpent })
		if c.Seconds(spent) == 0 {
			continue
		}

		f := r.During(c, t.Labels.Get("volume_id"), rules.Share(spent, c.Stall.Cells), spent)
		if f.Foremost = beginsWith(c, spent); !f.Foremost {
			f.Severity = rules.Info
		}

		f.Say("spent", rules.Values{"for": rules.Seconds(c.Seconds(spent)), "share": c.PartOfStall(f.Weight)})
		f.Evidence = []rules.Evidence{c.FigureOf("lowest burst balance", "aws_ebs_burst_balance_average",
			timeline.Quantile(t.Values, 0), "ratio", spent)}
		f.Advise("gp2", nil)
		out = append(out, f)
	}

	return out
}

// leastSpent is the share of the stalled time without credits above which missing credits are the
// cause.
const leastSpent = 0.7

// beginsWith reports whether stalls begin when the credits run out: most happen then, and while
// there were credits, the load stalled at most half as often.
func beginsWith(c *rules.Case, spent timeline.Mask) bool {
	_, in, out := c.Attributable(spent)
	if c.Unrelated(spent) {
		return false
	}
	return rules.Share(spent, c.Stall.Cells) >= leastSpent &&
		(!c.Comparable(spent) || in >= rules.StallRatio*out)
}
