package timeline

import (
	"slices"
	"sort"
	"time"
)

// A Hole is a time without samples from any source, for example between two runs of a server: after
// From, before To.
type Hole struct{ From, To time.Time }

// holeCells is the number of cells of a hole that are kept: as many as the longest wait that a rule
// follows back from where it was credited, so that no rule reaches across.
const holeCells = 600

// A fold leaves out time before cell at, starting at from, in milliseconds since the epoch.
// Together with the folds before it, it leaves out leftOut milliseconds, a whole number of cells.
type fold struct {
	at      int
	from    int64
	leftOut int64
}

// fold leaves out the part of each hole that exceeds holeCells. Servers that are started only when
// needed have months between their samples, and cells for these would waste memory.
func (g *Grid) fold(holes []Hole) {
	holes = slices.Clone(holes)
	slices.SortFunc(holes, func(a, b Hole) int { return a.From.Compare(b.From) })
	var leftOut int64
	for _, h := range holes {
		from, to := max(h.From.UnixMilli(), g.FromMs), h.To.UnixMilli()
		cells := (to-from)/g.StepMs - holeCells
		// Half of the kept cells are on each side of the fold.
		at := g.cell(from) + holeCells/2
		if n := len(g.folds); cells <= 0 || n > 0 && at <= g.folds[n-1].at {
			continue
		}
		leftOut += cells * g.StepMs
		g.folds = append(g.folds, fold{at: at, from: g.end(at - 1), leftOut: leftOut})
	}
}

// end returns the end of cell k in milliseconds since the epoch.
func (g Grid) end(k int) int64 {
	ms := g.FromMs + int64(k)*g.StepMs
	if i := sort.Search(len(g.folds), func(i int) bool { return g.folds[i].at > k }); i > 0 {
		ms += g.folds[i-1].leftOut
	}
	return ms
}

// cell returns the cell that contains a time, or the one after the fold that contains it. It may be
// outside the grid.
func (g Grid) cell(ms int64) int {
	i := sort.Search(len(g.folds), func(i int) bool { return g.folds[i].from >= ms })
	if i == 0 {
		return ceilDiv(ms-g.FromMs, g.StepMs)
	}
	f := g.folds[i-1]
	return max(ceilDiv(ms-g.FromMs-f.leftOut, g.StepMs), f.at)
}

func ceilDiv(a, b int64) int { return int(-floorDiv(-a, b)) }

// CellAt returns the cell that contains t, and whether the grid has it.
func (g Grid) CellAt(t time.Time) (int, bool) {
	k := g.cell(t.UnixMilli())
	return k, k >= 0 && k < g.N && !t.Before(g.Start(k))
}

// Slice returns the cells first to last, inclusive, as a separate grid.
func (g Grid) Slice(first, last int) Grid {
	out := Grid{FromMs: g.end(first), StepMs: g.StepMs, N: last - first + 1}
	var before int64
	for _, f := range g.folds {
		if f.at <= first {
			before = f.leftOut
			continue
		}
		out.folds = append(out.folds, fold{at: f.at - first, from: f.from, leftOut: f.leftOut - before})
	}
	return out
}

// Runs returns the cells between the folds. Within each run, time passes evenly.
func (g Grid) Runs() []Episode {
	var out []Episode
	first := 0
	for _, f := range g.folds {
		if f.at >= g.N {
			break
		}
		out = append(out, Episode{First: first, Last: f.at - 1})
		first = f.at
	}
	if first < g.N {
		out = append(out, Episode{First: first, Last: g.N - 1})
	}
	return out
}
