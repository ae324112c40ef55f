// Package wait defines the vocabulary for what a slow call waited for. A trace measures in these
// terms, and the diagnosis weighs its rules by them.
package wait

// A Class is what a part of a call waited for. Each nanosecond of a call belongs to exactly one.
type Class string

// The classes.
const (
	Own      Class = "own"      // its own earlier pages or requests
	Sync     Class = "sync"     // pages written by a sync of another file
	Flush    Class = "flush"    // pages that the kernel writes back
	Requests Class = "requests" // direct writes, reads and discards by others
	Journal  Class = "journal"  // the file system's log
	Lock     Class = "lock"
	Block    Class = "block_layer" // a scheduler or a free request, with no known culprit
	Queue    Class = "queue"       // the device's queue, with no known culprit
	Throttle Class = "dirty_throttle"
	WBT      Class = "writeback_throttling"
	Limit    Class = "cgroup_limit"
	Device   Class = "device"
	Flushing Class = "device_flush"
	CPU      Class = "processor"
	Kernel   Class = "kernel" // running, or between two steps
	Unknown  Class = "unexplained"
)

// KernelThreads stands for all kernel threads as one program: jbd2, kworker, ext4lazyinit. They
// work on behalf of others, so users cannot move them to a separate volume.
const KernelThreads = "kernel"
