package rules

import (
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/base/units"
	"plimsoll/internal/record/timeline"
)

// capWords are the words of both caps.
var capWords = Words{
	"binds":     "{{.device}} plateaus at {{.level}} and goes no higher: for {{.for}} in total, and in {{.share}} of the stalled time.",
	"always":    "{{.device}} plateaus at {{.level}} and goes no higher, for {{.for}} in total: {{.of}} of the time. {{.clients}} took {{.latency}} at the median, and there is no calm time to compare that with.",
	"no stall":  "{{.device}} plateaus at {{.level}} for {{.for}} in total, but nothing stalled during that time.",
	"hardly":    "{{.device}} plateaus at {{.level}} for {{.for}} in total, but hardly any of the stalled time falls within it.",
	"chance":    "{{.device}} plateaus at {{.level}} for {{.for}} in total, but stalls coincide with that no more often than by chance.",
	"recurring": "It recurs every {{.period}}.",

	"counted":       "During the stalled time, EBS counted {{.over}} over the {{.limit}} limit of {{.volume}}: {{.share}} of the time that its device was busy.",
	"not counted":   "According to EBS's own counters, this limit did not hold the volume back while clients stalled.",
	"counted alike": "EBS counted about as much time over the volume's other limit: raising only this one helps little.",
	"another":       "Another device was busy longer while clients stalled: they waited for that one.",
	"part":          "Most of the stalled time falls outside it.",
}

var bursts = Advice{Summary: "First make the bursts smaller: pace the checkpoint, bound the OS's dirty bytes{{if .apart}}{{else}}, or move the journal/WAL to a separate volume{{end}} (see the other findings)",
	Expect:   "the same bytes spread over more seconds; it costs nothing",
	TradeOff: "less coalescing: more bytes written in total", Do: []*Remedy{PaceWrites}}

// adviseBursts advises smaller bursts, and a separate volume for the log unless it already has one.
func (c *Case) adviseBursts(f *Finding) {
	v := Values{"apart": ""}
	if c.logApart() {
		v["apart"] = "apart"
	}
	f.Advise("bursts", v)
}

// mibs formats a rate in MiB/s, the unit in which volumes are sold.
func mibs(bytesPerS float64) Value { return Value(fmt.Sprintf("%.0f MiB/s", bytesPerS/mib)) }

// capFinding builds the part that both caps' findings have in common.
func (r Rule) capFinding(c *Case, k ceiling, p timeline.Plateau, level Value, unit string,
	metric *Signal) Finding {
	f := r.Finding(k.device)
	at := p.Cells.Close(1)
	f.Weight = Share(at.Widen(1, 1), c.Stall.Cells)
	f.Severity = c.SeverityOf(f.Weight)
	f.Windows = c.Windows(at.Close(3))
	f.PeriodS = c.Period(at.Close(c.Cells(5e9)))

	// A cap that nothing stalls at, or only by chance, is a remark.
	words := "binds"
	switch {
	case !c.Stall.Any():
		words = "no stall"
	case f.Severity == Info:
		words = "hardly"
	case c.unrelated(at):
		words, f.Severity = "chance", Info
	}

	c.unsure(&f, at)
	v := Values{"device": Called(k.device), "level": level, "for": Seconds(c.Seconds(at)),
		"share": Part(f.Weight)}
	if of := Share(at, timeline.Known(c.For(DiskBusy, "device", k.device))); words == "no stall" &&
		c.always(&f, of) {
		words = "always"
		v["of"], v["clients"], v["latency"] = Part(of), Called(c.Stall.Called()), Seconds(c.usualLatency())
	}

	f.Say(words, v)
	if f.PeriodS > 0 {
		f.Say("recurring", Values{"period": Seconds(f.PeriodS)})
	}

	dev := func(signal *Signal) []float64 { return c.For(signal, "device", k.device) }
	median := func(signal *Signal, m timeline.Mask) float64 {
		return timeline.Quantile(timeline.At(dev(signal), m), 0.5)
	}
	calm := k.saturated.Not()
	f.Evidence = append(f.Evidence,
		c.Figure("plateau: the rate of "+units.Percent(p.Share)+" of the saturated intervals, within 5 %",
			metric, p.Level, unit, p.Cells),
		c.Figure("share of the saturated intervals in which it was exceeded", metric, p.Above, "ratio",
			k.saturated),
		c.Figure("median queue at the plateau", DiskQueue, median(DiskQueue, p.Cells), "requests", p.Cells),
		c.Figure("median write await at the plateau", DiskWriteAwait, median(DiskWriteAwait, p.Cells),
			"seconds", p.Cells),
		c.Figure("median write await at other times", DiskWriteAwait, median(DiskWriteAwait, calm),
			"seconds", calm),
		c.Figure("median request size at saturation", nil, k.requestBytes, "bytes", k.saturated))

	// Drop figures that were not measured.
	f.Evidence = slices.DeleteFunc(f.Evidence, func(e Evidence) bool { return e.Value == nil })
	if k.passed > p.Level*(1+capTolerance) {
		f.Evidence = append(f.Evidence,
			c.Figure("highest rate at other times: the limit does not apply all the time (credits, the instance's limit, a throttled volume)",
				metric, k.passed, unit, timeline.Known(dev(DiskBusy))))
	}

	if k.together && k.hasIOPS != k.hasTP {
		f.Evidence = append(f.Evidence,
			c.Remark("all requests have the same size, so requests and bytes plateau together; this limit is the more likely one"))
	}

	return f
}

