package judge

import (
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// minHeldUp is the share of the stalled waiting above which one kind of wait explains a stall.
const minHeldUp = 0.5

// heldUp returns what the stalled operations waited for if it was not this host's storage: a lock, flow
// control, or other members' acknowledgement. Rules about storage use it: [rules.Knowledge.HeldUp].
func heldUp(c *rules.Case) (rules.HeldUp, bool) {
	// The holder of a lock, and a write that others have to wait for, may be waiting for the journal.
	inSync := timeline.Mean(timeline.At(syncing(&c.Signals), c.Stall.Cells))
	if inSync >= minHeldUp { // false for NaN
		return rules.HeldUp{}, false
	}

	locked, _, _, _ := ofAll(c, LockWait)
	held, _, _, _ := ofWrites(c, FlowControlWait)
	concern := awaitedMembers(c)

	switch most := max(locked, held, concern); {
	case most < minHeldUp:
		return rules.HeldUp{}, false
	case most == locked:
		which, _ := heldResource(c, c.Stall.Cells.Widen(1, 1))
		return rules.HeldUp{Share: locked, By: "the " + which + " lock, which another operation holds"}, true
	case most == held:
		return rules.HeldUp{Share: held, By: "flow control, because a majority of the members lags", Remote: true}, true
	default:
		return rules.HeldUp{Share: concern, By: "their write concern, which waits for other members", Remote: true}, true
	}
}

// awaitedMembers is the share of the stalled waiting for other members' acknowledgement. It is 0 if the
// set has no other member, or if the wait may have been for this member's journal.
func awaitedMembers(c *rules.Case) float64 {
	each := timeline.Quantile(timeline.At(c.One(LogSync), c.Stall.Cells), 0.5)
	if !(each < slowSyncS) || timeline.Max(c.One(Members)) == 1 {
		return 0
	}
	share, _, _, _ := ofWrites(c, ReplicationWait)
	return share
}
