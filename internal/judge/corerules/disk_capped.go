package corerules

import (
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/base/units"
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// capWords are the words of both caps.
var capWords = rules.Words{
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

var bursts = rules.Advice{Summary: "First make the bursts smaller: pace the checkpoint, bound the OS's dirty bytes{{if .apart}}{{else}}, or move the journal/WAL to a separate volume{{end}} (see the other findings)",
	Expect:   "the same bytes spread over more seconds; it costs nothing",
	TradeOff: "less coalescing: more bytes written in total", Do: []*rules.Remedy{rules.PaceWrites}}

// adviseBursts advises smaller bursts, and a separate volume for the log unless it already has one.
func adviseBursts(c *rules.Case, f *rules.Finding) {
	v := rules.Values{"apart": ""}
	if c.LogApart() {
		v["apart"] = "apart"
	}
	f.Advise("bursts", v)
}

// mibs formats a rate in MiB/s, the unit in which volumes are sold.
func mibs(bytesPerS float64) rules.Value {
	return rules.Value(fmt.Sprintf("%.0f MiB/s", bytesPerS/rules.MiB))
}

// A capKind is one of a volume's two limits.
type capKind struct {
	limit   string        // as it is called
	of      *rules.Signal // the rate that it limits
	counter string        // EBS's count of the seconds over it
	// margin is how many times as long as over the other limit a volume has to be over this one.
	margin  float64
	plateau func(rules.Ceiling) (timeline.Plateau, bool)
	counted func(counted) (over, other float64, cells timeline.Mask)
}

// atTheirCaps are the devices whose rate plateaus at a limit.
func atTheirCaps(rule rules.Rule, input *rules.Case, held []timeline.Track, kind capKind) []rules.Finding {
	var out []rules.Finding
	all := ceilings(input, held, kind)
	for _, k := range all {
		at, _ := kind.plateau(k)
		level, sold := rules.Of(at.Level, strings.TrimSpace(k.KindOfOps()+" IOPS")), rules.SoldIOPS
		named, binds := string(level), rules.Cap{IOPS: at.Level}
		if kind.of == rules.DiskMoved {
			level, sold = rules.Of(at.Level, "bytes/s"), rules.SoldThroughput
			named, binds = fmt.Sprintf("%s (%s)", level, mibs(at.Level)), rules.Cap{Throughput: at.Level}
		}

		finding := capFinding(rule, input, k, kind, level)
		limit, isSold := sold(at.Level)
		binds.Types = limit.Types
		finding.Cap = &binds
		if isSold {
			finding.Evidence = append(finding.Evidence, input.Remark(named+" is within 4 % of "+limit.What))
		}

		adviseBursts(input, &finding)
		raise := rules.Values{"iops": rules.Number(k.Iops.Level), "throughput": mibs(k.Throughput.Level),
			"request": ""}
		if k.RequestBytes > 0 {
			raise["request"] = rules.Bytes(k.RequestBytes)
		}

		if k.HasIOPS && k.HasTP && k.Together {
			finding.Advise("raise both", raise)
		} else {
			finding.Advise("raise", raise)
			if kind.of == rules.DiskMoved {
				iops := timeline.At(input.For(rules.DiskOps, "device", k.Device), at.Cells)
				input.AddFigure(&finding, "median IOPS at the plateau: not the limit that binds", rules.DiskOps,
					timeline.Quantile(iops, 0.5), "1/s", at.Cells)
			}
		}

		finding.Evidence = append(finding.Evidence, company(input, k, all, kind)...)
		out = append(out, finding)
	}

	return settledByCount(rule, input, out, kind)
}

// capFinding is a device's finding, without what differs between the two kinds.
func capFinding(r rules.Rule, input *rules.Case, ceiling rules.Ceiling, kind capKind,
	level rules.Value) rules.Finding {
	plateau, _ := kind.plateau(ceiling)
	at := plateau.Cells.Close(1)
	finding := r.During(input, ceiling.Device, rules.Share(at.Widen(1, 1), input.Stall.Cells), at.Close(3))
	finding.PeriodS = input.Period(at.Close(input.Cells(5e9)))

	// A cap that nothing stalls at, or only by chance, is a remark.
	words := "binds"
	switch {
	case !input.Stall.Any():
		words = "no stall"
	case finding.Severity == rules.Info:
		words = "hardly"
	case input.Unrelated(at):
		words, finding.Severity = "chance", rules.Info
	}

	input.Unsure(&finding, at)
	v := rules.Values{"device": rules.Called(ceiling.Device), "level": level,
		"for":   rules.Seconds(input.Seconds(at)),
		"share": rules.Part(finding.Weight)}
	of := rules.Share(at, timeline.Known(input.For(rules.DiskBusy, "device", ceiling.Device)))
	if words == "no stall" && always(input, &finding, of) {
		words = "always"
		v["of"], v["clients"], v["latency"] = rules.Part(of), rules.Called(input.Stall.Called()), rules.Seconds(usualLatency(input))
	}

	finding.Say(words, v)
	if finding.PeriodS > 0 {
		finding.Say("recurring", rules.Values{"period": rules.Seconds(finding.PeriodS)})
	}

	dev := func(signal *rules.Signal) []float64 { return input.For(signal, "device", ceiling.Device) }
	median := func(signal *rules.Signal, m timeline.Mask) float64 {
		return timeline.Quantile(timeline.At(dev(signal), m), 0.5)
	}
	calm := ceiling.Saturated.Not()
	finding.Evidence = append(finding.Evidence,
		input.Figure("plateau: the rate of "+units.Percent(plateau.Share)+" of the saturated intervals, within 5 %",
			kind.of, plateau.Level, kind.of.Unit, plateau.Cells),
		input.Figure("share of the saturated intervals in which it was exceeded", kind.of, plateau.Above, "ratio",
			ceiling.Saturated),
		input.Figure("median queue at the plateau", rules.DiskQueue, median(rules.DiskQueue, plateau.Cells), "requests", plateau.Cells),
		input.Figure("median write await at the plateau", rules.DiskWriteAwait, median(rules.DiskWriteAwait, plateau.Cells),
			"seconds", plateau.Cells),
		input.Figure("median write await at other times", rules.DiskWriteAwait, median(rules.DiskWriteAwait, calm),
			"seconds", calm),
		input.Figure("median request size at saturation", nil, ceiling.RequestBytes, "bytes", ceiling.Saturated))

	// Drop figures that were not measured.
	finding.Evidence = slices.DeleteFunc(finding.Evidence, func(e rules.Evidence) bool { return e.Value == nil })
	if ceiling.Passed > plateau.Level*(1+rules.CapTolerance) {
		finding.Evidence = append(finding.Evidence,
			input.Figure("highest rate at other times: the limit does not apply all the time (credits, the instance's limit, a throttled volume)",
				kind.of, ceiling.Passed, kind.of.Unit, timeline.Known(dev(rules.DiskBusy))))
	}

	if ceiling.Together && ceiling.HasIOPS != ceiling.HasTP {
		finding.Evidence = append(finding.Evidence,
			input.Remark("all requests have the same size, so requests and bytes plateau together; this limit is the more likely one"))
	}

	return finding
}

// alwaysFrom is the share of the time above which a resource counts as always at its limit.
const alwaysFrom = 0.8

// always reports whether a resource was at its limit nearly all the time while a database's clients
// waited long for each operation, and marks the finding. Compared with normal nothing stalled,
// because all of it is normal.
func always(c *rules.Case, f *rules.Finding, of float64) bool {
	if c.Stall.Any() || of < alwaysFrom || !c.Stall.IsDatabase || !(usualLatency(c) >= rules.StallFloorS) {
		return false
	}
	f.Severity, f.Weight = rules.Warning, of
	f.Foremost, f.Always = true, true
	return true
}

// usualLatency is the median of the intervals' mean latencies; NaN if none is known.
func usualLatency(c *rules.Case) float64 {
	return timeline.Quantile(timeline.At(c.Stall.Latency, c.Stall.Active), 0.5)
}

// ceilings are the devices' ceilings caused by a cap of the given kind, except those that EBS
// itself attributes to the instance.
func ceilings(c *rules.Case, held []timeline.Track, kind capKind) []rules.Ceiling {
	var out []rules.Ceiling
	slow, below := c.Slowdowns(), c.JudgedBelow()
	for _, h := range held {
		if below[h.Labels.Get("device")] {
			continue
		}

		// A rate that the volume serves just as fast at other times is not a limit.
		if slices.ContainsFunc(slow,
			func(s *rules.Slowdown) bool { return s.Device == h.Labels.Get("device") && (!s.Less || s.Recovered) }) {
			continue
		}

		// Prefer a ceiling that holds in the whole recording.
		k := rules.FindCeiling(&c.Signals, h, nil)
		p, ok := kind.plateau(k)
		if !ok {
			// The limit may have applied only while clients stalled.
			if k, ok = ceilingInStall(c, h, kind); ok {
				p, _ = kind.plateau(k)
			}
		}

		if ok && !instanceBinds(&c.Signals, p.Cells) && !machineBinds(c, p.Cells) && !instanceSpent(c, p.Cells) {
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
func ceilingInStall(c *rules.Case, held timeline.Track, kind capKind) (rules.Ceiling, bool) {
	around := c.Cells(aroundStall)
	within := c.Stall.Cells.Widen(around, around)
	h := timeline.Track{Labels: held.Labels, Values: rules.Within(held.Values, within)}
	if !c.Stall.Any() || timeline.Count(h.Values) < rules.CapMinCells {
		return rules.Ceiling{}, false
	}

	k := rules.FindCeiling(&c.Signals, h, within)
	p, ok := kind.plateau(k)
	if !ok || rules.Share(p.Cells.Widen(1, 1), c.Stall.Cells) < rules.MinAttributable {
		return k, false
	}

	of := kind.of
	if of == rules.DiskOps {
		of = k.IopsOf
	}

	k.Passed = timeline.Quantile(c.For(of, "device", k.Device), 1)
	return k, true
}

// company names the other devices that are at their ceilings in the same cells.
func company(c *rules.Case, k rules.Ceiling, all []rules.Ceiling, kind capKind) []rules.Evidence {
	p, _ := kind.plateau(k)
	var names []string
	for _, o := range all {
		if q, _ := kind.plateau(o); o.Device != k.Device && rules.Share(q.Cells, p.Cells) >= rules.SameCells {
			names = append(names, o.Device)
		}
	}
	if len(names) == 0 {
		return nil
	}
	return []rules.Evidence{c.Remark(strings.Join(names, ", ") +
		" plateaued in the same intervals: these are parts of one stripe or, if not, the instance's own limit binds")}
}
