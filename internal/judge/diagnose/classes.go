package diagnose

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// Interval means hide the tail. If a source counts durations in buckets, as Prometheus histograms do,
// the buckets of any stretch of time can be summed, and their percentiles cover every operation instead
// of means.

// A distribution is a latency that sources may report in buckets.
type distribution struct {
	signal  *rules.Signal
	subject string
}

// distributions are in display order: client latency first.
func distributions(pack *rules.Pack) []distribution {
	out := []distribution{{rules.ClientWriteClasses, clientWrites}, {rules.ClientReadClasses, "client reads"}}
	for _, e := range pack.Engines() {
		for _, l := range e.Latencies {
			out = append(out, distribution{l.Classes, l.Subject})
		}
	}
	return out
}

const clientWrites = "client writes"

// A percentile needs enough operations in an interval that at least one lies beyond it, and ten for
// a median. With fewer, the slowest operation would pass for a percentile.
type percentile struct {
	name  string
	q     float64
	least float64 // operations in an interval
}

var (
	median      = percentile{"p50", 0.5, 10}
	p99         = percentile{"p99", 0.99, 100}
	percentiles = []percentile{median, p99, {"p99.9", 0.999, 1000}}
)

// classes are the durations of one subject on one instance, by bucket ("class") and grid cell.
type classes struct {
	distribution
	instance string
	boundsS  []float64 // upper bounds, increasing; the last class has none
	// upTo holds, by class and then by cell, how many operations per second took no longer than the
	// class's bound; NaN if not measured.
	upTo [][]float64
	step float64 // of the grid, in seconds
}

// allClasses returns the distributions of a case, grouped by subject and sorted by instance.
func allClasses(input *rules.Case) []*classes {
	var out []*classes
	for _, kind := range distributions(input.Pack) {
		for _, name := range slices.Sorted(slices.Values(input.Instances(kind.signal))) {
			// Two sources may give the same bucket.
			all := slices.CompactFunc(input.Buckets(kind.signal, name),
				func(a, b rules.Bucket) bool { return a.EdgeS == b.EdgeS })

			last := len(all) - 1
			if last < 2 || !math.IsInf(all[last].EdgeS, 1) || !(timeline.Sum(all[last].Values) > 0) {
				continue // without the +Inf bucket the total is unknown, and so is every share
			}

			h := &classes{distribution: kind, instance: name, step: input.Grid.StepSeconds()}
			for _, x := range all {
				h.boundsS, h.upTo = append(h.boundsS, x.EdgeS), append(h.upTo, x.Values)
			}
			h.boundsS = h.boundsS[:last]
			out = append(out, h)
		}
	}

	return out
}

// subjects groups distributions by subject.
func subjects(all []*classes) [][]*classes {
	var out [][]*classes
	for _, h := range all {
		if n := len(out); n > 0 && out[n-1][0].subject == h.subject {
			out[n-1] = append(out[n-1], h)
		} else {
			out = append(out, []*classes{h})
		}
	}
	return out
}

func (h *classes) called() string { return rules.SubjectOn(h.subject, h.instance) }

// leastCounted is less than one operation could be: dividing an interval's rate among cells leaves
// rounding errors below it.
const leastCounted = 1e-6

// count adds a cell's operations to the classes of into.
func (h *classes) count(k int, into []float64) {
	below := 0.0
	for i, series := range h.upTo {
		upTo := series[k] * h.step
		// Buckets are cumulative: the difference to the previous bucket is the class.
		if !(upTo > below+leastCounted) { // NaN: not measured
			continue
		}
		into[i] += upTo - below
		below = upTo
	}
}

// slots sums operations by class for each slot of time, starting at the grid's start.
func (h *classes) slots(g timeline.Grid, slot time.Duration) [][]float64 {
	from, to := g.Start(0), g.Time(g.N-1)
	out := make([][]float64, (to.Sub(from)+slot-1)/slot)
	for i := range out {
		out[i] = make([]float64, len(h.upTo))
	}
	for k := range g.N {
		h.count(k, out[g.Start(k).Sub(from)/slot])
	}
	return out
}

