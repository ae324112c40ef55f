package rules

import (
	"fmt"
	"slices"
	"strings"

	"plimsoll/timeline"
)

// capFinding is what both caps' findings share.
func (r Rule) capFinding(c *Case, k ceiling, p timeline.Plateau, level, unit string, metric string) Finding {
	f := r.finding(k.device)
	at := p.Cells.Close(1)
	f.Weight = Share(at.Widen(1, 1), c.Stall.Cells)
	f.Severity = c.severityOf(f.Weight)
	f.Windows = c.Windows(at.Close(3))
	f.PeriodS = c.Period(at.Close(c.Cells(5e9)))
	switch {
	case !c.Stall.Any():
		f.Summary = fmt.Sprintf("%s stands at %s for %s in all, and nothing stalled meanwhile.", k.device, level, dur(c.Seconds(at)))
	case f.Severity == Info:
		f.Summary = fmt.Sprintf("%s stands at %s for %s in all, but hardly any stalled time falls into it.", k.device, level, dur(c.Seconds(at)))
	default:
		f.Summary = fmt.Sprintf("%s stands at %s and goes no higher: %s in all, and in %s of the stalled time.",
			k.device, level, dur(c.Seconds(at)), pct(f.Weight))
	}
	if f.PeriodS > 0 {
		f.Summary += fmt.Sprintf(" It recurs every %s.", dur(f.PeriodS))
	}
	dev := func(signal string) []float64 { return c.For(SignalPrefix+signal, "device", k.device) }
	median := func(signal string, m timeline.Mask) float64 {
		return timeline.Quantile(timeline.At(dev(signal), m), 0.5)
	}
	calm := k.saturated.Not()
	f.Evidence = append(f.Evidence,
		c.figure("the plateau: the rate of "+pct(p.Share)+" of the saturated intervals, within 5 %", metric, p.Level, unit, p.Cells),
		c.figure("share of all intervals in which it was passed", metric, p.Above, "ratio", timeline.Known(dev("disk_busy:ratio"))),
		c.figure("median queue at the plateau", SignalPrefix+"disk_queue:requests", median("disk_queue:requests", p.Cells), "requests", p.Cells),
		c.figure("median write await at the plateau", SignalPrefix+"disk_write_await:seconds", median("disk_write_await:seconds", p.Cells), "seconds", p.Cells),
		c.figure("median write await elsewhere", SignalPrefix+"disk_write_await:seconds", median("disk_write_await:seconds", calm), "seconds", calm),
		c.figure("median request at saturation", "", k.requestBytes, "bytes", k.saturated))
	// What was not measured is no evidence.
	f.Evidence = slices.DeleteFunc(f.Evidence, func(e Evidence) bool { return e.Value == nil })
	if k.together && k.hasIOPS != k.hasTP {
		f.Evidence = append(f.Evidence, c.remark("requests are of one size, so requests and bytes stand still together; this limit is the likelier one"))
	}
	return f
}

// remark is evidence without a number, about the whole time.
func (c *Case) remark(text string) Evidence {
	return Evidence{Text: text, From: c.Whole().From, To: c.Whole().To}
}

// ceilings are the devices' ceilings that some cap of the given kind makes, without those that
// EBS itself puts down to the instance.
func (c *Case) ceilings(held []timeline.Track, plateau func(ceiling) (timeline.Plateau, bool)) []ceiling {
	var out []ceiling
	for _, h := range held {
		k := findCeiling(c, h)
		if p, ok := plateau(k); ok && !c.instanceBinds(p.Cells) {
			out = append(out, k)
		}
	}
	return out
}

// company names the other devices that stand at their ceilings in the same cells.
func (c *Case) company(k ceiling, all []ceiling, plateau func(ceiling) (timeline.Plateau, bool)) []Evidence {
	p, _ := plateau(k)
	var names []string
	for _, o := range all {
		if q, _ := plateau(o); o.device != k.device && Share(q.Cells, p.Cells) >= sameCells {
			names = append(names, o.device)
		}
	}
	if len(names) == 0 {
		return nil
	}
	return []Evidence{c.remark(strings.Join(names, ", ") + " stands still in the same intervals: parts of one stripe or, if they are not, the instance's own limit")}
}

var bursts = Fix{Summary: "First make the bursts smaller: pace the checkpoint, bound the OS's dirty bytes, or give the journal/WAL a volume of its own (see the other findings)",
	Expect: "the same bytes spread over more seconds; it costs nothing", TradeOff: "less coalescing: more bytes written in all"}

