package rules

import (
	"plimsoll/internal/record/timeline"
)

// A Change is a period in which operations took clearly longer than usual, without a stall.
type Change struct {
	Stall Stall // the operations
	Cells timeline.Mask
	// UsualS and ThenS are median latencies in seconds, UsualOps and ThenOps completions per second.
	UsualS, ThenS, UsualOps, ThenOps float64
	// Connected is how many clients were connected, if no latency is known. The latencies are then
	// clients over completions, and only their ratio is meaningful.
	Connected float64
	Growing   bool // the latency grew steadily
	SameLoad  bool // no more operations completed
}

// LessDone reports whether clearly fewer operations completed although as many waited.
func (x Change) LessDone() bool { return x.ThenOps < lessDone*x.UsualOps }

const lessDone = 0.75
