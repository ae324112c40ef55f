// Package volume is a cloud volume as a pure queue: a request and the time go in, the time at
// which it is done comes out.
//
// A volume that one rents is a promise of limits: so many operations and so many bytes a
// second, some of them lent from a bucket of credits, behind a network whose latency has a
// distribution. [Queue] is that promise as a state machine. It never sleeps and asks no
// clock, so the simulator can schedule its answers in virtual time and an emulated volume can
// wait until them in real time: the limits are written once.
//
// The order of service is the order of submission, which is what a token bucket with a queue
// behind it does. Waiting is therefore known at submission, and a simulated I/O costs no event.
// Three things come after each other:
//
//	submitted -> admitted   a slot of the block layer's queue was free ([Config.Slots])
//	admitted  -> issued     limits of the volume, then of the instance, let it pass
//	issued    -> done       the latency, drawn from a distribution, plus any bad episode
//
// What real products promise is not here but in package catalog; this package has mechanisms only.
package volume

import (
	"fmt"

	"plimsoll/internal/base/units"
	"plimsoll/internal/base/vtime"
)

// An Op is what a request does.
type Op uint8

// The operations. A Flush makes durable the writes that were done before it was submitted, not
// those still under way (NVM Command Set specification 1.0, 2021, Flush). It takes the flush
// latency, the time to empty a volatile cache, and waits for a slot but for no limit, nor is it
// charged, unless [Config.FlushIsOperation] says so: then it queues like a write.
const (
	Read Op = iota
	Write
	Flush
	Ops = 3 // how many there are, for arrays
)

// String is the operation's name in series and reports.
func (o Op) String() string { return [...]string{"read", "write", "flush"}[o] }

// A Request is one I/O as the block layer submits it.
type Request struct {
	Op     Op
	Offset units.Size // of its first byte on the volume
	Length units.Size // 0 for a flush
}

// A Limit is what held a request back: the last of the things it waited for.
type Limit uint8

// The limits, in the order in which a request meets them.
const (
	Unlimited          Limit = iota // it waited for nothing but the latency
	Slots                           // the block layer's queue was full
	VolumeIOPS                      // the volume's operations a second
	VolumeThroughput                // the volume's bytes a second
	VolumeCredits                   // the same, at the baseline, its burst credits being spent
	InstanceIOPS                    // the instance's operations a second, of all its volumes
	InstanceThroughput              // the instance's bytes a second
	InstanceCredits                 // the same, at the baseline, its burst being spent
	Degraded                        // a bad episode of the volume
	Limits             = 9          // how many there are, for arrays
)

// String is the limit's name in reports.
func (l Limit) String() string {
	return [...]string{
		"nothing", "queue slots", "volume IOPS", "volume throughput", "volume burst credits",
		"instance IOPS", "instance throughput", "instance burst credits", "degraded volume",
	}[l]
}

// A Completion tells when a request is done, and what it waited for.
type Completion struct {
	Admitted vtime.Instant // when its submitter can go on and submit the next
	Issued   vtime.Instant // when the limits let it pass, the last part of a split one
	Done     vtime.Instant
	// Operations is what it was charged: 4 for a write of 1,024 KiB where an operation
	// carries 256 KiB, 0 where it was merged into the one before it.
	Operations int64
	Held       Limit
}

// A Volume answers requests. Submissions come in the order of time: an instant before that of
// the last submission counts as that one. A Volume belongs to one goroutine, and so do all that
// share an [Instance].
type Volume interface {
	// Submit takes a request in at now. It takes any request without a panic: one that
	// [Request.Check] would refuse counts as a write if its operation is unknown, as empty if its
	// length is negative, and as the longest one, 1 GiB, if it is longer.
	Submit(now vtime.Instant, r Request) Completion
	// State tells how the volume stands at now.
	State(now vtime.Instant) State
}

// A State is what a volume's own monitoring would tell. Totals are of what was submitted, which
// may be issued later than now.
type State struct {
	Submitted  [Ops]int64 // requests taken in so far
	Operations int64      // charged so far
	Bytes      int64      // charged so far
	// HeldBy is the time requests waited for each limit, summed over requests, each part of a
	// wait under what it was for. Under Degraded it is the latency in bad episodes; Unlimited stays 0.
	HeldBy [Limits]units.Duration
	// Mattered says which limits of the volume a request, or the first part of one, ever waited for last, so which decided when it passed. All
	// those that never did could be higher, and nothing would be different.
	Mattered [Limits]bool
	// Credits is the burst bucket's fill, 1 full, and HasCredits whether there is one.
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
		return fmt.Errorf("%s of %d bytes at %d goes over the end of a volume of %s", r.Op, r.Length, r.Offset, size.Exact())
	}
	return nil
}
