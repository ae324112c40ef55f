// Package worker runs MongoDB's real storage engine as a lab.Server.
//
// WiredTiger is a C library under the GPL, so it is not part of this program. It is in a separate
// program, plimsoll-wiredtiger (folder c, built by `make worker`), that opens a database and takes
// orders over a pipe:
//
//	Do -> frame -> pipe -> worker's queue -> a thread: one transaction -> flusher: one sync for all that wait -> frame -> Do
//
// The pipe carries only keys and sizes, about forty bytes per operation; the worker makes the
// documents from them. So the path costs little, and the lab's throughput is limited by the engine.
//
// # What it does like mongod
//
// The connection and the tables have mongod's settings unless the scenario has others; there are
// 128 tickets for reads and as many for writes; a write that waits for the journal waits outside of
// its transaction, for the journal flusher's next sync; a checkpoint begins a pause after the last
// one ended. An update or push reads its document, and passes the engine a difference (WT_MODIFY)
// by mongod's rule: the document is over 1 KiB, the change at most a tenth of it.
//
// In a replica set (oplog, the default) only the oplog is journaled, with each write's content.
// After a crash the documents are those of the last checkpoint, and the newer oplog entries are
// applied again. In standalone mode the documents themselves are journaled. With journal: false
// nothing is: a crash falls back to the last checkpoint.
//
// # What it leaves out
//
//   - BSON, the network, replication, timestamps and the history they keep, truncation of the oplog
//     between checkpoints
//   - settings that only the model has: CPU costs, and whether the kernel's page cache helps (here
//     the kernel decides)
//   - eviction_updates_*, which WiredTiger before 4.4's does not have; a message says so
//
// Compression below 100 % uses snappy, and documents are made so that about this share of their
// bytes is left. The engine then fills a leaf with up to four times leaf_page_max, so that it
// writes fewer and larger blocks: leaving half the bytes does not halve what an update of one
// document writes (3.2.1: 29 kB without, 44 to 60 kB with compression to 50 %).
package worker
