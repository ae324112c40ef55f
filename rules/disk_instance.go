package rules

import (
	"fmt"

	"plimsoll/timeline"
)

// exceededShare is the part of a second spent over a limit from which the second counts.
const exceededShare = 0.05

func diskInstanceCapped() Rule {
	r := Rule{ID: "disk/instance-capped", Title: "The instance's EBS limit binds, not the volume's", Kind: Cause,
		When:  "plimsoll:ebs_instance_iops_exceeded:ratio > 0.05 or plimsoll:ebs_instance_throughput_exceeded:ratio > 0.05",
		Needs: []string{SignalPrefix + "ebs_instance_iops_exceeded:ratio"},
		Cause: "An EC2 instance has its own limit for all its volumes together, often lower than the volume's. EBS counts the time spent over each limit apart (NVMe log page 0xD0), so this is no guess."}
	r.Judge = func(c *Case, held []timeline.Track) []Finding {
		var out []Finding
		for _, h := range held {
			over := timeline.Known(h.Values)
			if c.Seconds(over) < 2 {
				continue
			}
			vol := h.Labels.Get("volume_id")
			f := r.finding(vol)
			f.Weight = Share(over.Widen(1, 1), c.Stall.Cells)
			f.Severity = c.severityOf(f.Weight)
			f.Windows = c.Windows(over)
			f.PeriodS = c.Period(over.Close(c.Cells(5e9)))
			iops := c.For(SignalPrefix+"ebs_instance_iops_exceeded:ratio", "volume_id", vol)
			tp := c.For(SignalPrefix+"ebs_instance_throughput_exceeded:ratio", "volume_id", vol)
			step := c.Grid.StepSeconds()
			f.Summary = fmt.Sprintf("The instance's limit was exceeded for %s (IOPS) and %s (throughput), in %s of the stalled time. A larger volume will not help.",
				dur(timeline.Sum(iops)*step), dur(timeline.Sum(tp)*step), pct(f.Weight))
			volume := c.For(SignalPrefix+"ebs_volume_iops_exceeded:ratio", "volume_id", vol)
			f.Evidence = []Evidence{
				c.figure("time over the instance's IOPS limit", "aws_ebs_csi_ec2_exceeded_iops_seconds_total", timeline.Sum(iops)*step, "seconds", over),
				c.figure("time over the instance's throughput limit", "aws_ebs_csi_ec2_exceeded_tp_seconds_total", timeline.Sum(tp)*step, "seconds", over),
			}
			if volume != nil {
				f.Evidence = append(f.Evidence, c.figure("time over the volume's own IOPS limit", "aws_ebs_csi_exceeded_iops_seconds_total", timeline.Sum(volume)*step, "seconds", timeline.Known(volume)))
			}
			f.Fixes = []Fix{
				{Summary: "Move to an instance type with a higher EBS limit; leave the volume", Expect: "the wait ends where the next limit begins: the volume's", TradeOff: "the instance's price; a restart"},
				{Summary: "Spread load: other volumes of this instance share the limit", Expect: "what they use becomes free", TradeOff: "work elsewhere"},
			}
			out = append(out, f)
		}
		return out
	}
	return r
}

// A burst is over when the ceiling of the saturated time falls by this factor and stays
// down. Burst credits refill at the baseline rate only, so it does not come back under load.
const (
	burstDrop  = 1.5
	burstCells = 8
)

func diskBurstExhausted() Rule {
	r := Rule{ID: "disk/burst-exhausted", Title: "Burst credits ran out", Kind: Cause, When: saturated,
		Needs: []string{SignalPrefix + "disk_busy:ratio", SignalPrefix + "disk_queue:requests", SignalPrefix + "disk_ops:rate"},
		Cause: "Some volumes and instances run faster than their baseline while credits last (gp2 to 3,000 IOPS; st1 and sc1; burstable instances for 30 minutes). When they are spent the ceiling falls to the baseline, in the middle of the same load."}
	r.Judge = func(c *Case, held []timeline.Track) []Finding {
		var out []Finding
		for _, h := range held {
			for _, m := range []struct{ signal, unit string }{{"disk_ops:rate", "1/s"}, {"disk_moved:bytes", "bytes/s"}} {
				if f, ok := r.ceilingFell(c, h, m.signal, m.unit); ok {
					out = append(out, f)
					break
				}
			}
		}
		return append(out, r.creditsSpent(c)...)
	}
	return r
}

