// Package model models PostgreSQL 15: what a commit waits for, and what a checkpoint does to it.
//
// A transaction changes pages in shared buffers and describes the change in the write-ahead log. It
// is acknowledged when the log up to its commit is durable. One fdatasync serves everybody who
// waits (group commit), and one is in progress at a time. The changed pages stay dirty. Every
// checkpoint_timeout, or when the log has grown by its share of max_wal_size, a checkpoint writes
// the pages that were dirty when it began, through the operating system's page cache, and ends with
// an fsync of each file it touched. Two settings decide what the volume sees:
//
//   - checkpoint_completion_target spreads the writes over a share of the interval;
//   - checkpoint_flush_after hands them to the volume as they are written (sync_file_range).
//
// Without both, everything waits in the page cache for the fsync at the end and then in the
// volume's queue, and the fdatasync of the next commit waits behind it. That is the stall.
//
// The log pays for checkpoints too. So that a page torn by a crash can be restored, the first
// change of each page after a checkpoint began logs the whole page. With random updates, nearly
// every change is the first one, nearly all of the log is such images, and more frequent
// checkpoints write more of them: the opposite of what the name suggests.
//
// The log consists of segments of 16 MiB. A checkpoint turns old ones into later ones. A commit
// that reaches the end of the last one makes a new one first, of zeros, with an fsync, and all
// others wait: a third of a second on a volume of 48 MB/s. That is the stall of a server that was
// just loaded, before its first whole checkpoint; see [Config.JustLoaded].
//
// # A transaction
//
// An update is pgbench's "simple update" (-N): one row of accounts changes, one row goes into
// history ([Config.HistoryRow]; 0 leaves it out). It reads the leaf of the index and the page of
// the row. If the page has room, the new version stays in it (a heap-only tuple) and nothing else
// changes. If it has none, which with a fill factor of 100 % is so until its first update, the new
// version goes to the table's last page and the index leaf changes too: two random dirty pages and
// two images instead of one. An insert appends a row and enters it in the index; a push (growth of
// a document) is an update; a read changes nothing.
//
// Pages that are not in shared buffers replace a victim of the clock sweep. The transaction itself
// first writes a dirty victim, the "backend write", unless the background writer was there before
// it.
//
// # Start
//
// The model starts as if a checkpoint had just ended, with shared buffers filled: the index first,
// then the table, evenly. The table is as it was loaded: no row has been updated yet. So with a
// fill factor of 100 %, the first minutes change the index more than later ones do, as in a
// benchmark on a fresh database.
//
// # What it leaves out
//
//   - Locks of rows, of buffers' contents and of relation extension; WAL insertion locks.
//   - Autovacuum, pruning records, the visibility map, the commit log, hint bits.
//   - Index levels above the leaves, which stay in memory, and splits of leaves by updates.
//   - For its next reader, a row that moved is still where it was.
//   - The end of a segment of the log costs no fsync of its own. wal_sync_method is fdatasync;
//     wal_recycle and wal_init_zero are on.
//   - sync_file_range blocks if a device's queue is full; here it does not.
//   - The sizes that operations carry: rows have the size configured. A scan reads one page.
//   - Rows larger than a quarter of a page (TOAST), replication, archiving, temporary files.
//   - Requests to fsync that do not fit the checkpointer's queue: backends never fsync files.
//
// # How far off it is
//
// Compared with a real PostgreSQL 15 under pgbench -N (TestOracle prints the table): pages, images
// and log of a checkpoint are within 3 %, its sync phase is 0.7 to 1.0 times as long, and the p99
// of an unpaced run is 1.7 to 2.0 times as large, or 3.4 times if the volume's queue is unbounded.
// A paced run's p99 is 0.5 ms here and was 5 ms there, on two cores that other programs used too:
// what a busy scheduler adds is not in the model, so a p99 below ten milliseconds is a lower bound.
//
// # Where its figures are from
//
// Settings and their defaults: PostgreSQL 15 documentation, chapter 20. The pacing of checkpoints,
// the clock sweep and the background writer's estimate: PostgreSQL 15 source, checkpointer.c,
// freelist.c, bufmgr.c. Sizes of rows, index entries and log records: its documentation, chapters
// 73 and 67, and the pgbench tables they give (61 rows of accounts per page, 366 entries per leaf).
// What a transaction and a page cost in CPU is measured or assumed, as the constants say. No
// parameter was fitted to latencies.
package model
