package chain

import (
	"cmp"
	"slices"
	"time"
)

// A CauseKind is what sort of thing cost the time, whatever stage it was at.
type CauseKind string

// The kinds of causes.
const (
	Others      CauseKind = "behind" // a culprit's requests, lock or transaction
	TheDevice   CauseKind = "device"
	TheFlush    CauseKind = "device_flush"
	TheLimit    CauseKind = "cgroup_limit"
	Processor   CauseKind = "processor" // runnable, but without one
	TheKernel   CauseKind = "kernel"    // running, or between two steps
	NotKnown    CauseKind = "unexplained"
	NobodyKnown CauseKind = "queue" // behind requests that nobody was seen to make
)

// A Cause is what cost a share of the slow calls' time.
type Cause struct {
	Kind CauseKind
	// Culprit is who was in the way, for Others. Its process and thread are those of the largest
	// part, and so is its reason.
	Culprit  Culprit
	Time     time.Duration
	Share    float64
	Calls    int // in how many calls at most
	Requests int
	Bytes    int64
}

// kindOf is a stage's kind of cause.
func kindOf(b *Behind) CauseKind {
	switch b.Stage {
	case DeviceOwn:
		return TheDevice
	case DeviceFlush:
		return TheFlush
	case CgroupWait:
		return TheLimit
	case Runnable:
		return Processor
	case Running, Submission, Completion:
		return TheKernel
	case Unexplained:
		return NotKnown
	}

	if b.Culprit == (Culprit{}) {
		return NobodyKnown
	}

	return Others
}

// Causes joins what one culprit cost at all stages, the greatest first.
func (r *Report) Causes() []Cause {
	type id struct {
		kind               CauseKind
		self               bool
		comm, file, cgroup string
		inode              uint64
	}

	at := map[id]int{}
	var out []Cause
	for i := range r.Behind { // the greatest first, so it decides about the reason
		b := &r.Behind[i]
		k := id{kind: kindOf(b)}
		var who Culprit

		if k.kind == Others || k.kind == TheLimit {
			who = b.Culprit
			k.self, k.comm, k.file, k.cgroup, k.inode = who.Self, who.Comm, who.File, who.Cgroup, who.Inode
		}

		n, ok := at[k]
		if !ok {
			n = len(out)
			at[k] = n
			out = append(out, Cause{Kind: k.kind, Culprit: who})
		}

		c := &out[n]
		c.Time += b.Time
		c.Share += b.Share
		c.Calls = max(c.Calls, b.Calls)

		if k.kind == Others {
			c.Requests += b.Requests
			c.Bytes += b.Bytes
		}
	}

	slices.SortStableFunc(out, func(a, b Cause) int { return cmp.Compare(b.Time, a.Time) })
	return out
}
