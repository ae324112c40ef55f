// Package volume models a cloud volume as a pure queue: a request and the time go in, the time at
// which it is done comes out.
//
// A rented volume is a promise of limits: a number of operations and bytes per second, some of them
// lent from a bucket of credits, behind a network whose latency has a distribution. [Queue] is that
// promise as a state machine. It never sleeps and reads no clock, so the simulator can schedule its
// answers in virtual time, and an emulated volume can wait for them in real time. The limits are
// written once.
//
// The order of service is the order of submission, as in a token bucket with a queue behind it. So
// the wait is known at submission, and a simulated I/O costs no event. There are three steps:
//
//	submitted -> admitted   a slot of the block layer's queue was free ([Config.Slots])
//	admitted  -> issued     limits of the volume, then of the instance, let it pass
//	issued    -> done       the latency, drawn from a distribution, plus any bad episode
//
// The promises of real products are in package catalog; this package has only mechanisms.
package volume

import (
	"fmt"

	"plimsoll/internal/base/units"
	"plimsoll/internal/base/vtime"
)

// An Op is the kind of a request.
type Op uint8

// The operations. A Flush makes durable the writes that were done before it was submitted, not
// those still in progress (NVM Command Set specification 1.0, 2021, Flush). It takes the flush
// latency, the time to empty a volatile cache. It waits for a slot but for no limit, and is not
// charged, unless [Config.FlushIsOperation] says so: then it queues like a write.
const (
	Read Op = iota
	Write
	Flush
	Ops = 3 // the number of operations, for arrays
)

// String returns the operation's name in series and reports.
func (o Op) String() string { return [...]string{"read", "write", "flush"}[o] }

// A Request is one I/O as the block layer submits it.
type Request struct {
	Op     Op
	Offset units.Size // of its first byte on the volume
	Length units.Size // 0 for a flush
}

// A Limit is what held a request back: the last thing it waited for.
type Limit uint8

// The limits, in the order in which a request meets them.
const (
	Unlimited          Limit = iota // it waited only for the latency
	Slots                           // the block layer's queue was full
	VolumeIOPS                      // the volume's operations per second
	VolumeThroughput                // the volume's bytes per second
	VolumeCredits                   // the same, at the baseline, with its burst credits exhausted
	InstanceIOPS                    // the instance's operations per second, over all its volumes
	InstanceThroughput              // the instance's bytes per second
	InstanceCredits                 // the same, at the baseline, with its burst exhausted
	Degraded                        // a bad episode of the volume
	FirstTouch                      // a block that was still in the volume's snapshot
	Limits             = 10         // the number of limits, for arrays
)

// String returns the limit's name in reports.
func (l Limit) String() string {
	return [...]string{
		"nothing", "queue slots", "volume IOPS", "volume throughput", "volume burst credits",
		"instance IOPS", "instance throughput", "instance burst credits",
		"degraded volume", "first touch of a snapshot's block",
	}[l]
}

// A Completion says when a request is done, and what it waited for.
type Completion struct {
	Admitted vtime.Instant // when its submitter can continue and submit the next
	Issued   vtime.Instant // when the limits let it pass; the last part of a split one
	Done     vtime.Instant
	// Operations is the number of operations charged: 4 for a write of 1,024 KiB if an operation carries
	// 256 KiB, 0 if it was merged into the previous one.
	Operations int64
	Held       Limit
}

// A Volume answers requests. Submissions come in time order: an instant before the last submission
// counts as that one. A Volume is not safe for concurrent use, and neither are all volumes that
// share an [Instance].
type Volume interface {
	// Submit takes a request at now. It accepts any request and never panics. One that [Request.Check]
	// would refuse counts as a write if its operation is unknown, as empty if its length is
	// negative, and as the longest one, 1 GiB, if it is longer.
	Submit(now vtime.Instant, r Request) Completion
	// State returns the volume's state at now.
	State(now vtime.Instant) State
}

// A State is what a volume's own monitoring would report. Totals include submitted requests, which may
// be issued later than now.
type State struct {
	Submitted  [Ops]int64 // requests taken so far
	Operations int64      // charged so far
	Bytes      int64      // charged so far
	// HeldBy is the time that requests waited for each limit, summed over requests, with each part
	// of a wait under its reason. Under Degraded it is the latency in bad episodes; Unlimited stays
	// 0.
	HeldBy [Limits]units.Duration
	// Mattered reports which limits of the volume were ever the last that a request, or the first part of
	// one, waited for, and so decided when it passed. Raising any of the others would make no difference.
	Mattered [Limits]bool
	// Credits is the burst bucket's fill, 1 being full, the emptier one's if it has two; HasCredits says
	// whether there is one.
	Credits    units.Ratio
	HasCredits bool
	Degraded   bool // in a bad episode now
}

// Check reports a request that no block layer would submit.
func (r Request) Check(size units.Size) error {
	switch {
	case r.Op >= Ops:
		return fmt.Errorf("unknown operation %d", r.Op)
	case r.Op == Flush && r.Length == 0:
		return nil
	case r.Offset < 0 || r.Length <= 0:
		return fmt.Errorf("%s of %d bytes at %d", r.Op, r.Length, r.Offset)
	case size > 0 && r.Length > size-r.Offset:
		return fmt.Errorf("%s of %d bytes at %d is beyond the end of a volume of %s", r.Op, r.Length, r.Offset,
			size.Exact())
	}
	return nil
}
