// Package blockdev makes a block device of the kernel out of an emulated disk, for real file
// systems and real databases.
//
// There are three layers: a file system in user space (FUSE) with one file, whose reads and writes
// are the disk's; a loop device over that file, with direct I/O and asynchronous requests, so that
// many are in flight; and the queue settings of that device, which mimic the rented volume's: the
// number and size of requests in flight, and whether there is a volatile cache. It needs no kernel
// modules but FUSE and loop.
//
// The process that serves the disk must never wait for the device it serves. The same process may
// make the file system and mount it, because these are system calls on threads of their own, but
// what they write comes back to it.
//
// [Device.Detach] undoes everything in order. If the process died instead, [Reap] does the rest.
package blockdev
