// Package probe measures a real device under the I/O patterns of databases, with all streams
// running together, and determines which stream makes a write-ahead log slow.
//
// A benchmark with a single stream shows what a device can do, not what a database will experience:
// the log's fdatasync of 0.7 ms becomes 80 ms, but only while a checkpoint writes. So a probe has
// stages. The stream that matters (for example, a log's appends) runs alone first, then with each
// companion in turn, then with all of them. Comparing its p99 alone with its p99 while a companion
// writes shows which one is to blame.
//
// \tprofile -> stages -> streams -> files in a separate folder, always removed
// \t                        |
// \t                 Distribution by stage, and by whether each companion was on
//
// Streams with a rate are open loops: operations are due at times that do not depend on the device,
// and their latency counts from then. A stall therefore delays every operation due during it, as in
// production. Streams without a rate are closed loops, like fio's without rate_iops.
//
// I/O uses the simplest method that keeps up with fio: one kernel thread per stream. A stream with
// a single operation in flight uses pread or pwrite; with several, Linux's asynchronous I/O
// (io_submit, fio's libaio), bypassing the page cache. Buffered writes have only one in flight,
// because the page cache accepts them one at a time.
//
// Files are unlinked as soon as they are open, so however the process ends, even by SIGKILL, the
// space is freed.
package probe
