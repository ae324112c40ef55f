package prove

import (
	"math"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

const (
	// unitsMin is the number of units, or runs of them, that each side needs. With six on each side, the
	// most extreme of 924 permutations has a p of 0.0022, which stays below 0.05 in a family of a dozen
	// figures; with five on each side it is 0.0079, which does not.
	unitsMin = 6
	// unitsMax bounds the number of units if there are no cycles: beyond it, cells are combined.
	unitsMax = 20_000
	// tooClose is the fraction of the usual time between two checkpoints' starts below which the second
	// one does not count. tooFar is the multiple of it above which a checkpoint must be missing in between.
	tooClose, tooFar = 1.0 / 3, 3
)

// A partition cuts the cells of a grid into units.
type partition struct {
	unit   []int32 // of each cell; -1: none
	n      int
	cycles bool    // they are whole checkpoint cycles
	usual  float64 // median length of a cycle in cells
	begun  int     // number of checkpoint starts
}

// seconds returns the time covered by units.
func (p partition) seconds(step float64) float64 {
	in := 0
	for _, u := range p.unit {
		if u >= 0 {
			in++
		}
	}
	return float64(in) * step
}

// checkpoints returns the cells in which a checkpoint ran, if measured.
func checkpoints(c *rules.Case) (rules.Cycle, bool) {
	if cycles := c.Cycles(); len(cycles) > 0 {
		return cycles[0], true
	}
	return rules.Cycle{}, false
}

// byCycles cuts a case at the checkpoints' starts; cycles is false if there are fewer than two starts.
func byCycles(input *rules.Case) partition {
	parts := partition{unit: make([]int32, input.Grid.N)}
	for k := range parts.unit {
		parts.unit[k] = -1
	}

	cycle, ok := checkpoints(input)
	if !ok {
		return parts
	}

	var starts []int
	for _, e := range cycle.Cells.Episodes() {
		if e.First > 0 { // a checkpoint that was already running at the beginning has an unknown start
			starts = append(starts, e.First)
		}
	}

	// A checkpoint may pause for a cell, which looks like two.
	starts = notTooClose(starts)
	parts.begun = len(starts)
	if len(starts) < 2 {
		return parts
	}

	parts.cycles, parts.usual = true, medianStep(starts)
	for i := 1; i < len(starts); i++ {
		// A gap in the recording is folded into one cell or has unknown cells, so the cycle around it is
		// incomplete.
		took := float64(input.Grid.Time(starts[i]).Sub(input.Grid.Time(starts[i-1]))) / float64(input.Grid.Step())
		if took > tooFar*parts.usual || took > float64(starts[i]-starts[i-1])+1 {
			continue
		}
		for k := starts[i-1]; k < starts[i]; k++ {
			parts.unit[k] = int32(parts.n)
		}
		parts.n++
	}

	return parts
}

func medianStep(starts []int) float64 {
	var steps []float64
	for i := 1; i < len(starts); i++ {
		steps = append(steps, float64(starts[i]-starts[i-1]))
	}
	return timeline.Quantile(steps, 0.5)
}

// notTooClose drops starts that belong to the same checkpoint as the previous one.
func notTooClose(starts []int) []int {
	if len(starts) < 3 {
		return starts
	}
	least := tooClose * medianStep(starts)
	out := starts[:1:1]
	for _, s := range starts[1:] {
		if float64(s-out[len(out)-1]) >= least {
			out = append(out, s)
		}
	}
	return out
}

// byLength cuts the cells into units of the same length; the remainder at the end belongs to none.
func byLength(n, length int) partition {
	p := partition{unit: make([]int32, n), n: n / length}
	for k := range p.unit {
		p.unit[k] = -1
		if k/length < p.n {
			p.unit[k] = int32(k / length)
		}
	}
	return p
}

// cut determines both sides' units: whole cycles on both sides; or cycles on one side and pieces of the
// same length on the other; or cells.
func cut(before, after *rules.Case) (a, b partition) {
	a, b = byCycles(before), byCycles(after)
	switch {
	case a.cycles && b.cycles:
	case a.cycles:
		b = like(a, b, after.Grid.N)
	case b.cycles:
		a = like(b, a, before.Grid.N)
	default:
		// Combine cells so that the number of units, and the time for resampling, stays bounded.
		length := 1 + (max(before.Grid.N, after.Grid.N)-1)/unitsMax
		begun := [2]int{a.begun, b.begun}
		a, b = byLength(before.Grid.N, length), byLength(after.Grid.N, length)
		a.begun, b.begun = begun[0], begun[1]
	}

	return a, b
}

func like(model, own partition, n int) partition {
	p := byLength(n, max(1, int(math.Round(model.usual))))
	p.begun = own.begun
	return p
}

// known reports whether any value inside a unit is known.
func (p partition) known(values []float64) bool {
	for k, u := range p.unit {
		if u >= 0 && !math.IsNaN(values[k]) {
			return true
		}
	}
	return false
}
