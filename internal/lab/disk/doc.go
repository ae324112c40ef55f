// Package disk is an emulated disk: an image in this process' memory or in a file, that answers a
// request when a rented volume would.
//
// The completion time of a request comes from package volume, the same code that the simulator runs
// in virtual time; here the caller really waits. A [Disk] submits a request to its volume as soon
// as it arrives, in real time, copies the data, and returns at the instant that the volume named.
// So limits, credits, bad episodes, stripes and limits shared by the volumes of an instance are the
// same in both, and none of it is written twice.
//
// The difficulty is waiting exactly. A sleeping Go program wakes a millisecond late. So one thread,
// which sleeps in the kernel with nanosecond timers and polls the clock for the last few
// microseconds, wakes all requests of a [Host]. The path to the disk and back takes time as well,
// which is subtracted from the wait ([Options.Path]). The lateness of the answers is counted, and a
// disk that cannot keep up reports it ([Stats.Saturated]): a volume of 100,000 IOPS or of 50 us
// cannot be emulated on a laptop.
//
// [Disk.Cut] emulates a power loss. It keeps, tears or drops at random what was written and is not
// durable. On a disk with a volatile cache, a write is durable when a later flush is done. On one
// without, like rented volumes, it is durable when it is done itself, so only what was in flight is
// at risk (the kernel's page cache is lost in both cases, because nothing can be written any more).
//
// Nothing here depends on the kernel: package blockdev makes a block device of a disk.
package disk
