package incident

import (
	"math"

	"plimsoll/internal/record/timeline"
)

// Slower than usual is not stalled. Reads that take 3 ms instead of 0.5 ms do not stall a client
// for long, yet everything built on them takes six times as long. A stretch of time is clearly
// slower if nearly all of its blocks of cells are slower than nearly all others.
const (
	shiftBlocks   = 48
	leastBlocks   = 8   // of a series, and:
	leastOther    = 3   // blocks outside the stretch
	leastRun      = 2   // blocks of it
	shiftFactor   = 1.7 // of the median latency
	shiftApart    = 1.15
	shiftSameLoad = 1.3 // ratio of completions up to which the load is called the same
	growthFactor  = 1.5 // of the last fifth of the time over the first
	growthApart   = 1.03
	growthRank    = 0.8 // rank correlation of latency with time
)

// A Shift is a stretch of time in which operations took clearly longer than usual.
type Shift struct {
	timeline.Episode
	// UsualS and ThenS are the median latency in seconds outside and inside the stretch, UsualOps
	// and ThenOps the completions per second.
	UsualS, ThenS, UsualOps, ThenOps float64
	// Growing reports that the latency grew throughout. UsualS is then of the first fifth of the
	// time and ThenS of the last.
	Growing bool
}

// SameLoad reports whether completions did not rise with the latency.
func (s Shift) SameLoad() bool { return s.ThenOps <= shiftSameLoad*s.UsualOps }

// block holds the medians of consecutive cells.
type block struct {
	timeline.Episode
	latency, ops float64
}

// FindShift finds the stretch whose latency differs most from the rest of the time, if it is
// clearly higher. Only the cells of counted are used. leastOps are the completions per second below
// which a latency means little, and leastCells how many cells make a block.
func FindShift(latency, ops []float64, counted timeline.Mask, leastOps float64,
	leastCells int) (Shift, bool) {
	blocks := blocksOf(latency, ops, counted, leastOps, leastCells)
	if len(blocks) < leastBlocks {
		return Shift{}, false
	}

	if s, ok := growth(blocks); ok {
		return s, true
	}

	best, found := Shift{}, 0.0
	for i := range blocks {
		for j := i + leastRun - 1; j < len(blocks); j++ {
			if len(blocks)-(j-i+1) < leastOther {
				break
			}
			if s, score := compare(blocks, i, j); score > found {
				best, found = s, score
			}
		}
	}

	return best, found > 0
}

func blocksOf(latency, ops []float64, counted timeline.Mask, leastOps float64, leastCells int) []block {
	size := max(leastCells, (len(latency)+shiftBlocks-1)/shiftBlocks)
	var out []block
	for from := 0; from < len(latency); from += size {
		to := min(from+size, len(latency))
		l := timeline.At(latency[from:to], counted[from:to])
		if timeline.Count(l) < (min(leastCells, size)+1)/2 {
			continue
		}
		b := block{timeline.Episode{First: from, Last: to - 1}, timeline.Quantile(l, 0.5),
			timeline.Quantile(timeline.At(ops[from:to], counted[from:to]), 0.5)}
		if b.ops >= leastOps && b.latency > 0 {
			out = append(out, b)
		}
	}

	return out
}

// compare returns the shift of blocks i to j relative to all others, and how clear it is; 0 if it
// is not.
func compare(blocks []block, i, j int) (Shift, float64) {
	var in, out, inOps, outOps []float64
	for k, b := range blocks {
		if k >= i && k <= j {
			in, inOps = append(in, b.latency), append(inOps, b.ops)
		} else {
			out, outOps = append(out, b.latency), append(outOps, b.ops)
		}
	}

	s := Shift{Episode: timeline.Episode{First: blocks[i].First, Last: blocks[j].Last},
		UsualS: timeline.Quantile(out, 0.5), ThenS: timeline.Quantile(in, 0.5),
		UsualOps: timeline.Quantile(outOps, 0.5), ThenOps: timeline.Quantile(inOps, 0.5)}
	ratio := s.ThenS / s.UsualS

	// The first and the last block must be slow themselves. Otherwise the stretch could include
	// normal time.
	if least := shiftApart * timeline.Quantile(out, 0.9); blocks[i].latency < least ||
		blocks[j].latency < least {
		return s, 0
	}
	if ratio < shiftFactor || timeline.Quantile(in, 0.1) < shiftApart*timeline.Quantile(out, 0.9) {
		return s, 0
	}

	return s, math.Log(ratio) * math.Sqrt(float64(len(in))*float64(len(out))) / float64(len(blocks))
}

// growth reports whether the latency grew throughout.
func growth(blocks []block) (Shift, bool) {
	fifth := max(leastRun, len(blocks)/5)
	latency, order := make([]float64, len(blocks)), make([]float64, len(blocks))
	for i, b := range blocks {
		order[i] = float64(i)
		for _, o := range blocks {
			if o.latency < b.latency {
				latency[i]++
			}
		}
	}

	if !(timeline.Correlation(latency, order) >= growthRank) {
		return Shift{}, false
	}

	shift := Shift{Episode: timeline.Episode{First: blocks[0].First, Last: blocks[len(blocks)-1].Last},
		Growing: true}
	part := func(bs []block) (l, o float64) {
		var ls, os []float64
		for _, b := range bs {
			ls, os = append(ls, b.latency), append(os, b.ops)
		}
		return timeline.Quantile(ls, 0.5), timeline.Quantile(os, 0.5)
	}

	shift.UsualS, shift.UsualOps = part(blocks[:fifth])
	shift.ThenS, shift.ThenOps = part(blocks[len(blocks)-fifth:])
	middle, _ := part(blocks[len(blocks)/2-fifth/2-1 : len(blocks)/2+fifth/2+1])

	// A step is not growth: with growth, the middle is clearly between the ends.
	if shift.ThenS < growthFactor*shift.UsualS || middle < shiftApart*shift.UsualS ||
		middle > shift.ThenS/shiftApart {
		return shift, false
	}

	// A step in the very middle is not growth either: with growth, the second and fourth fifths
	// differ from their neighbours.
	second, _ := part(blocks[fifth : 2*fifth])
	fourth, _ := part(blocks[len(blocks)-2*fifth : len(blocks)-fifth])
	if second < growthApart*shift.UsualS || fourth > shift.ThenS/growthApart {
		return shift, false
	}

	return shift, true
}
