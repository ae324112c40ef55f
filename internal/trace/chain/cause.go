package chain

import (
	"cmp"
	"slices"
	"time"
)

// A CauseKind classifies what cost the time, regardless of the stage.
type CauseKind string

// The kinds of causes.
const (
	//
	Others      CauseKind = "behind" // a culprit's requests, lock or transaction
	TheDevice   CauseKind = "device"
	TheFlush    CauseKind = "device_flush"
	TheLimit    CauseKind = "cgroup_limit"
	Processor   CauseKind = "processor" // runnable, but waiting for a CPU
	TheKernel   CauseKind = "kernel"    // running, or between two steps
	NotKnown    CauseKind = "unexplained"
	NobodyKnown CauseKind = "queue" // behind requests whose owner was not seen
)

// A Cause accounts for a share of the slow calls' time.
type Cause struct {
	Kind CauseKind
	// Culprit is set for Others and TheLimit. Its process, thread and reason are those of the
	// largest part.
	Culprit  Culprit
	Time     time.Duration
	Share    float64
	Calls    int // upper bound on the calls affected
	Requests int
	Bytes    int64
}

// kindOf maps a stage to the kind of its cause. Stages that queue behind other requests depend on
// whether a culprit is known.
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

// Causes merges what each culprit cost over all stages, largest first.
func (r *Report) Causes() []Cause {
	type id struct {
		kind               CauseKind
		self               bool
		comm, file, cgroup string
		inode              uint64
	}

	at := map[id]int{}
	var out []Cause

	// Behind is sorted by time, so the largest part of a cause comes first and sets its reason.
	for i := range r.Behind {
		behind := &r.Behind[i]
		ident := id{kind: kindOf(behind)}
		var who Culprit

		// The reason and the IDs of process and thread are left out of the key: a program that
		// blocks calls by its reads and its syncs is one cause, not two.
		if ident.kind == Others || ident.kind == TheLimit {
			who = behind.Culprit
			// The files of one table are one cause.
			ident.self, ident.comm, ident.cgroup, ident.inode = who.Self, who.Comm, who.Cgroup, who.Inode
			ident.file = cmp.Or(who.Holds, who.File)
		}

		n, ok := at[ident]
		if !ok {
			n = len(out)
			at[ident] = n
			out = append(out, Cause{Kind: ident.kind, Culprit: who})
		}

		c := &out[n]
		c.Time += behind.Time
		c.Share += behind.Share

		// One call may be in several stages, so the sum would count it twice.
		c.Calls = max(c.Calls, behind.Calls)

		if ident.kind == Others {
			c.Requests += behind.Requests
			c.Bytes += behind.Bytes
		}
	}

	slices.SortStableFunc(out, func(a, b Cause) int { return cmp.Compare(b.Time, a.Time) })
	return out
}
