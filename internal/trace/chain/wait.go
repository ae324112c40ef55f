package chain

// A Wait is what a part of a call waited for, in classes that a diagnosis counts. Each nanosecond of
// a call is in one of them.
type Wait string

// The waits.
const (
	WaitOwn      Wait = "own"      // its own pages or requests, ahead of what it waits for
	WaitSync     Wait = "sync"     // pages that a sync of another file writes
	WaitFlush    Wait = "flush"    // pages that the kernel flushes
	WaitRequests Wait = "requests" // others' direct writes, reads and discards
	WaitJournal  Wait = "journal"  // the file system's log
	WaitLock     Wait = "lock"
	WaitBlock    Wait = "block_layer" // a scheduler or a free request, behind nobody that was seen
	WaitQueue    Wait = "queue"       // the device's queue, behind nobody that was seen
	WaitThrottle Wait = "dirty_throttle"
	WaitWBT      Wait = "writeback_throttling"
	WaitLimit    Wait = "cgroup_limit"
	WaitDevice   Wait = "device"
	WaitFlushing Wait = "device_flush"
	WaitCPU      Wait = "processor"
	WaitKernel   Wait = "kernel" // running, or between two steps
	WaitUnknown  Wait = "unexplained"
)

// byStage are the stages that are a wait of their own, whoever was in the way.
var byStage = map[Stage]Wait{
	DeviceOwn: WaitDevice, DeviceFlush: WaitFlushing, WBT: WaitWBT, CgroupWait: WaitLimit, Throttle: WaitThrottle,
	Runnable: WaitCPU, Running: WaitKernel, Submission: WaitKernel, Completion: WaitKernel, Unexplained: WaitUnknown,
}

// byReason are the waits behind somebody, by the reason of what was in the way.
var byReason = map[Why]Wait{
	WhyFsync:      WaitSync,
	WhyBackground: WaitFlush, WhyPeriodic: WaitFlush, WhySyncAll: WaitFlush, WhyReclaim: WaitFlush, WhyOtherFlush: WaitFlush,
	WhyDirect: WaitRequests, WhyRead: WaitRequests, WhyDiscard: WaitRequests,
	WhyJournal: WaitJournal, WhyLog: WaitJournal, WhyMetadata: WaitJournal, WhyFlush: WaitJournal, WhyHandle: WaitJournal,
	WhyLock: WaitLock,
}

// WaitOf is the wait of a part of a segment: that behind a culprit, or, with none, the rest.
func WaitOf(s Stage, who Culprit) Wait {
	if w, ok := byStage[s]; ok {
		return w
	}
	if who.Self {
		return WaitOwn
	}
	if w, ok := byReason[who.Why]; ok {
		return w
	}
	switch s {
	case Scheduler, TagWait:
		return WaitBlock
	case LockWait:
		return WaitLock
	case HandleWait:
		return WaitJournal
	}
	return WaitQueue
}

// Waits are all of them.
func Waits() []Wait {
	return []Wait{WaitOwn, WaitSync, WaitFlush, WaitRequests, WaitJournal, WaitLock, WaitBlock, WaitQueue, WaitThrottle, WaitWBT, WaitLimit,
		WaitDevice, WaitFlushing, WaitCPU, WaitKernel, WaitUnknown}
}