func atIOPS(k ceiling) (timeline.Plateau, bool)       { return k.iops, k.hasIOPS }
func atThroughput(k ceiling) (timeline.Plateau, bool) { return k.throughput, k.hasTP }

func diskIOPSCapped() Rule {
	r := Rule{ID: "disk/iops-capped", Title: "The volume's IOPS cap binds", Kind: Cause, When: saturated,
		Needs: []string{SignalPrefix + "disk_busy:ratio", SignalPrefix + "disk_queue:requests", SignalPrefix + "disk_ops:rate"},
		Cause: "A rented volume serves so many requests a second and makes the rest wait in its queue. The device is never idle, the queue is deep, and the rate stands at one figure that it does not pass."}
	r.Judge = func(c *Case, held []timeline.Track) []Finding {
		var out []Finding
		all := c.ceilings(held, atIOPS)
		for _, k := range all {
			level := num(k.iops.Level) + k.kindOfOps() + " IOPS"
			f := r.capFinding(c, k, k.iops, level, "1/s", SignalPrefix+"disk_ops:rate")
			if what, ok := soldIOPS(k.iops.Level); ok {
				f.Evidence = append(f.Evidence, c.remark(level+" is "+what+", within 4 %"))
			}
			f.Evidence = append(f.Evidence, c.company(k, all, atIOPS)...)
			until := "until the throughput limit or the instance's is met"
			if k.requestBytes > 0 {
				until = fmt.Sprintf("until requests of %s meet the throughput limit or the instance's", size(k.requestBytes))
			}
			raise := Fix{Summary: fmt.Sprintf("Then raise the volume's IOPS above %s", num(k.iops.Level)),
				Expect:   "the time at the cap shrinks in proportion, " + until,
				TradeOff: "gp3: USD 0.005 a month for each IOPS over 3,000 (us-east-1); pointless beyond the instance's own limit"}
			if k.hasTP && k.together {
				raise.Summary += fmt.Sprintf(" and its throughput above %.0f MiB/s: both limits are met at once", k.throughput.Level/mib)
				raise.Expect = "the time at the caps shrinks in proportion; raising one alone changes nothing"
			}
			f.Fixes = []Fix{bursts, raise}
			out = append(out, f)
		}
		return out
	}
	return r
}

func diskThroughputCapped() Rule {
	r := Rule{ID: "disk/throughput-capped", Title: "The volume's throughput cap binds", Kind: Cause, When: saturated,
		Needs: []string{SignalPrefix + "disk_busy:ratio", SignalPrefix + "disk_queue:requests", SignalPrefix + "disk_moved:bytes"},
		Cause: "A rented volume moves so many bytes a second and makes the rest wait in its queue. With large requests this limit is met before the IOPS limit, and buying IOPS changes nothing."}
	r.Judge = func(c *Case, held []timeline.Track) []Finding {
		var out []Finding
		all := c.ceilings(held, atThroughput)
		for _, k := range all {
			level := size(k.throughput.Level) + "/s"
			f := r.capFinding(c, k, k.throughput, level, "bytes/s", SignalPrefix+"disk_moved:bytes")
			if what, ok := soldThroughput(k.throughput.Level); ok {
				f.Evidence = append(f.Evidence, c.remark(fmt.Sprintf("%s (%.0f MiB/s) is %s, within 4 %%", level, k.throughput.Level/mib, what)))
			}
			raise := Fix{Summary: fmt.Sprintf("Then raise the volume's throughput above %.0f MiB/s; leave its IOPS", k.throughput.Level/mib),
				Expect:   "the time at the cap shrinks in proportion, until the instance's own limit is met",
				TradeOff: "gp3: USD 0.04 a month for each MiB/s over 125 (us-east-1), at most 0.25 MiB/s for each IOPS"}
			ops := c.For(SignalPrefix+"disk_ops:rate", "device", k.device)
			iops := timeline.Quantile(timeline.At(ops, k.throughput.Cells), 0.5)
			switch {
			case k.hasIOPS && k.together:
				raise.Summary = fmt.Sprintf("Then raise the volume's throughput above %.0f MiB/s and its IOPS above %s: both limits are met at once", k.throughput.Level/mib, num(k.iops.Level))
				raise.Expect = "the time at the caps shrinks in proportion; raising one alone changes nothing"
			case iops == iops:
				f.Evidence = append(f.Evidence, c.figure("median IOPS at the plateau: not what binds", SignalPrefix+"disk_ops:rate", iops, "1/s", k.throughput.Cells))
			}
			f.Evidence = append(f.Evidence, c.company(k, all, atThroughput)...)
			f.Fixes = []Fix{bursts, raise}
			out = append(out, f)
		}
		return out
	}
	return r
}
