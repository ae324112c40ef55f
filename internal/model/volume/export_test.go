package volume

import (
	"plimsoll/internal/base/units"
	"plimsoll/internal/base/vtime"
)

// Credits returns the remaining burst of an instance, 1 being all, and whether there is one, for operations
// and for bytes.
func (i *Instance) Credits(now vtime.Instant) (iops units.Ratio, hasIOPS, hasThroughput bool) {
	i.now = max(i.now, now)
	i.calendar.advance(i.now)
	iops, hasIOPS = i.calendar.limits[operations].fill()
	_, hasThroughput = i.calendar.limits[bytes].fill()
	return iops, hasIOPS, hasThroughput
}

// fill returns the remaining share of the credits, and whether there are any at all.
func (a *allowance) fill() (units.Ratio, bool) {
	if !a.bursts {
		return 0, false
	}
	return units.Ratio(max(0, float64(a.credits)/float64(a.capacity))), true
}