// quantile returns the duration within which a share q of the operations completed, interpolated
// within its class like Prometheus' histogram_quantile. The first class has no lower bound and the
// last no upper one; there the result is the bound they have, without interpolation. There must be
// at least one operation.
func (h *classes) quantile(counts []float64, all, q float64) float64 {
	sum := 0.0
	for i, n := range counts[:len(h.boundsS)] {
		// The tolerance absorbs rounding in sums of rates, which could skip a class.
		if n > 0 && sum+n >= q*all*(1-1e-12) {
			if i == 0 {
				return h.boundsS[0]
			}
			return h.boundsS[i-1] + (h.boundsS[i]-h.boundsS[i-1])*min(1, (q*all-sum)/n)
		}
		sum += n
	}
	return h.boundsS[len(h.boundsS)-1]
}

// series returns percentiles by slot, nil if a slot has too few operations for one, and the number
// of operations in each slot.
func (h *classes) series(g timeline.Grid, slot time.Duration, wanted []percentile) (out []Track,
	operations Track) {
	slots := h.slots(g, slot)
	track := func(name, unit string) Track {
		return Track{Name: name, Unit: unit, From: g.Start(0), To: g.Time(g.N - 1), StepS: slot.Seconds(),
			Values: make([]*float64, len(slots))}
	}

	operations = track("operations", "")
	for _, p := range wanted {
		out = append(out, track(p.name, "seconds"))
	}

	for i, counts := range slots {
		all := timeline.Sum(counts)
		if all <= 0 {
			continue
		}
		operations.Values[i] = &all
		for j, p := range wanted {
			if math.Round(all) >= p.least {
				x := h.quantile(counts, all, p.q)
				out[j].Values[i] = &x
			}
		}
	}

	return out, operations
}

const (
	// enoughSlots is the required share of slots with operations that have enough of them for a
	// percentile.
	enoughSlots = 0.75
	// fewestSlots limits how coarse the slots of a series of percentiles may become.
	fewestSlots = 24
	// stalledFactor limits how much longer slots become for the sake of stalled time. Fewer
	// operations complete in it, and percentiles matter most there; but stalls are short, so longer
	// slots would blur them.
	stalledFactor = 5
)

// slotFor returns the finest slot in which a percentile mostly has the operations it needs, in
// stalled time too. At most atMost slots cover the grid.
func (h *classes) slotFor(c *rules.Case, p percentile, atMost int) time.Duration {
	least := slotOf(c.Grid, atMost)
	slot := least

	whole := c.Grid.Time(c.Grid.N - 1).Sub(c.Grid.Start(0))
	for _, factor := range []int{1, 2, 5, 10, 15, 20, 30, 60, 120, 300, 600} {
		try := time.Duration(factor) * least

		// With coarser slots, the series would no longer show when the latency rose.
		if factor > 1 && whole/try < fewestSlots {
			break
		}
		slot = try
		all, stalled := h.covered(c, slot, p)
		if all >= enoughSlots && (stalled >= enoughSlots || factor >= stalledFactor) {
			break
		}
	}

	return slot
}

// covered returns the share of slots with operations that have enough of them for a percentile, of
// all slots and of those with stalled time; 1 if there are none.
func (h *classes) covered(c *rules.Case, slot time.Duration, wanted percentile) (all, stalled float64) {
	g := c.Grid
	whole := g.Time(g.N - 1).Sub(g.Start(0))
	counts := make([]float64, (whole+slot-1)/slot)

	stalls := make([]bool, len(counts))
	// The highest class counts all operations, because classes are cumulative.
	for k, rate := range h.upTo[len(h.upTo)-1] {
		i := g.Start(k).Sub(g.Start(0)) / slot
		if rate > 0 {
			counts[i] += rate * h.step
		}
		stalls[i] = stalls[i] || c.Stall.Cells[k]
	}

	var some, enough, someStalled, enoughStalled float64
	for i, n := range counts {
		if n <= leastCounted {
			continue
		}

		some++
		if stalls[i] {
			someStalled++
		}

		// Rounded, because rates times steps are counts with errors of rounding.
		if math.Round(n) >= wanted.least {
			enough++
			if stalls[i] {
				enoughStalled++
			}
		}
	}

	part := func(of, all float64) float64 {
		if all == 0 {
			return 1
		}
		return of / all
	}

	return part(enough, some), part(enoughStalled, someStalled)
}

