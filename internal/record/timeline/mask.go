package timeline

import (
	"math"
	"slices"
)

// A Mask says in which cells of a grid a condition is true.
type Mask []bool

// Where returns the mask of the cells whose value satisfies hold. NaN never does.
func Where(values []float64, hold func(float64) bool) Mask {
	m := make(Mask, len(values))
	for i, x := range values {
		m[i] = !math.IsNaN(x) && hold(x)
	}
	return m
}

// Known returns the mask of the cells that have a value.
func Known(values []float64) Mask {
	return Where(values, func(float64) bool { return true })
}

// Count returns the number of cells in which the mask holds.
func (m Mask) Count() int {
	n := 0
	for _, b := range m {
		if b {
			n++
		}
	}
	return n
}

// And, Or and Not combine masks of one grid.
func (m Mask) And(o Mask) Mask { return m.join(o, func(a, b bool) bool { return a && b }) }

// Or holds where either does.
func (m Mask) Or(o Mask) Mask { return m.join(o, func(a, b bool) bool { return a || b }) }

// Without holds where m does and o does not.
func (m Mask) Without(o Mask) Mask { return m.join(o, func(a, b bool) bool { return a && !b }) }

func (m Mask) join(o Mask, f func(a, b bool) bool) Mask {
	out := make(Mask, max(len(m), len(o)))
	for i := range out {
		out[i] = f(i < len(m) && m[i], i < len(o) && o[i])
	}
	return out
}

// Not holds where m does not.
func (m Mask) Not() Mask {
	out := make(Mask, len(m))
	for i := range m {
		out[i] = !m[i]
	}
	return out
}

// Widen also includes up to before cells earlier and after cells later.
func (m Mask) Widen(before, after int) Mask {
	out := make(Mask, len(m))
	for i, b := range m {
		if !b {
			continue
		}
		if i > 0 && m[i-1] && i+1 < len(m) && m[i+1] {
			out[i] = true // inside a run, which is widened at its ends
			continue
		}
		// Cells outside of the grid are ignored.
		for k := max(0, i-before); k <= min(len(m)-1, i+after); k++ {
			out[k] = true
		}
	}

	return out
}

// Close also includes gaps of at most n cells between two cells of the mask.
func (m Mask) Close(n int) Mask {
	out := slices.Clone(m)
	last := -1
	for i, b := range m {
		if !b {
			continue
		}
		if last >= 0 && i-last-1 <= n {
			for k := last + 1; k < i; k++ {
				out[k] = true
			}
		}
		last = i
	}
	return out
}

// An Episode is a run of cells, First to Last inclusive.
type Episode struct{ First, Last int }

// Cells returns the episode's length in cells.
func (e Episode) Cells() int { return e.Last - e.First + 1 }

// Episodes returns the runs of cells in which the mask holds, in order of time.
func (m Mask) Episodes() []Episode {
	var out []Episode
	for i := 0; i < len(m); i++ {
		if !m[i] {
			continue
		}
		e := Episode{First: i}
		for i+1 < len(m) && m[i+1] {
			i++
		}
		e.Last = i
		out = append(out, e)
	}
	return out
}

// MaskOf returns the mask that holds in the episodes, on a grid of n cells.
func MaskOf(n int, episodes []Episode) Mask {
	m := make(Mask, n)
	for _, e := range episodes {
		for k := max(e.First, 0); k <= min(e.Last, n-1); k++ {
			m[k] = true
		}
	}
	return m
}

// A Period is a regular recurrence.
type Period struct {
	Cells float64 // median distance between two starts, in cells
	// Spread is the deviation that three of four distances do not exceed, divided by their median:
	// 0 for a clock. The fourth may contain a missed start.
	Spread float64
	N      int // number of distances
}

// maxPeriodSpread is the maximum irregularity of a periodic recurrence. A WiredTiger checkpoint
// comes 60 s after the last one ended, so its period varies with its duration. Among a few random
// distances, some agree by chance, so fewer than fewDistances must agree within maxFewSpread. Thus
// at most one in ten sets of four to ten random episodes is called periodic, and hardly any larger
// set.
const (
	maxPeriodSpread = 0.25
	fewDistances    = 6
	maxFewSpread    = 0.125
)

// Recurrence determines the period of the episodes' starts. It returns false for fewer than three
// episodes, or if the distances are irregular. Episodes closer than a third of the median distance
// count as one recurrence and are merged.
func Recurrence(episodes []Episode) (Period, bool) {
	starts := make([]float64, 0, len(episodes))
	for _, e := range episodes {
		starts = append(starts, float64(e.First))
	}

	// Merging changes the distances, so it is repeated until nothing changes, at most three times.
	for range 3 {
		if len(starts) < 3 {
			return Period{}, false
		}

		d := distances(starts)
		limit := Quantile(d, 0.75) / 3

		kept := starts[:1:1]
		for _, s := range starts[1:] {
			if s-kept[len(kept)-1] >= limit {
				kept = append(kept, s)
			}
		}

		if len(kept) == len(starts) {
			break
		}

		starts = kept
	}

	if len(starts) < 3 {
		return Period{}, false
	}

	d := distances(starts)
	med := Quantile(d, 0.5)

	dev := make([]float64, len(d))
	for i, x := range d {
		dev[i] = math.Abs(x - med)
	}

	p := Period{Cells: med, N: len(d)}
	if med > 0 {
		p.Spread = Quantile(dev, 0.75) / med
	}

	// With few distances, a coincidence is likely, so they must agree closely.
	spread := maxPeriodSpread
	if p.N < fewDistances {
		spread = maxFewSpread
	}

	return p, med >= 3 && p.Spread <= spread
}

func distances(starts []float64) []float64 {
	d := make([]float64, 0, len(starts))
	for i := 1; i < len(starts); i++ {
		d = append(d, starts[i]-starts[i-1])
	}
	return d
}
