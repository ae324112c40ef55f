// Package blockdev turns an emulated disk into a kernel block device, for real file systems
// and real databases.
//
// There are three layers: a user-space file system (FUSE) with one file, whose reads and writes go
// to the disk; a loop device over that file, with direct and asynchronous I/O so that many requests
// are in flight; and the queue settings of that device, which mimic the rented volume's: the number
// and size of requests in flight, and whether there is a volatile cache. FUSE and loop are the only
// kernel modules it needs.
//
// The process that serves the disk must never wait for the device it serves. It may create and
// mount the file system, because these system calls run on separate threads, but what they write
// comes back to the same process.
//
// [Device.Detach] undoes everything in order. If the process died before that, [Reap] cleans up.
package blockdev
