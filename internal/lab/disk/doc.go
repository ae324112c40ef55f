// Package disk is an emulated disk: an image in this process's memory or in a file that answers
// requests when a rented volume would.
//
// A request's completion time comes from package volume, the same code that the simulator runs in
// virtual time; here the caller really waits. A [Disk] submits each request to its volume in real
// time as it arrives, copies the data, and returns at the instant that the volume computed. Limits,
// credits, bad episodes, stripes and limits shared by the volumes of an instance are therefore the
// same in both, and implemented only once.
//
// The difficult part is precise waiting. A sleeping Go program wakes up a millisecond late. So one
// thread, which sleeps in the kernel with nanosecond timers and polls the clock for the last few
// microseconds, wakes all requests of a [Host]. The path to the disk and back also takes time,
// which is subtracted from the wait ([Options.Path]). The lateness of answers is recorded, and a
// disk that cannot keep up reports it ([Stats.Saturated]): a laptop cannot emulate a volume of
// 100,000 IOPS or 50 us.
//
// [Disk.Cut] emulates a power loss. It keeps, tears or drops, at random, the writes that are not
// durable. On a disk with a volatile cache, a write becomes durable when a later flush completes.
// Without one, as on rented volumes, it is durable on completion, so only writes in flight are at
// risk (the kernel's page cache is lost in both cases, because nothing can be written any more).
//
// Nothing here depends on the kernel; package blockdev turns a disk into a block device.
package disk
