// Package model models InterSystems IRIS: reads that miss the global buffers go to the volume one
// by one, and every 80 seconds a write daemon writes all changed blocks to it twice.
//
// # The write daemon's cycle
//
// An update changes an 8 KB block in the global buffers and appends to the journal; no client waits
// for the block to be written. The write daemon writes blocks in cycles. It collects the blocks
// that are dirty when it wakes, a consistent subset while new dirty blocks accumulate behind it,
// and goes through these phases (numbered as mgstat's WDphase):
//
//	0     asleep until 80 s after its last start, or until too many buffers are dirty
//	1     woken
//	2-4   chooses the blocks while global updates pause, for a moment
//	5     writes them to the write image journal (WIJ): sequentially, 256 KB at a time; then marks it valid
//	6     syncs the journal
//	7     prepares the database writes
//	8     writes the same blocks to the databases, 8 KB each at random offsets, a bounded number
//	      at a time; then marks the WIJ as done with
//
// A crash in phase 8 is repaired from the WIJ, so no database write begins before the WIJ is
// durable. All this I/O is direct, without a page cache between the engine and the volume, so the
// effect of a cycle on reads is the queue of phase 8 in front of them on the same volume. That
// queue is as deep as the number of writes that the daemon keeps in flight, and drains at the
// volume's rate. So a stripe of volumes removes the spikes from read latency although one volume
// had enough IOPS on average.
//
// The journal is written sequentially: every 2 s, in each cycle, when its buffer is full, and at
// each commit if commits are synchronous.
//
// # Volumes
//
// "data" holds the databases, "wij" the WIJ, "journal" the journal. A missing volume falls back to
// "data".
//
// # Not modelled
//
//   - The adaptive cycle (wdcycle's four numbers): the interval is fixed.
//   - Temporary databases: iris_wd_temp_queue and iris_wd_temp_write report the blocks that a cycle
//     found and wrote.
//   - The B-tree: an operation touches one 8 KB block, its key modulo the number of blocks. No
//     pointer blocks, no splits, no growth; a scan reads one block.
//   - A volatile cache of the volume: what was written is durable when the write is done, as on cloud
//     volumes.
//   - The file system: databases, WIJ and journal are assumed to be preallocated, so that no metadata
//     is written.
//   - Copies of blocks changed while the daemon still has to write their older image: they cost no
//     buffers.
//   - ECP, mirroring, backups, WIJ compression, encryption, the journal's switch of files.
//   - What is assumed rather than documented: the WIJ's request size and depth, the daemon's writes
//     in flight, the share of dirty buffers that wakes it and the one that holds updates back, the
//     length of the pause, CPU costs.
package model
