package chain

import "plimsoll/internal/trace/wait"

// byStage are the stages that are a wait of their own, whoever was in the way.
var byStage = map[Stage]wait.Class{
	DeviceOwn: wait.Device, DeviceFlush: wait.Flushing, WBT: wait.WBT, CgroupWait: wait.Limit,
	Throttle: wait.Throttle,
	Runnable: wait.CPU, Running: wait.Kernel, Submission: wait.Kernel, Completion: wait.Kernel,
	Unexplained: wait.Unknown,
}

// byReason are the waits behind somebody, by the reason of what was in the way.
var byReason = map[Why]wait.Class{
	WhyFsync:      wait.Sync,
	WhyBackground: wait.Flush, WhyPeriodic: wait.Flush, WhySyncAll: wait.Flush, WhyReclaim: wait.Flush,
	WhyOtherFlush: wait.Flush,
	WhyDirect:     wait.Requests, WhyRead: wait.Requests, WhyDiscard: wait.Requests,
	WhyJournal: wait.Journal, WhyLog: wait.Journal, WhyMetadata: wait.Journal, WhyFlush: wait.Journal,
	WhyHandle: wait.Journal,
	WhyLock:   wait.Lock,
}

// WaitOf is the wait of a part of a segment: that behind a culprit, or, with none, the rest.
func WaitOf(s Stage, who Culprit) wait.Class {
	if w, ok := byStage[s]; ok {
		return w
	}
	if who.Self {
		return wait.Own
	}

	if w, ok := byReason[who.Why]; ok {
		return w
	}

	switch s {
	case Scheduler, TagWait:
		return wait.Block
	case LockWait:
		return wait.Lock
	case HandleWait:
		return wait.Journal
	}

	return wait.Queue
}
