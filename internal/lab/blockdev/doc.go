// Package blockdev makes a block device of the kernel out of an emulated disk, for real file
// systems and real databases.
//
// There are three layers: a file system in user space (FUSE) with one file, whose reads and writes
// are the disk's; a loop device over that file, with direct I/O and asynchronous requests, so that
// many are in flight; and the queue settings of that device, set to look like the rented volume's:
// as many requests in flight, as large ones, with or without a volatile cache. No kernel module
// beyond FUSE and loop is needed.
//
// The process that serves the disk must never wait for the device it serves. The same process may
// make the file system and mount it, because these are system calls on threads of their own, but
// what they write comes back to it.
//
// [Device.Detach] undoes it all in order. If the process died instead, [Reap] does what is left to
// do.
package blockdev
