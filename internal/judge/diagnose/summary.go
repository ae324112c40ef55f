package diagnose

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/base/units"
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

func summarise(c *rules.Case) StallSummary {
	s := c.Stall
	out := StallSummary{Signal: s.Subject, ThresholdS: s.Threshold, Seconds: c.Seconds(s.Cells), Of: c.Seconds(s.Observed)}
	if !s.IsDatabase && s.Subject != "" {
		out.Signal = "writes of " + s.Subject // a device's name is no word to begin a sentence with
	}
	eps := s.Cells.Episodes()
	out.Episodes = len(eps)
	for _, e := range eps {
		out.LongestS = max(out.LongestS, float64(e.Cells())*c.Grid.StepSeconds())
	}
	out.PeriodS = c.Period(s.Cells.Close(c.Cells(5 * time.Second)))
	out.Windows = c.Windows(s.Cells)
	return out
}

// minExplained is the share of the stalled time that the weightiest cause explains, under which
// the verdict does not call it the reason.
const minExplained = 0.25

// nearStall is the part of the latency at which a stall begins, from which nobody says that none
// waited noticeably.
const nearStall = 0.5

// verdict is what a person reads first: is there a stall, why, and what it is not. active
// tells whether anything was asked of what was watched.
func verdict(r *Report, pack *rules.Pack, active bool) string {
	var causes, refutations []Finding
	for _, f := range r.Findings {
		switch f.Kind {
		case Cause:
			if f.Severity != Info {
				causes = append(causes, f)
			}
		case Refutation:
			refutations = append(refutations, f)
		}
	}
	var b strings.Builder
	switch {
	case r.Stalls.Of == 0 && len(r.Sources) > 0 && !slices.ContainsFunc(r.Sources, func(s Source) bool { return s.Kind != "fio" }):
		b.WriteString("A benchmark has no waiting clients: fio reports what the volume gave its jobs, not whether a database would stall on it.")
	case r.Stalls.Of == 0:
		b.WriteString("No source here reports how long writes took, so a stall can be neither seen nor ruled out.")
	case r.Stalls.Seconds == 0 && !active:
		fmt.Fprintf(&b, "No stall: %s were watched for %s, but there were none.", r.Stalls.Signal, clock(r.Stalls.Of))
	case r.Stalls.Seconds == 0 && r.Stalls.ThresholdS > 0 && highest(r) > r.Stalls.ThresholdS:
		fmt.Fprintf(&b, "No stall: %s were watched for %s. Individual ones took up to %s, but too few at once to make others wait.",
			r.Stalls.Signal, clock(r.Stalls.Of), units.Seconds(highest(r)))
	case r.Stalls.Seconds == 0 && highest(r) > nearStall*r.Stalls.ThresholdS && r.Stalls.ThresholdS > 0:
		fmt.Fprintf(&b, "No stall: %s were watched for %s; the highest mean of an interval was %s, and a stall starts at %s.",
			r.Stalls.Signal, clock(r.Stalls.Of), units.Seconds(highest(r)), units.Seconds(r.Stalls.ThresholdS))
	case r.Stalls.Seconds == 0:
		fmt.Fprintf(&b, "No stall: %s were watched for %s and none waited noticeably.", r.Stalls.Signal, clock(r.Stalls.Of))
	default:
		fmt.Fprintf(&b, "%s stalled for %s of %s", upperFirst(r.Stalls.Signal, pack), clock(r.Stalls.Seconds), clock(r.Stalls.Of))
		if r.Stalls.PeriodS > 0 {
			fmt.Fprintf(&b, ", every %s", clock(r.Stalls.PeriodS))
		}
		if rules.Trifle(r.Stalls.Seconds, r.Stalls.Of) {
			b.WriteString(": too little to act on")
		}
		b.WriteString(".")
	}
	if len(causes) > 0 {
		names := make([]string, 0, 3)
		most := 0.0
		for _, f := range causes[:min(3, len(causes))] {
			names = append(names, lowerFirst(f.Title)+" ("+f.Subject+")")
			most = max(most, f.Weight)
		}
		why := "Why"
		if r.Stalls.Seconds == 0 {
			why = "Also found"
		} else if most < minExplained {
			why = fmt.Sprintf("Most of it is unexplained; %.0f %% is", 100*most)
		}
		fmt.Fprintf(&b, " %s: %s.", why, strings.Join(names, "; "))
	} else if r.Stalls.Seconds > 0 && !rules.Trifle(r.Stalls.Seconds, r.Stalls.Of) {
		b.WriteString(" No cause found in these sources; see what could not be measured.")
	}
	said := map[string]bool{}
	for _, f := range refutations {
		if !said[f.Title] && len(said) < 2 {
			fmt.Fprintf(&b, " %s.", f.Title)
		}
		said[f.Title] = true
	}
	return b.String()
}

