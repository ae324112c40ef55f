package diagnose

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/common/model"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// Means of intervals hide the tail. Where a source keeps durations in classes, as histograms of
// Prometheus do, those of any stretch of time can be summed and its percentiles told: of every
// operation, not of means.

// A distribution is what sources may keep in classes.
type distribution struct {
	signal  *rules.Signal
	subject string
}

// distributions in the order in which they are shown: what clients felt first.
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

// A share of operations that is told, and how many an interval needs for it: so many that one of
// them lies beyond, and ten for a median. With fewer the slowest operation would pass for a
// percentile.
type percentile struct {
	name  string
	q     float64
	least float64 // operations
}

var (
	median      = percentile{"p50", 0.5, 10}
	p99         = percentile{"p99", 0.99, 100}
	percentiles = []percentile{median, p99, {"p99.9", 0.999, 1000}}
)

// classes are durations of one subject, at one instance, by cell of a grid.
type classes struct {
	distribution
	instance string
	boundsS  []float64 // upper bounds, increasing; one more class has none
	// upTo is, by class and then by cell, how many operations a second took up to its bound; NaN
	// where it was not measured.
	upTo [][]float64
	step float64 // of the grid, in seconds
}

// allClasses are the distributions that a case tells, those of one subject one after the other, by
// instance.
func allClasses(c *rules.Case) []*classes {
	var out []*classes
	for _, d := range distributions(c.Pack) {
		type class struct {
			bound float64
			track timeline.Track
		}

		byInstance := map[string][]class{}
		var instances []string
		for _, t := range c.Signal(d.signal) {
			bound, err := strconv.ParseFloat(t.Labels.Get(model.BucketLabel), 64)
			if err != nil || math.IsNaN(bound) {
				continue // not a class
			}
			name := t.Labels.Get("instance")
			if byInstance[name] == nil {
				instances = append(instances, name)
			}
			byInstance[name] = append(byInstance[name], class{bound, t})
		}

		slices.Sort(instances)
		for _, name := range instances {
			all := byInstance[name]
			slices.SortStableFunc(all, func(a, b class) int { return cmp.Compare(a.bound, b.bound) })
			all = slices.CompactFunc(all, func(a, b class) bool { return a.bound == b.bound })

			h := &classes{distribution: d, instance: name, step: c.Grid.StepSeconds()}
			for _, x := range all {
				h.boundsS, h.upTo = append(h.boundsS, x.bound), append(h.upTo, x.track.Values)
			}

			last := len(h.boundsS) - 1
			if last < 2 || !math.IsInf(h.boundsS[last], 1) {
				continue // without all operations among them, no share is known
			}

			h.boundsS = h.boundsS[:last]
			if timeline.Sum(h.upTo[last]) > 0 {
				out = append(out, h)
			}
		}
	}

	return out
}

// subjects are distributions grouped by what they are of.
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

// leastCounted is less than any operation: rates of intervals that cells divide leave such rests.
const leastCounted = 1e-6

// count adds a cell's operations by class.
func (h *classes) count(k int, into []float64) {
	below := 0.0
	for i, series := range h.upTo {
		upTo := series[k] * h.step
		if !(upTo > below+leastCounted) { // NaN: not measured
			continue
		}
		into[i] += upTo - below
		below = upTo
	}
}

// slots sums operations by class over slots of time, from the grid's start.
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

// quantile is the duration that a share of the operations keep, interpolated within its class as
// Prometheus' histogram_quantile does. The first class has no lower end and the last no upper one:
// there it is the bound that they have, and nothing between is made up. The operations are by
// class, and not none.
func (h *classes) quantile(counts []float64, all, q float64) float64 {
	sum := 0.0
	for i, n := range counts[:len(h.boundsS)] {
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

func total(counts []float64) (sum float64) {
	for _, n := range counts {
		sum += n
	}
	return sum
}

// series are percentiles by slot, nil where a slot has too few operations for one, and how many
// operations each slot has.
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
		all := total(counts)
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
	// enoughSlots is the part of the slots with any operation that are to have enough of them for a
	// percentile.
	enoughSlots = 0.75
	// fewestSlots is how few slots a series of percentiles is given for that.
	fewestSlots = 24
	// stalledFactor is how much longer slots become for the sake of stalled time: fewer operations
	// end in it, and there a percentile matters most, but stalls are short.
	stalledFactor = 5
)

// slotFor is the finest slot, of so many at most, in which a percentile mostly has the operations
// it needs, in stalled time too.
func (h *classes) slotFor(c *rules.Case, p percentile, atMost int) time.Duration {
	least := slotOf(c.Grid, atMost)
	slot := least

	whole := c.Grid.Time(c.Grid.N - 1).Sub(c.Grid.Start(0))
	for _, factor := range []int{1, 2, 5, 10, 15, 20, 30, 60, 120, 300, 600} {
		try := time.Duration(factor) * least
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

// covered is the part of the slots with any operation that have enough for a percentile, and that
// part of those with stalled time; 1 of none.
func (h *classes) covered(c *rules.Case, slot time.Duration, p percentile) (all, stalled float64) {
	g := c.Grid
	whole := g.Time(g.N - 1).Sub(g.Start(0))
	counts := make([]float64, (whole+slot-1)/slot)

	stalls := make([]bool, len(counts))
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

		if math.Round(n) >= p.least {
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

// percentilePlots are the percentiles of each subject: all of them of one instance, or the p99 of
// several beside each other, the slowest.
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
			p := besides(c, slowest(of, plottedDevMax), slots)
			if len(of) > plottedDevMax {
				p.Title += fmt.Sprintf(", the %d slowest of %d", plottedDevMax, len(of))
			}
			out = append(out, p)
		}
	}

	return slices.DeleteFunc(out, func(p Plot) bool { return !slices.ContainsFunc(p.Tracks, drawable) })
}

// besides are the p99 of several instances, over slots in which all of them mostly have enough
// operations.
func besides(c *rules.Case, all []*classes, slots int) Plot {
	p := Plot{Title: all[0].subject + " p99", Unit: "seconds", Signal: all[0].signal.Name, Percentiles: true}
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

		for i, n := range operations.Values {
			if at := &p.Operations.Values[i]; *at == nil || n != nil && *n < **at {
				*at = n
			}
		}
	}

	return p
}

// slowest are the instances with the highest p99 over the whole time, in the order they have.
func slowest(all []*classes, atMost int) []*classes {
	p99s := map[*classes]float64{}
	for _, h := range all {
		counts := h.whole(nil)
		p99s[h] = h.quantile(counts, total(counts), p99.q)
	}
	ranked := slices.Clone(all)
	slices.SortStableFunc(ranked, func(a, b *classes) int { return cmp.Compare(p99s[b], p99s[a]) })
	ranked = ranked[:min(len(ranked), atMost)]
	return slices.DeleteFunc(slices.Clone(all), func(h *classes) bool { return !slices.Contains(ranked, h) })
}

// whole are the operations by class over all time, or over the cells of a mask.
func (h *classes) whole(in timeline.Mask) []float64 {
	out := make([]float64, len(h.upTo))
	for k := range h.upTo[0] {
		if in == nil || in[k] {
			h.count(k, out)
		}
	}
	return out
}

// drawable tells whether a series has two points, at least.
func drawable(t Track) bool {
	n := 0
	for _, v := range t.Values {
		if v != nil {
			n++
		}
	}
	return n > 1
}

// p99Rows is how many rows of percentiles a text has room for.
const p99Rows = 2

// plotP99 are the p99 over time of what is kept in classes, of several instances the slowest's.
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