// alwaysFrom is the share of the time above which a resource counts as always at its limit.
const alwaysFrom = 0.8

// always reports whether a resource was at its limit nearly all the time while a database's clients
// waited long for each operation, and marks the finding. Compared with normal nothing stalled,
// because all of it is normal.
func (c *Case) always(f *Finding, of float64) bool {
	if c.Stall.Any() || of < alwaysFrom || !c.Stall.IsDatabase || !(c.usualLatency() >= StallFloorS) {
		return false
	}
	f.Severity, f.Weight = Warning, of
	f.Foremost, f.Always = true, true
	return true
}

// usualLatency is the median of the intervals' mean latencies; NaN if none is known.
func (c *Case) usualLatency() float64 {
	return timeline.Quantile(timeline.At(c.Stall.Latency, c.Stall.Active), 0.5)
}

// Remark is evidence without a number that covers the entire recording.
func (t Time) Remark(text string) Evidence {
	return Evidence{Text: text, From: t.Whole().From, To: t.Whole().To}
}

// ceilings are the devices' ceilings caused by a cap of the given kind, except those that EBS
// itself attributes to the instance.
func (c *Case) ceilings(held []timeline.Track, plateau func(ceiling) (timeline.Plateau, bool)) []ceiling {
	var out []ceiling
	slow, below := c.slowdowns(), c.JudgedBelow()
	for _, h := range held {
		if below[h.Labels.Get("device")] {
			continue
		}

		// A rate that the volume serves just as fast at other times is not a limit.
		if slices.ContainsFunc(slow,
			func(s *slowdown) bool { return s.device == h.Labels.Get("device") && (!s.less || s.recovered) }) {
			continue
		}

		// Prefer a ceiling that holds in the whole recording.
		k := findCeiling(&c.Signals, h, nil)
		p, ok := plateau(k)
		if !ok {
			// The limit may have applied only while clients stalled.
			if k, ok = c.ceilingInStall(h, plateau); ok {
				p, _ = plateau(k)
			}
		}

		if ok && !c.instanceBinds(p.Cells) && !c.machineBinds(p.Cells) && !c.instanceSpent(p.Cells) {
			out = append(out, k)
		}
	}

	return out
}

// aroundStall is how long before and after the stalled time the rate must stay under a ceiling that
// holds in it, in nanoseconds.
const aroundStall = 2e9

// ceilingInStall looks for a ceiling that holds in the stalled time but is exceeded at other times:
// a volume whose limit drops for a while.
func (c *Case) ceilingInStall(held timeline.Track,
	plateau func(ceiling) (timeline.Plateau, bool)) (ceiling, bool) {
	around := c.Cells(aroundStall)
	within := c.Stall.Cells.Widen(around, around)
	h := timeline.Track{Labels: held.Labels, Values: only(held.Values, within)}
	if !c.Stall.Any() || timeline.Count(h.Values) < capMinCells {
		return ceiling{}, false
	}

	k := findCeiling(&c.Signals, h, within)
	p, ok := plateau(k)
	if !ok || Share(p.Cells.Widen(1, 1), c.Stall.Cells) < MinAttributable {
		return k, false
	}

	of := DiskMoved
	if p.Level == k.iops.Level && k.hasIOPS {
		of = k.iopsOf
	}

	k.passed = timeline.Quantile(c.For(of, "device", k.device), 1)
	return k, true
}

// company names the other devices that are at their ceilings in the same cells.
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
	return []Evidence{c.Remark(strings.Join(names, ", ") +
		" plateaued in the same intervals: these are parts of one stripe or, if not, the instance's own limit binds")}
}
