package corerules

import (
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/trace/wait"
)

// A trace measures what slow calls wait for, request by request, while rules infer it from what
// happened at the same time. So if a trace ran in the stalled time, each rule's mechanism is
// compared with it: [Rule.Weigh].

// The mechanisms that several rules share.
var (
	// atDevice is a device that is slower than its load, whichever program causes the load.
	atDevice = &rules.Mechanism{Waits: []wait.Class{wait.Own, wait.Sync, wait.Flush, wait.Requests, wait.Journal,
		wait.Block, wait.Queue, wait.Throttle, wait.WBT, wait.Device, wait.Flushing}}
	// noDevice is the opposite.
	noDevice = &rules.Mechanism{Waits: atDevice.Waits, Without: true}
	// behindBuffered is waiting behind pages that were written into the page cache before.
	behindBuffered = &rules.Mechanism{Waits: []wait.Class{wait.Own, wait.Sync, wait.Flush, wait.Journal,
		wait.Throttle, wait.WBT}}
	// aboveDevice is waiting for something that holds requests back before they reach the device.
	aboveDevice  = &rules.Mechanism{Waits: []wait.Class{wait.Limit, wait.Block, wait.Throttle, wait.WBT}}
	cgroupLimit  = &rules.Mechanism{Waits: []wait.Class{wait.Limit, wait.Throttle}}
	forProcessor = &rules.Mechanism{Waits: []wait.Class{wait.CPU}}
)