// ceilingFell looks for the cell after which the saturated rate stays at a lower level.
func (r Rule) ceilingFell(c *Case, held timeline.Track, signal, unit string) (Finding, bool) {
	dev := held.Labels.Get("device")
	rate := c.For(SignalPrefix+signal, "device", dev)
	sat := timeline.Known(held.Values)
	var cells []int
	for k, b := range sat {
		if b && rate != nil && rate[k] > 0 {
			cells = append(cells, k)
		}
	}
	if len(cells) < 2*burstCells {
		return Finding{}, false
	}
	vals := make([]float64, len(cells))
	for i, k := range cells {
		vals[i] = rate[k]
	}
	best, ratio := fall(vals)
	if ratio < burstDrop {
		return Finding{}, false
	}
	before, after := vals[:best], vals[best:]
	hi, lo := timeline.Quantile(before, 0.5), timeline.Quantile(after, 0.5)
	// Both must be levels, not a drift, and the lower one must not be passed again.
	if timeline.Quantile(after, 0.95) > lo*1.2 || timeline.Quantile(before, 0.25) < lo*1.2 {
		return Finding{}, false
	}
	down := make(timeline.Mask, c.Grid.N)
	for _, k := range cells[best:] {
		down[k] = true
	}
	f := r.finding(dev)
	f.Weight = Share(down.Widen(1, 1), c.Stall.Cells)
	f.Severity = c.severityOf(f.Weight)
	f.Windows = c.Windows(down.Close(3))
	show := func(x float64) string {
		if unit == "bytes/s" {
			return size(x) + "/s"
		}
		return num(x) + " IOPS"
	}
	at := c.Grid.Time(cells[best])
	f.Summary = fmt.Sprintf("At %s the ceiling of %s fell from %s to %s under the same load and stayed there.", at.Format("15:04:05"), dev, show(hi), show(lo))
	f.Evidence = []Evidence{
		c.figure("median rate of the saturated intervals before", SignalPrefix+signal, hi, unit, sat.Without(down)),
		c.figure("median rate of the saturated intervals after", SignalPrefix+signal, lo, unit, down),
	}
	f.Fixes = []Fix{
		{Summary: "Replace gp2 by gp3 (no credits; 3,000 IOPS and 125 MiB/s always)", Expect: "the higher level, all day", TradeOff: "none in price at the same size; the change takes hours in which the volume is a little slower"},
		{Summary: "If the instance is the burstable one, choose a size whose baseline carries the load", Expect: "no cliff after 30 minutes", TradeOff: "the instance's price"},
	}
	return f, true
}

// fallPoints bounds the points at which a fall is looked for: a day of saturated seconds is
// first reduced to the medians of that many slots.
const fallPoints = 256

// fall finds the index before and after which the values' medians differ by the
// largest factor.
func fall(vals []float64) (at int, ratio float64) {
	per := max(1, len(vals)/fallPoints)
	var slots []float64
	for i := 0; i < len(vals); i += per {
		slots = append(slots, timeline.Quantile(vals[i:min(i+per, len(vals))], 0.5))
	}
	margin := max(1, burstCells/per)
	for i := margin; i <= len(slots)-margin; i++ {
		before, after := timeline.Quantile(slots[:i], 0.5), timeline.Quantile(slots[i:], 0.5)
		if x := before / after; x > ratio {
			at, ratio = i*per, x
		}
	}
	return at, ratio
}

func (r Rule) creditsSpent(c *Case) []Finding {
	var out []Finding
	for _, t := range c.Signal(SignalPrefix + "ebs_burst_balance:ratio") {
		spent := timeline.Where(t.Values, func(x float64) bool { return x <= 0.01 })
		if c.Seconds(spent) == 0 {
			continue
		}
		f := r.finding(t.Labels.Get("volume_id"))
		f.Weight = Share(spent, c.Stall.Cells)
		f.Severity = c.severityOf(f.Weight)
		f.Windows = c.Windows(spent)
		f.Summary = fmt.Sprintf("The burst balance was spent for %s, in %s of the stalled time.", dur(c.Seconds(spent)), pct(f.Weight))
		f.Evidence = []Evidence{c.figure("lowest burst balance", "aws_ebs_burst_balance_average", timeline.Quantile(t.Values, 0), "ratio", spent)}
		f.Fixes = []Fix{{Summary: "Replace gp2 by gp3 (no credits)", Expect: "a ceiling that does not move", TradeOff: "none in price at the same size"}}
		out = append(out, f)
	}
	return out
}
