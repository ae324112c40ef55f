// Package model models PostgreSQL 15: what a commit waits for, and what a checkpoint does to it.
//
// A transaction changes pages in shared buffers and describes the change in the write-ahead log. It
// is acknowledged when the log is durable up to its commit. One fdatasync serves all waiting
// commits (group commit), and only one is in progress at a time. The changed pages stay dirty.
// Every checkpoint_timeout, or when the log has grown by its share of max_wal_size, a checkpoint
// writes the pages that were dirty when it began, through the operating system's page cache, and
// ends with an fsync of each file it touched. Two settings decide what the volume sees:
//
//   - checkpoint_completion_target spreads the writes over a share of the interval;
//   - checkpoint_flush_after passes them to the volume as they are written (sync_file_range).
//
// Without both, everything waits in the page cache for the final fsync and then in the volume's
// queue, and the fdatasync of the next commit waits behind it. That is the stall.
//
// Checkpoints also cost log. The first change to each page after a checkpoint begins logs the whole
// page, so that a page torn by a crash can be restored. With random updates nearly every change is
// the first one, and nearly all of the log consists of such images. So more frequent checkpoints
// write more.
//
// The log consists of segments of 16 MiB. A checkpoint recycles old ones. A commit that reaches the
// end of the last segment first has to create a new one, filled with zeros and fsynced, while all
// others wait: a third of a second on a volume of 48 MB/s. That is the stall of a freshly loaded
// server before its first complete checkpoint; see [Config.JustLoaded].
//
// # A transaction
//
// An update is pgbench's "simple update" (-N): it changes one row of accounts and inserts one row
// into history ([Config.HistoryRow]; 0 leaves it out). It reads the index leaf and the row's page.
// If the page has room, the new version stays in it (a heap-only tuple) and nothing else changes.
// If it has none (with a fill factor of 100 % until the page's first update), the new version goes
// to the table's last page and the index leaf changes too: two random dirty pages and two images
// instead of one. An insert appends a row and adds it to the index; a push (growth of a document)
// is an update; a read changes nothing.
//
// A page that is not in shared buffers replaces a victim of the clock sweep. If the victim is
// dirty, the transaction first writes it itself (a "backend write"), unless the background writer
// has done so.
//
// # Start
//
// The model starts as if a checkpoint had just ended, with shared buffers filled: first the index,
// then the table, evenly. The table is freshly loaded: no row has been updated yet. So with a fill
// factor of 100 %, the first minutes change the index more than later ones, as in a benchmark on a
// fresh database.
//
// # Not modelled
//
//   - Row locks, buffer content locks, relation extension locks and WAL insertion locks.
//   - Autovacuum, pruning records, the visibility map, the commit log, hint bits.
//   - Index levels above the leaves, which stay in memory, and leaf splits by updates.
//   - Moved rows: the next reader still finds a row where it was.
//   - The fsync at the end of each log segment. wal_sync_method is fdatasync; wal_recycle and
//     wal_init_zero are on.
//   - The blocking of sync_file_range if a device's queue is full.
//   - Sizes of individual operations: all rows have the configured size. A scan reads one page.
//   - Rows larger than a quarter of a page (TOAST), replication, archiving, temporary files.
//   - fsync requests that overflow the checkpointer's queue: backends never fsync files.
//
// # Accuracy
//
// Compared with a real PostgreSQL 15 under pgbench -N (TestOracle prints the table): pages, images
// and log of a checkpoint are within 3 %, its sync phase is 0.7 to 1.0 times as long, and the p99
// of an unpaced run is 1.7 to 2.0 times as large, or 3.4 times if the volume's queue is unbounded.
// A paced run's p99 is 0.5 ms in the model and was 5 ms on the real server, on two cores shared
// with other programs. The model does not include the delays of a busy scheduler, so a p99 below
// ten milliseconds is a lower bound.
//
// # Sources
//
// Settings and defaults: PostgreSQL 15 documentation, chapter 20. Checkpoint pacing, clock sweep
// and the background writer's estimate: PostgreSQL 15 source, checkpointer.c, freelist.c, bufmgr.c.
// Sizes of rows, index entries and log records: documentation, chapters 73 and 67, and the
// resulting pgbench tables (61 rows of accounts per page, 366 entries per leaf). The CPU costs of a
// transaction and a page are measured or assumed, as the constants say. No parameter was fitted to
// latencies.
package model
