// Package probe measures a real device under the shapes of I/O that databases make, all at once,
// and says whose fault a slow write-ahead log is.
//
// A benchmark that runs one stream alone tells what a device can do, not what a database will feel:
// the log's fdatasync of 0.7 ms becomes 80 ms when a checkpoint writes, and only then. So a probe
// is staged. The stream that matters (a log's appends, say) runs alone first, then with each
// companion in turn, then with all of them. What its p99 is alone, and what it is while a companion
// writes, tells who is to blame.
//
//	profile -> stages -> streams -> files in a folder of their own, gone at any end
//	                        |
//	                 Distribution by stage, and by whether each companion was on
//
// Streams with a rate are open loops: operations are due at times that do not wait for the device,
// and count from when they were due. A stall is then felt by everybody who came during it, as in
// production. Streams without a rate are closed loops, as fio's are without rate_iops.
//
// How I/O is made is the simplest that keeps up with fio: one thread of the kernel a stream. One
// operation in flight is pread or pwrite; more are Linux' asynchronous I/O (io_submit, fio's
// libaio) past the page cache. Buffered writes have one in flight, since the page cache takes them
// one by one.
//
// Files are unlinked as soon as they are open: whatever ends the process, SIGKILL too, the space is
// free again.
package probe