// highest is the highest latency plotted, 0 if none is: what the reader sees beside the verdict.
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

func clock(s float64) string {
	if s < 10 && s != math.Trunc(s) {
		return fmt.Sprintf("%.1f s", s)
	}
	if s < 120 {
		return fmt.Sprintf("%.0f s", s)
	}
	return units.Seconds(s)
}

// upperFirst begins a sentence; a product is written there as ever.
func upperFirst(s string, pack *rules.Pack) string {
	if s == "" || slices.ContainsFunc(pack.Engines(), func(e rules.Knowledge) bool { return strings.HasPrefix(s, e.Product) }) {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// lowerFirst leaves names that are capitals throughout (CPU) alone.
func lowerFirst(s string) string {
	if len(s) < 2 || s[1] >= 'A' && s[1] <= 'Z' {
		return s
	}
	return strings.ToLower(s[:1]) + s[1:]
}

// plotPoints bounds a track of the report.
const plotPoints = 240

// plot picks the few series that show what happened.
func plot(c *rules.Case) []Track {
	var out []Track
	add := func(name, unit string, vals []float64) {
		if vals != nil && timeline.Count(vals) > 1 {
			out = append(out, reduce(c.Grid, name, unit, vals, plotPoints))
		}
	}
	if c.Stall.Latency != nil {
		add(c.Stall.Subject+" latency", "seconds", c.Stall.Latency)
	} else {
		add(c.Stall.Subject, "1/s", c.Stall.Ops)
	}
	out = append(out, plotP99(allClasses(c), c)...)
	for _, k := range c.Cycles() {
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

// busiestDevice is the device that was busy most of the stalled time, or of all if nothing stalled:
// not the one that moves most, which may be another's disk. Of some that are as busy, as a stripe
// and its parts are, it is the one that moved most.
func busiestDevice(c *rules.Case) string {
	best, busiest, most := "", -1.0, -1.0
	for _, t := range c.Signal(rules.DiskMoved) {
		dev := t.Labels.Get("device")
		busy, moved := timeline.Sum(c.For(rules.DiskBusy, "device", dev)), timeline.Sum(t.Values)
		if c.Stall.Any() {
			busy = timeline.Sum(timeline.At(c.For(rules.DiskBusy, "device", dev), c.Stall.Cells))
		}
		if math.IsNaN(busy) {
			busy = 0 // not told, as of Windows' disks
		}
		alike := busy <= asBusy*busiest && busiest <= asBusy*busy
		if best == "" || !alike && busy > busiest || alike && moved > most {
			best, busiest, most = dev, busy, moved
		}
	}
	return best
}

// asBusy is how many times as busy a device may be that counts as busy alike.
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

// reduce keeps the maximum of each slot: a stall must not vanish by averaging. The slots divide
// the time evenly, whatever the grid leaves out of it.
func reduce(g timeline.Grid, name, unit string, vals []float64, slots int) Track {
	from, to := g.Start(0), g.Time(g.N-1)
	slot := slotOf(g, slots)
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

// slotOf is the length of a slot of which at most so many cover the grid's time: whole cells.
func slotOf(g timeline.Grid, slots int) time.Duration {
	cells := int(g.Time(g.N-1).Sub(g.Start(0)) / g.Step())
	return time.Duration(max(1, (cells+slots-1)/slots)) * g.Step()
}
