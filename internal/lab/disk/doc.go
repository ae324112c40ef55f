// Package disk is an emulated disk: an image in this process' memory or in a file, that answers a request when
// a rented volume would.
//
// The time at which a request is done comes from package volume, the same code that the simulator runs in
// virtual time; here somebody waits for it. A [Disk] submits a request to its volume the moment it comes, in real
// time, copies the data, and returns at the instant the volume named. So limits, credits, bad episodes, stripes
// and what volumes of an instance share hold here as they do there, and nothing about them is written twice.
//
// Waiting exactly is the craft. A sleeping Go program wakes a millisecond late; so one thread, which sleeps in
// the kernel with nanosecond timers and looks at the clock for the last few microseconds, wakes all requests
// of a [Host]. The way to the disk and back takes time as well; that is taken off what is waited
// ([Options.Path]). How late the answers were is counted, and a disk that cannot keep its promise says so
// ([Stats.Saturated]) rather than pretending: a volume of 100,000 IOPS or of 50 us is not emulated on a laptop.
//
// A loss of power can be had: [Disk.Cut]. What was written and not made durable is then kept, torn or lost by
// chance. On a disk with a volatile cache a write is durable when a flush that came after it is done; on one
// without, as rented volumes are, when it is done itself, so only what was in flight is at stake (the kernel's page
// cache is lost in both cases, since nothing can be written any more).
//
// Nothing here knows of the kernel: package blockdev makes a block device of a disk.
package disk
