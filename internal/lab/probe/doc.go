// Package probe measures a real device under the I/O that databases make, with all streams running
// together, and finds out which stream makes a write-ahead log slow.
//
// A benchmark with a single stream shows what a device can do, not what a database will experience:
// the log's fdatasync of 0.7 ms becomes 80 ms, but only while a checkpoint writes. So a probe has
// stages. The stream that matters (a log's appends, say) runs alone first, then with each companion
// in turn, then with all of them. Its p99 alone, and while a companion writes, shows which one is
// to blame.
//
//	profile -> stages -> streams -> files in a separate folder, always removed
//	                        |
//	                 Distribution by stage, and by whether each companion was on
//
// Streams with a rate are open loops: operations are due at times that do not depend on the device,
// and their latency counts from then. So a stall delays every operation due during it, as in
// production. Streams without a rate are closed loops, like fio's without rate_iops.
//
// I/O uses the simplest means that keeps up with fio: one kernel thread per stream. A single
// operation in flight is pread or pwrite; several are Linux' asynchronous I/O (io_submit, fio's
// libaio) past the page cache. Buffered writes have one in flight, because the page cache takes
// them one by one.
//
// Files are unlinked as soon as they are open: however the process ends, even by SIGKILL, the space
// is free again.
package probe
