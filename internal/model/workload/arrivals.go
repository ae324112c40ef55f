package workload

import (
	"math"
	"math/bits"
	"slices"
	"time"

	"plimsoll/internal/base/random"
	"plimsoll/internal/base/units"
	"plimsoll/internal/base/vtime"
)

// How arrivals with a changing rate are spaced.
const (
	poissonSpacing  = "poisson"
	constantSpacing = "constant"
)

// A piece is a stretch of time with one rate.
type piece struct {
	until time.Duration // since the start of the first piece
	rate  units.Frequency
}

// Bounds of a rate. Within a changing rate, anything below RateMin is a pause.
const (
	RateMin units.Frequency = 1.0 / 86400 // one per day: a slower one would not occur in a run
	RateMax units.Frequency = 1e7         // about a hundred times the highest rate measured on one server
)

// A schedule is a rate over time. After the last piece it starts again, or its rate holds.
type schedule struct {
	pieces  []piece
	repeats bool
	poisson bool // or evenly spaced
}

// rampPieces and dailyPieces are how finely a changing rate is cut. Within a piece the rate is
// constant, and off by at most half a step (assumed to be fine enough for anything an engine
// notices).
const (
	rampPieces  = 256
	dailyPieces = 288
)

// ramped cuts a ramp: each piece has the rate of its middle.
func ramped(r *Ramp) []piece {
	out := make([]piece, 0, rampPieces+1)
	for i := range rampPieces {
		t := (float64(i) + 0.5) / rampPieces
		// The explicit conversion rules out a fused multiply-add, which would differ between
		// machines.
		rate := float64(r.From) + float64(float64(r.To-r.From)*t)
		out = append(out, piece{time.Duration(r.Over) * time.Duration(i+1) / rampPieces, units.Frequency(rate)})
	}
	return append(out, piece{math.MaxInt64, r.To})
}

// swinging cuts a period of a sine that begins at its lowest point. The cosines of equal steps
// follow from the first by Chebyshev's recurrence, cos (n+1)x = 2 cos x cos nx - cos (n-1)x, which
// needs no cosine function of the machine.
func swinging(d *Daily) []piece {
	// cos and sin of half a step, pi/288, and cos of a step.
	const cosHalf, cosStep = 0.99994050595025669, 0.99976203095888343
	out := make([]piece, 0, dailyPieces)
	before, now := cosHalf, cosHalf // of -1/2 and 1/2 step
	for i := range dailyPieces {
		rate := float64(d.Low) + float64(float64(d.High-d.Low)*(1-now)/2)
		out = append(out, piece{time.Duration(float64(d.Period) * float64(i+1) / dailyPieces),
			units.Frequency(rate)})
		before, now = now, float64(2*cosStep*now)-before
	}
	// Rounding must not shift the next period.
	out[dailyPieces-1].until = time.Duration(d.Period)
	return out
}

// arrivals yields the instants of a schedule in order.
type arrivals struct {
	schedule
	stream *random.Stream
	i      int           // the piece
	origin vtime.Instant // when this round of the pieces began
	until  vtime.Instant // when the piece ends
	ended  bool

	// due is the next arrival; in a Poisson process the last one, or the start of the piece. If
	// evenly spaced, it is duePart/2^32 ns later, and arrivals are gap + gapPart/2^32 ns apart.
	due              vtime.Instant
	gap              time.Duration // 0: a pause
	duePart, gapPart uint32
	// left is the remaining share of a distance, in 2^-32, that the first arrival of a piece still
	// waits.
	left uint64
	mean time.Duration // Poisson: the mean distance in 2^-meanBits ns
}

// meanBits is the precision of a Poisson process' mean distance: at 1e7/s it is accurate to 1e-5.
// The slowest rate's times the longest wait, 45 means, stays below 2^63.
const meanBits = 10

func newArrivals(s schedule, seed random.Seed) *arrivals {
	// The first of evenly spaced arrivals comes after half a distance.
	a := &arrivals{schedule: s, stream: seed.Stream("workload.arrivals"), i: -1, left: 1 << 31}
	// Only pauses, repeated, would never end.
	a.ended = !slices.ContainsFunc(s.pieces, func(p piece) bool { return p.rate >= RateMin })
	a.advance(0)
	return a
}

// advance moves to the piece that begins at now.
func (a *arrivals) advance(now vtime.Instant) {
	if a.i++; a.i == len(a.pieces) {
		a.i, a.origin = 0, now
	}

	p := a.pieces[a.i]
	a.until = a.origin.Add(p.until)
	if a.i == len(a.pieces)-1 && !a.repeats {
		a.until = vtime.Never
	}

	// A pause has no gap; next skips it.
	a.due, a.duePart, a.gap = now, 0, 0
	if p.rate < RateMin {
		return
	}

	distance := 1e9 / float64(p.rate)
	whole := math.Floor(distance)
	a.gap, a.gapPart = time.Duration(whole), uint32((distance-whole)*(1<<32))

	if a.poisson {
		a.mean = time.Duration(math.Round(distance * (1 << meanBits)))
		return
	}

	hi, lo := bits.Mul64(uint64(a.gap), a.left)
	a.due = now.Add(time.Duration(hi<<32 | lo>>32))
}

// next returns the next arrival; false means that there is none.
func (a *arrivals) next() (vtime.Instant, bool) {
	for !a.ended {
		if a.gap > 0 && a.poisson {
			a.due = a.due.Add(a.stream.Exponential(a.mean) >> meanBits)
		}

		if t := a.due; a.gap > 0 && t < a.until {
			if !a.poisson {
				before := a.duePart
				a.due = t.Add(a.gap)
				// The fraction overflowed: carry a nanosecond.
				if a.duePart += a.gapPart; a.duePart < before {
					a.due++
				}
			}
			return t, true
		}

		if a.until == vtime.Never {
			a.ended = true
			break
		}

		// The piece ends first. A Poisson process has no memory: it starts again. If evenly spaced,
		// the remaining share of the distance is waited at the next rate.
		if a.gap > 0 && !a.poisson {
			over := uint64(a.due - a.until)
			a.left, _ = bits.Div64(over>>32, over<<32, uint64(a.gap))
		}

		a.advance(a.until)
	}
	return 0, false
}
