// Package model models MongoDB's storage engine: what it keeps in its cache, when it writes it out,
// and what a write waits for.
//
// A write changes a document on a leaf page in the cache and appends a record to the log. It is
// acknowledged when an fdatasync has made the record durable; writers that arrive while one is in
// progress share the next. Changed pages are dirty. When dirty pages exceed a target, eviction
// threads write them out; when the cache is full, clean pages are dropped. Above a trigger, the
// application's own threads have to help. A checkpoint writes every dirty page and then syncs the
// files.
//
// A page is written whole, however little of it changed, and to a new place; this is the write
// amplification. It goes into the kernel's page cache (package kernel). From there it reaches the
// volume half a minute later, or all in one go with the checkpoint's fdatasync, and a log on the
// same volume waits behind it. This, and not eviction, caused the measured stalls of seconds.
//
// # Sources of the parameters
//
// Sizes, targets, triggers, threads and intervals are the defaults of WiredTiger and mongod
// (WiredTiger's configuration reference, 11.3; mongod 8.0), named at each field. Parameters that no
// documentation contains were fitted to ten measured runs of WiredTiger 3.2.1 and 11.3.1 on a throttled
// volume (1 GB cache, 150,000 documents of 4 KB, 800 updates/s): the pages an eviction thread can handle per
// second, and the CPU time of an operation and of writing a page. So on these ten runs the model's absolute
// figures are calibrated, but their order is not. The test prints them next to the measured ones.
//
// # Not modelled
//
//   - locks of a checkpoint's prepare phase, and of the schema; hazard pointers; contention for a
//     page
//   - internal pages except for a share of bytes; splits; the history store (old versions read by
//     long transactions); the variance of compression: a ratio stands for it
//   - reads of a page from the kernel's page cache: the cached share is estimated from the memory
//     that the cache leaves, evenly over pages
//   - replication: write concern's wait for other members; the oplog's own writes are modelled
//   - the log's slots: one buffer, no limit of 128 slots; log files are not made in advance
//   - adaptive tickets (7.0): the number of connections bounds what is in the engine
package model
