package volume

import "math"

// The two kinds of room in a slice of the calendar.
const (
	operations = iota
	bytes
	kinds
)

const (
	sliceNs      = 1_000_000
	secondSlices = 1024 // about a second, and a power of two
	// Amounts are in thousandths of an operation or byte. Then a slice's room equals the number
	// that passes per second, and it is whole.
	thousand = 1000
)

// An allowance is how much of one kind a slice has room for.
type allowance struct {
	limited bool
	bursts  bool
	base    int64 // per slice
	most    int64 // per slice while there are credits

	credits, capacity int64 // above the base
	refill            int64 // credits per second

	// nanoseconds per unit, at either rate
	baseNs, mostNs float64
}

func newAllowance(base, most float64) allowance {
	// No limit: more room than any sum of requests can use.
	if base == 0 {
		return allowance{base: math.MaxInt64, most: math.MaxInt64}
	}

	a := allowance{limited: true, base: int64(base)}
	a.most = max(a.base, int64(most))
	if over := a.most - a.base; over > 0 {
		a.bursts = true
		a.capacity = over * int64(burstFor/sliceNs)
		a.credits = a.capacity
		// A full bucket is available once per burstEvery, so the refill has the time outside the
		// burst.
		a.refill = max(1, a.capacity/int64((burstEvery-burstFor)/(secondSlices*sliceNs)))
	}

	a.baseNs, a.mostNs = sliceNs/float64(a.base), sliceNs/float64(a.most)
	return a
}

// room returns how much a slice can still take, given the use of the slice and of its second.
func (a *allowance) room(used, second int64) int64 {
	if !a.bursts || a.spent() {
		return a.base - used
	}
	// Within a second, unused baseline counts before credits do.
	return min(a.most-used, max(0, a.base*secondSlices-second)+a.credits)
}

// take uses some of a slice's room. Credits are counted by whole seconds: being above the baseline
// in one millisecond and below it in the next is not exceeding it.
func (a *allowance) take(used, second *int64, amount int64) {
	*used += amount
	if a.bursts {
		free := max(0, a.base*secondSlices-*second)
		*second += amount
		a.credits -= max(0, amount-free)
	}
}

// spent reports whether the burst credits are used up.
func (a *allowance) spent() bool { return a.bursts && a.credits < thousand }

// ns returns how long an amount takes.
func (a *allowance) ns(amount int64) int64 {
	switch {
	case !a.limited:
		return 0
	case a.bursts && !a.spent():
		return int64(float64(amount) * a.mostNs)
	}
	return int64(float64(amount) * a.baseNs)
}

// rest refills the credits for a number of seconds, each with that much used.
func (a *allowance) rest(second, seconds int64) {
	unused := a.base*secondSlices - second
	if !a.bursts || unused <= 0 {
		return
	}
	// Checked by division: the product below would overflow after a long idle time.
	if seconds > (a.capacity-a.credits)/a.refill+1 {
		a.credits = a.capacity
		return
	}
	a.credits = min(a.capacity, a.credits+min(a.refill, unused)*seconds)
}
