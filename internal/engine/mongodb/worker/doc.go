// Package worker is MongoDB's storage engine, really running: a lab.Server.
//
// WiredTiger is a C library under the GPL, so it is not in this program. It is in a program of its
// own, plimsoll-wiredtiger (folder c, made by `make worker`), that opens a database and does what
// it is told over a pipe:
//
//	Do -> frame -> pipe -> worker's queue -> a thread: one transaction -> flusher: a sync for all who wait -> frame -> Do
//
// What goes over the pipe are keys and sizes, some forty bytes an operation; documents are made of
// these in the worker. So the path costs little, and the limit of the laboratory is the engine's.
//
// # What it does as mongod
//
// The connection and the tables have mongod's settings where the scenario says nothing else; there
// are 128 tickets for reads and as many for writes; a write that waits for the journal waits
// outside of its transaction, for the journal flusher's next sync; a checkpoint begins a pause
// after the last one ended. An update or push reads its document, and hands the engine a difference
// (WT_MODIFY) by mongod's rule: the document is over 1 KiB, the change at most a tenth of it.
//
// In a replica set (oplog, the default) only the oplog is journaled, with what each write carries.
// After a crash the documents are those of the last checkpoint, and the oplog's newer entries are
// done again. Standing alone, documents are journaled themselves. With journal: false nothing is:
// after a crash there is the last checkpoint.
//
// # What it leaves out
//
//   - BSON, the network, replication, timestamps and the history they keep, truncation of the oplog between checkpoints
//   - settings of the model alone: the costs of a core, whether the kernel's page cache helps (here it is the kernel's)
//   - eviction_updates_*, which WiredTiger before 4.4's does not have: it says so
//
// Compression below 100 % asks for snappy, and documents are made so that about this share of their
// bytes is left. The engine then fills a leaf with up to four times leaf_page_max, so that fewer
// and larger blocks are written: half the bytes left does not halve what an update of one document
// writes (3.2.1: 29 kB without, 44 to 60 kB with compression to 50 %).
package worker
