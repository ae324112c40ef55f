package diagnose

import (
	"math"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// summarise counts the stalled time of a case, out of watchedS seconds watched.
func summarise(c *rules.Case, watchedS float64) StallSummary {
	s := c.Stall
	cells := s.AsSampled()
	out := StallSummary{Signal: s.Called(), ThresholdS: known(s.Threshold), Seconds: c.Seconds(cells),
		Of:            watchedS,
		UndeterminedS: c.Seconds(s.Undetermined)}

	if s.PeriodS > coarseS {
		out.IntervalS, out.AtMost = s.PeriodS, cells.Count() > 0
		out.LeastS, out.MostS = c.StalledRange(s, s.Observed.Without(c.Others))

		// The upper bounds of intervals add up, but there is no more stalled time than time watched.
		out.MostS = min(out.MostS, max(watchedS, out.Seconds))
	}

	out.Episodes, out.LongestS = len(cells.Episodes()), c.LongestS(cells)

	// A stall that pauses for a few seconds is one stall: counting its parts would shorten the period.
	out.PeriodS = c.Period(cells.Close(c.Cells(5 * time.Second)))
	out.Windows = c.Windows(cells)
	return out
}

// highest is the highest latency in the plot, 0 if there is none. It matches the plot that a reader
// sees next to the verdict.
func highest(r *Report) (s float64) {
	if len(r.Timeline) == 0 || r.Timeline[0].Unit != "seconds" {
		return 0
	}
	for _, v := range r.Timeline[0].Values {
		if v != nil {
			s = max(s, *v)
		}
	}
	return s
}

// upperFirst capitalises the start of a sentence, except for product names: "etcd" stays as it is.
func upperFirst(s string, pack *rules.Pack) string {
	if s == "" || slices.ContainsFunc(pack.Engines(),
		func(e rules.Knowledge) bool { return strings.HasPrefix(s, e.Product) }) {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// plotPoints bounds the points of a track of the report.
const plotPoints = 240

// plot selects the few series that show what happened.
func plot(c *rules.Case, runs []timeline.Episode) []Track {
	var out []Track
	add := func(name, unit string, vals []float64) {
		if vals != nil && timeline.Count(vals) > 1 {
			out = append(out, reduceRuns(c.Grid, runs, name, unit, vals, plotPoints)...)
		}
	}

	if c.Stall.Latency != nil {
		add(c.Stall.Subject+" latency", "seconds", c.Stall.Latency)
	} else {
		add(c.Stall.Subject, "1/s", c.Stall.Ops)
	}

	// The slots of a percentile divide the whole time evenly, so they cannot be split at the holes between
	// runs.
	if len(runs) == 1 {
		out = append(out, plotP99(allClasses(c), c)...)
	}

	for _, k := range c.Cycles() {
		if c.SinceStart {
			break // totals do not show when one ran
		}
		add("checkpoint running", "", flags(k.Cells))
	}

	if dev := busiestDevice(c); dev != "" {
		add(dev+" busy", "ratio", c.For(rules.DiskBusy, "device", dev))
		add(dev+" IOPS", "1/s", c.For(rules.DiskOps, "device", dev))
		add(dev+" throughput", "bytes/s", c.For(rules.DiskMoved, "device", dev))
	}

	for _, p := range enginePlots(c) {
		add(p.Title, p.Signal.Unit, c.One(p.Signal))
	}

	add("page cache dirty", "bytes", c.One(rules.MemoryDirty))
	return out
}

// busiestDevice returns the device that was busy for most of the stalled time, or of the whole time
// if nothing stalled. The device that moves the most bytes may belong to another program; bytes
// only decide between devices that are about equally busy, such as a stripe and its disks.
func busiestDevice(c *rules.Case) string {
	best, busiest, most := "", -1.0, -1.0
	for _, t := range c.Signal(rules.DiskMoved) {
		dev := t.Labels.Get("device")
		busy, moved := timeline.Sum(c.For(rules.DiskBusy, "device", dev)), timeline.Sum(t.Values)
		if c.Stall.Any() {
			busy = timeline.Sum(timeline.At(c.For(rules.DiskBusy, "device", dev), c.Stall.Cells))
		}

		if math.IsNaN(busy) {
			busy = 0 // not reported, as for disks on Windows
		}

		alike := busy <= asBusy*busiest && busiest <= asBusy*busy
		if best == "" || !alike && busy > busiest || alike && moved > most {
			best, busiest, most = dev, busy, moved
		}
	}

	return best
}

// asBusy is the ratio up to which two devices count as equally busy.
const asBusy = 1.1

func flags(m timeline.Mask) []float64 {
	out := make([]float64, len(m))
	for i, b := range m {
		if b {
			out[i] = 1
		}
	}
	return out
}

// reduce keeps the maximum of each slot: averaging would hide a stall. Slots divide the time
// evenly, even if the grid leaves parts of it out.
func reduce(g timeline.Grid, name, unit string, vals []float64, slot time.Duration) Track {
	from, to := g.Start(0), g.Time(g.N-1)
	t := Track{Name: name, Unit: unit, From: from, To: to, StepS: slot.Seconds(),
		Values: make([]*float64, (to.Sub(from)+slot-1)/slot)}
	for k, x := range vals {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			continue
		}
		if v := &t.Values[g.Start(k).Sub(from)/slot]; *v == nil || x > **v {
			*v = &x
		}
	}
	return t
}

// slotOf is the length of a slot, in whole cells, such that at most the given number of slots cover
// the grid's time.
func slotOf(g timeline.Grid, slots int) time.Duration {
	cells := int(g.Time(g.N-1).Sub(g.Start(0)) / g.Step())
	return time.Duration(max(1, (cells+slots-1)/slots)) * g.Step()
}
