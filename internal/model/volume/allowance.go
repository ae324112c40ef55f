package volume

import (
	"math"

	"plimsoll/internal/base/units"
)

// The two things of which a slice of the calendar has room.
const (
	operations = iota
	bytes
	kinds
)

const (
	sliceNs      = 1_000_000
	secondSlices = 1024 // a second, nearly, and a power of two
	// Amounts are in thousandths of an operation or byte: then what a slice has room for is the
	// number that passes in a second, and whole.
	thousand = 1000
)

// An allowance is how much of one kind a slice has room for.
type allowance struct {
	limited bool
	bursts  bool
	base    int64 // a slice
	most    int64 // a slice while there are credits

	credits, capacity int64 // over the base
	refill            int64 // credits of a second

	// Nanoseconds of an amount, at either rate.
	baseNs, mostNs float64
}

func newAllowance(base, most float64, lasts units.Duration) allowance {
	if base == 0 {
		return allowance{base: math.MaxInt64, most: math.MaxInt64}
	}
	a := allowance{limited: true, base: int64(base)}
	a.most = max(a.base, int64(most))
	if over := a.most - a.base; over > 0 {
		a.bursts = true
		a.capacity = over * int64(lasts/sliceNs)
		a.credits = a.capacity
		a.refill = max(1, a.capacity/int64((burstEvery-lasts)/(secondSlices*sliceNs)))
	}
	a.baseNs, a.mostNs = sliceNs/float64(a.base), sliceNs/float64(a.most)
	return a
}

// room is what a slice still takes of which so much is used, in a second of which so much is.
func (a *allowance) room(used, second int64) int64 {
	if !a.bursts || a.spent() {
		return a.base - used
	}
	return min(a.most-used, max(0, a.base*secondSlices-second)+a.credits)
}

// take uses some of a slice's room. Credits are of whole seconds: what is over the baseline in one
// millisecond and under it in the next is not over it.
func (a *allowance) take(used, second *int64, amount int64) {
	*used += amount
	if a.bursts {
		free := max(0, a.base*secondSlices-*second)
		*second += amount
		a.credits -= max(0, amount-free)
	}
}

// spent says whether there was a burst and it is over.
func (a *allowance) spent() bool { return a.bursts && a.credits < thousand }

// ns is how long an amount takes.
func (a *allowance) ns(amount int64) int64 {
	switch {
	case !a.limited:
		return 0
	case a.bursts && !a.spent():
		return int64(float64(amount) * a.mostNs)
	}
	return int64(float64(amount) * a.baseNs)
}

// rest refills the credits for a number of seconds of which so much was used each.
func (a *allowance) rest(second, seconds int64) {
	unused := a.base*secondSlices - second
	if !a.bursts || unused <= 0 {
		return
	}
	if seconds > (a.capacity-a.credits)/a.refill+1 {
		a.credits = a.capacity
		return
	}
	a.credits = min(a.capacity, a.credits+min(a.refill, unused)*seconds)
}

// fill is the share of the credits that is left, and whether there are any to have.
func (a *allowance) fill() (units.Ratio, bool) {
	if !a.bursts {
		return 0, false
	}
	return units.Ratio(max(0, float64(a.credits)/float64(a.capacity))), true
}
