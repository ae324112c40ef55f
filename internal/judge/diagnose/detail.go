package diagnose

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// SlotsMax bounds the slots of a plot's series: an hour of seconds, plus a minute because a
// one-hour recording rarely stops on the second.
const SlotsMax = 3660

// A Detail is what a page with plots shows in addition to the JSON contract: finer series of more
// signals with their source signals, every stalled episode, and latency distributions.
type Detail struct {
	Plots       []Plot
	Stalled     []Span
	Checkpoints []Span
	Latencies   []*Spread // none if no source reports a latency
}

// A Plot is a set of series on one axis.
type Plot struct {
	Title  string
	Unit   string
	Signal string // the signal its series were read from; "" if several
	// LimitS, if not 0, is the latency at or above which an interval is stalled.
	LimitS float64
	Tracks []Track
	// Percentiles marks series of percentiles. A point is then computed from all operations of its
	// slot, instead of the maximum of its cells, and is nil if there were too few. Operations is
	// how many there were; of several instances, the fewest.
	Percentiles bool
	Operations  *Track
}

// A Spread counts operations by time and latency.
type Spread struct {
	Subject string
	// Signal is the signal of the classes. It is "" if the source reports only the mean latency of
	// an interval: then each operation counts with its interval's mean.
	Signal string
	// SlowestOf is how many instances were compared; this one has the highest p99.
	SlowestOf int
	From      time.Time
	StepS     float64
	// BoundsS are the upper bounds of the classes in seconds, increasing; the last class has none.
	BoundsS []float64
	// Operations are counted by slot of time, then by class.
	Operations [][]float64
	// Stalled counts, by class, the operations that completed in stalled cells; nil if none did, or
	// all.
	Stalled []float64
	// Unseen counts the operations of intervals in which a sampling source saw none wait, so that
	// their latency is unknown.
	Unseen, StalledUnseen float64
}

const (
	spreadColumns = 120                   // columns of the plot, each a stretch of time
	spreadLeastS  = 10e-6                 // bound of the first class
	spreadClasses = 88                    // up to about 40 s
	spreadFactor  = 1.1892071150027210667 // fourth root of two
	plottedDevMax = 3                     // devices in one plot
)

// spreadBounds are the bounds of classes that are each about a fifth wide.
func spreadBounds() []float64 {
	out := make([]float64, spreadClasses)
	for i := range out {
		out[i] = spreadLeastS
		if i > 0 {
			out[i] = out[i-1] * spreadFactor
		}
	}
	return out
}

// detail collects from a case everything that a page shows, each series reduced to the given number of
// slots.
func detail(input *rules.Case, runs []timeline.Episode, slots int) *Detail {
	out := &Detail{Stalled: spans(input, input.Stall.Cells)}
	if cycles := input.Cycles(); len(cycles) > 0 {
		out.Checkpoints = spans(input, cycles[0].Cells)
	}

	slots = min(max(slots, 1), SlotsMax)
	add := func(p Plot, names []string, series [][]float64) {
		for i, vals := range series {
			if vals != nil && timeline.Count(vals) > 1 {
				p.Tracks = append(p.Tracks, reduceRuns(input.Grid, runs, names[i], p.Unit, vals, slots)...)
			}
		}
		if len(p.Tracks) > 0 {
			out.Plots = append(out.Plots, p)
		}
	}

	one := func(title string, signal *rules.Signal) {
		add(Plot{Title: title, Unit: signal.Unit, Signal: signal.Name}, []string{title},
			[][]float64{input.One(signal)})
	}
	s := input.Stall
	add(Plot{Title: s.Subject + ", mean latency", Unit: "seconds", LimitS: s.Threshold},
		[]string{"mean latency"}, [][]float64{s.Latency})
	kept := allClasses(input)

	if len(runs) == 1 {
		out.Plots = append(out.Plots, percentilePlots(input, kept, slots)...)
	}

	add(Plot{Title: s.Subject + ", completed", Unit: "1/s"}, []string{"completed"}, [][]float64{s.Ops})
	for _, p := range enginePlots(input) {
		one(p.Title, p.Signal)
	}

	one("page cache dirty", rules.MemoryDirty)
	devices := busiestDevices(input)
	for _, of := range []rules.Plot{
		{Title: "busy", Signal: rules.DiskBusy},
		{Title: "IOPS", Signal: rules.DiskOps},
		{Title: "throughput", Signal: rules.DiskMoved},
		{Title: "queue", Signal: rules.DiskQueue},
		{Title: "write await", Signal: rules.DiskWriteAwait},
	} {
		p := Plot{Title: of.Title, Unit: of.Signal.Unit, Signal: of.Signal.Name}
		if len(devices) == 1 {
			p.Title = devices[0] + " " + p.Title
		} else {
			p.Title = "devices' " + p.Title
		}
		series := make([][]float64, len(devices))
		for i, dev := range devices {
			series[i] = input.For(of.Signal, "device", dev)
		}
		add(p, devices, series)
	}

	one("CPUs busy", rules.CPUBusy)

	// A heat map has evenly spaced slots, which an axis with cuts cannot show.
	if len(runs) == 1 {
		out.Latencies = spreads(input, kept)
	}

	return out
}

