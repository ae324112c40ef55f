// Package worker runs MongoDB's real storage engine as a lab.Server.
//
// WiredTiger is a C library under the GPL, so it is not part of this program. A separate program,
// plimsoll-wiredtiger (folder c, built by `make worker`), opens a database and takes requests over
// a pipe:
//
//	Do -> frame -> pipe -> worker's queue -> a thread: one transaction -> flusher: one sync for all that wait -> frame -> Do
//
// The pipe carries only keys and sizes, about forty bytes per operation; the worker makes the
// documents from them. So the path costs little, and the engine limits the lab's throughput.
//
// # Similarities to mongod
//
// The connection and the tables have mongod's settings unless the scenario has others. There are
// 128 tickets for reads and as many for writes. A write that waits for the journal waits outside
// its transaction, for the journal flusher's next sync. A checkpoint begins a pause after the
// previous one ended. An update or push reads its document and passes the engine a difference
// (WT_MODIFY) by mongod's rule: if the document is over 1 KiB and the change at most a tenth of it.
//
// In a replica set (oplog, the default) only the oplog is journaled, with each write's content.
// After a crash the documents are those of the last checkpoint, and the newer oplog entries are
// reapplied. In standalone mode the documents themselves are journaled. With journal: false nothing
// is, and a crash falls back to the last checkpoint.
//
// # Not supported
//
//   - BSON, the network, replication, timestamps and the history they keep, truncation of the oplog
//     between checkpoints
//   - settings that only the model has: CPU costs, and whether the kernel's page cache helps (here
//     the kernel decides)
//   - eviction_updates_*, which WiredTiger versions older than MongoDB 4.4's do not have; a message reports
//     this
//
// Compression below 100 % uses snappy, and documents are made so that about this share of their
// bytes is left. The engine then fills a leaf with up to four times leaf_page_max, so it writes
// fewer and larger blocks: halving the bytes does not halve what an update of one document writes
// (3.2.1: 29 kB without compression, 44 to 60 kB with compression to 50 %).
package worker
