package chain

import "plimsoll/internal/trace/wait"

// byStage maps the stages that determine the wait regardless of the culprit.
var byStage = map[Stage]wait.Class{
	DeviceOwn: wait.Device, DeviceFlush: wait.Flushing, WBT: wait.WBT, CgroupWait: wait.Limit,
	Throttle: wait.Throttle,
	Runnable: wait.CPU, Running: wait.Kernel, Submission: wait.Kernel, Completion: wait.Kernel,
	Unexplained: wait.Unknown,
}

// byReason maps the remaining waits by the reason for the requests that were ahead.
var byReason = map[Why]wait.Class{
	WhyFsync:      wait.Sync,
	WhyBackground: wait.Flush, WhyPeriodic: wait.Flush, WhySyncAll: wait.Flush, WhyReclaim: wait.Flush,
	WhyOtherFlush: wait.Flush,
	WhyDirect:     wait.Requests, WhyRead: wait.Requests, WhyDiscard: wait.Requests,
	WhyJournal: wait.Journal, WhyLog: wait.Journal, WhyMetadata: wait.Journal, WhyFlush: wait.Journal,
	WhyHandle: wait.Journal,
	WhyLock:   wait.Lock,
}

// WaitOf classifies the part of a segment behind one culprit, or without any.
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

	// The culprit is unknown, so report only the stage.
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