// enginePlots returns the signals that the engines list as plots.
func enginePlots(c *rules.Case) (out []rules.Plot) {
	for _, e := range c.Pack.Engines() {
		out = append(out, e.Plots...)
	}
	return out
}

func spans(c *rules.Case, m timeline.Mask) []Span {
	eps := m.Episodes()
	out := make([]Span, len(eps))
	for i, e := range eps {
		out[i] = c.Span(e)
	}
	return out
}

// busiestDevices returns the devices that moved the most bytes, without idle ones.
func busiestDevices(c *rules.Case) []string {
	type moved struct {
		device string
		bytes  float64
	}

	var all []moved
	for _, t := range c.Signal(rules.DiskMoved) {
		if sum := timeline.Sum(t.Values); sum > 0 {
			all = append(all, moved{t.Labels.Get("device"), sum})
		}
	}

	slices.SortStableFunc(all, func(a, b moved) int { return cmp.Compare(b.bytes, a.bytes) })
	var out []string
	for _, m := range all[:min(len(all), plottedDevMax)] {
		out = append(out, m.device)
	}

	return out
}

// spreads returns the latency distributions: the slowest instance of each subject that has classes,
// and the interval means of the judged class unless these cover it.
func spreads(c *rules.Case, kept []*classes) []*Spread {
	var out []*Spread
	byMeans := true
	for _, of := range subjects(kept) {
		h := slowest(of, 1)[0]
		x := h.spread(c)
		x.SlowestOf = len(of)
		out = append(out, x)
		// Clients' latencies hold the database's; etcd's detector judges by the same fdatasyncs.
		byMeans = byMeans && h.subject != clientWrites && !strings.HasPrefix(c.Stall.Subject, h.subject)
	}
	if s := meanSpread(c); s != nil && byMeans {
		out = slices.Insert(out, 0, s)
	}
	return out
}

// newSpread returns a Spread without operations, and the length of its slots.
func newSpread(c *rules.Case, subject string, boundsS []float64) (s *Spread, slot time.Duration) {
	from, to := c.Grid.Start(0), c.Grid.Time(c.Grid.N-1)
	slot = slotOf(c.Grid, spreadColumns)
	s = &Spread{Subject: subject, From: from, StepS: slot.Seconds(), BoundsS: boundsS,
		Operations: make([][]float64, (to.Sub(from)+slot-1)/slot)}
	for i := range s.Operations {
		s.Operations[i] = make([]float64, len(boundsS)+1)
	}
	return s, slot
}

// partlyStalled reports whether some operations, but not all, completed in stalled time.
func partlyStalled(stalled, all float64) bool {
	return stalled > leastCounted && stalled < all-leastCounted
}

// spread counts the operations of the whole time by class.
func (h *classes) spread(c *rules.Case) *Spread {
	out, slot := newSpread(c, h.called(), h.boundsS)
	out.Signal = h.signal.Name
	out.Operations = h.slots(c.Grid, slot)
	if stalled := h.whole(c.Stall.Cells); partlyStalled(timeline.Sum(stalled), timeline.Sum(h.whole(nil))) {
		out.Stalled = stalled
	}
	return out
}

// meanSpread counts operations by time and by the mean latency of their cell; nil if no latency is
// known.
func meanSpread(input *rules.Case) *Spread {
	stall := input.Stall
	if stall.Latency == nil || stall.Ops == nil || input.Grid.N == 0 {
		return nil
	}

	out, slot := newSpread(input, stall.Subject, spreadBounds())
	stalled, seen, inStall := make([]float64, spreadClasses+1), 0.0, 0.0
	for k, latency := range stall.Latency {
		if !(stall.Ops[k] > 0) || math.IsNaN(latency) || math.IsInf(latency, 0) {
			continue
		}

		n := stall.Ops[k] * input.Grid.StepSeconds()

		// A sampled latency of 0 only means that no sample caught a waiting operation.
		if latency <= 0 {
			out.Unseen += n
			if stall.Cells[k] {
				out.StalledUnseen += n
			}
			continue
		}

		class, _ := slices.BinarySearch(out.BoundsS, latency)
		out.Operations[input.Grid.Start(k).Sub(out.From)/slot][class] += n
		seen += n

		if stall.Cells[k] {
			stalled[class] += n
			inStall += n
		}
	}

	if seen == 0 {
		return nil
	}

	if partlyStalled(inStall, seen+out.Unseen) {
		out.Stalled = stalled
	}

	return out
}
