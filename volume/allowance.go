package volume

import (
	"math"

	"plimsoll/units"
)

// The two things of which a slice of the calendar has room.
const (
	operations = iota
	bytes
	kinds
)

const (
	sliceNs = 1_000_000
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
	refill            int64 // credits of a slice, in 2^-16
	refilled          int64 // what is gathered of one, in 2^-16

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
		a.refill = max(1, int64(float64(a.capacity)/float64((burstEvery-lasts)/sliceNs)*(1<<16)))
	}
	a.baseNs, a.mostNs = sliceNs/float64(a.base), sliceNs/float64(a.most)
	return a
}

// room is what a slice still takes of which so much is used.
func (a *allowance) room(used int64) int64 {
	room := a.base - used
	if a.bursts {
		room = min(a.most-used, max(room, 0)+a.credits)
	}
	return room
}

// take uses some of a slice's room.
func (a *allowance) take(used *int64, amount int64) {
	before := *used
	*used += amount
	if a.bursts {
		a.credits -= max(0, *used-max(a.base, before))
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

// idle refills the credits for a number of slices of which so much was used each.
func (a *allowance) idle(used, slices int64) {
	if !a.bursts || a.credits >= a.capacity || used >= a.base {
		return
	}
	if slices > (a.capacity-a.credits)/max(1, a.refill>>16)+1<<16 {
		a.credits = a.capacity
		return
	}
	gained := min(a.refill, (a.base-used)<<16)
	a.refilled += gained & (1<<16 - 1) * slices
	a.credits = min(a.capacity, a.credits+gained>>16*slices+a.refilled>>16)
	a.refilled &= 1<<16 - 1
}

// fill is the share of the credits that is left, and whether there are any to have.
func (a *allowance) fill() (units.Ratio, bool) {
	if !a.bursts {
		return 0, false
	}
	return units.Ratio(float64(a.credits) / float64(a.capacity)), true
}