// percentilePlots plots each subject: every percentile of a single instance, or the p99 of the
// slowest of several instances.
func percentilePlots(c *rules.Case, all []*classes, slots int) []Plot {
	var out []Plot
	for _, of := range subjects(all) {
		if len(of) == 1 {
			h := of[0]
			tracks, operations := h.series(c.Grid, h.slotFor(c, p99, slots), percentiles)
			tracks = slices.DeleteFunc(tracks, func(t Track) bool { return !drawable(t) })
			out = append(out, Plot{Title: h.called() + ", latency", Unit: "seconds", Signal: h.signal.Name,
				Tracks: tracks, Percentiles: true, Operations: &operations})
		} else {
			p := instancesPlot(c, slowest(of, plottedDevMax), slots)
			if len(of) > plottedDevMax {
				p.Title += fmt.Sprintf(", the %d slowest of %d", plottedDevMax, len(of))
			}
			out = append(out, p)
		}
	}

	return slices.DeleteFunc(out, func(p Plot) bool { return !slices.ContainsFunc(p.Tracks, drawable) })
}

// instancesPlot plots the p99 of several instances, in slots in which all of them mostly have
// enough operations.
func instancesPlot(c *rules.Case, all []*classes, slots int) Plot {
	p := Plot{Title: all[0].subject + " p99", Unit: "seconds", Signal: all[0].signal.Name, Percentiles: true}

	// Curves are compared point by point, so all instances use the coarsest slot that any of them needs.
	slot := time.Duration(0)
	for _, h := range all {
		slot = max(slot, h.slotFor(c, p99, slots))
	}

	for _, h := range all {
		tracks, operations := h.series(c.Grid, slot, []percentile{p99})
		tracks[0].Name = h.instance
		p.Tracks = append(p.Tracks, tracks[0])

		if p.Operations == nil {
			p.Operations = &operations
			continue
		}

		// The plot states the number of operations behind a point: with several instances, the lowest.
		for i, n := range operations.Values {
			if at := &p.Operations.Values[i]; *at == nil || n != nil && *n < **at {
				*at = n
			}
		}
	}

	return p
}

// slowest returns the instances with the highest p99 over the whole time, in their original order.
func slowest(all []*classes, atMost int) []*classes {
	p99s := map[*classes]float64{}
	for _, h := range all {
		counts := h.whole(nil)
		p99s[h] = h.quantile(counts, timeline.Sum(counts), p99.q)
	}
	ranked := slices.Clone(all)
	slices.SortStableFunc(ranked, func(a, b *classes) int { return cmp.Compare(p99s[b], p99s[a]) })
	ranked = ranked[:min(len(ranked), atMost)]

	// Rank only to choose: in their original order, instances keep their places from one report to the
	// next.
	return slices.DeleteFunc(slices.Clone(all), func(h *classes) bool { return !slices.Contains(ranked, h) })
}

// whole counts operations by class over all time, or over the cells of a mask.
func (h *classes) whole(in timeline.Mask) []float64 {
	out := make([]float64, len(h.upTo))
	for k := range h.upTo[0] {
		if in == nil || in[k] {
			h.count(k, out)
		}
	}
	return out
}

// drawable reports whether a series has at least two points.
func drawable(t Track) bool {
	n := 0
	for _, v := range t.Values {
		if v != nil {
			n++
		}
	}
	return n > 1
}

// p99Rows is how many rows of percentiles a text report has room for.
const p99Rows = 2

// plotP99 returns the p99 over time of each distribution, of the slowest instance if there are
// several.
func plotP99(all []*classes, c *rules.Case) []Track {
	var out []Track
	for _, of := range subjects(all) {
		h := slowest(of, 1)[0]
		if tracks, _ := h.series(c.Grid, h.slotFor(c, p99, plotPoints), []percentile{p99}); len(out) < p99Rows &&
			drawable(tracks[0]) {
			tracks[0].Name = "p99 of " + h.called()
			out = append(out, tracks[0])
		}
	}
	return out
}
