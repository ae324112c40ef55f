// Package wait has the words for what a slow call waited for. A trace measures by them, and the
// diagnosis weighs its rules by them.
package wait

// A Class is what a part of a call waited for. Each nanosecond of a call is in one of them.
type Class string

// The classes.
const (
	Own      Class = "own"      // its own pages or requests, ahead of what it waits for
	Sync     Class = "sync"     // pages that a sync of another file writes
	Flush    Class = "flush"    // pages that the kernel flushes
	Requests Class = "requests" // others' direct writes, reads and discards
	Journal  Class = "journal"  // the file system's log
	Lock     Class = "lock"
	Block    Class = "block_layer" // a scheduler or a free request, behind nobody that was seen
	Queue    Class = "queue"       // the device's queue, behind nobody that was seen
	Throttle Class = "dirty_throttle"
	WBT      Class = "writeback_throttling"
	Limit    Class = "cgroup_limit"
	Device   Class = "device"
	Flushing Class = "device_flush"
	CPU      Class = "processor"
	Kernel   Class = "kernel" // running, or between two steps
	Unknown  Class = "unexplained"
)

// KernelThreads is the program that all of the kernel's own threads are: jbd2, kworker, ext4lazyinit.
// They work for others, and nobody can give them a volume of their own.
const KernelThreads = "kernel"
