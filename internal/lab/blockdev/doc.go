// Package blockdev makes a block device of the kernel out of an emulated disk, so that real file systems and real
// databases can lie on it.
//
// Three layers lie between: a file system in user space (FUSE) that shows one file, whose reads and writes are the
// disk's; a loop device over that file, with direct I/O and asynchronous requests, so that many are in flight at
// a time; and the queue settings of that device, made to look like the rented volume's: as many
// requests in flight, as large ones, a volatile cache or none. No kernel module beyond FUSE and loop is needed.
//
// The process that serves the disk must never wait for the device it serves: whoever makes the file system and
// mounts it may be the same process, since these are system calls on threads of their own, but what they write comes
// back to it.
//
// [Device.Detach] undoes it all in order. Where the process died instead, [Reap] does what is left to do.
package blockdev
