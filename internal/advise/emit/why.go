package emit

import "strings"

// reasons say why one changes a value, by the end of its path: what it acts upon, not what it is to become. Files carry
// them beside the value. What is said of stalls was measured in the laboratory (docs/models.md) or is the engine's documentation.
var reasons = []struct{ path, why string }{
	{"host.dirty_background_bytes", "how much the page cache may hold before the kernel begins to write it out. A log's fdatasync waits behind what is being written out at once."},
	{"host.dirty_background_ratio", "the same as a share of memory, if no bytes are given."},
	{"host.dirty_bytes", "how much may be dirty before writers are made to wait."},
	{"host.dirty_ratio", "the same as a share of memory, if no bytes are given."},
	{"host.dirty_expire", "how old a dirty page gets before it is written out: all that was written in that time comes at once."},
	{"host.writeback_interval", "how often the kernel looks for such pages."},
	{"host.filesystem", "a file system is made once: another one takes a new volume."},
	{"host.instance", "the instance's own limits hold for all its volumes together."},
	{"host.memory", "the container's limit of memory: the engine's cache and the page cache share it."},
	{"wiredtiger.cache", "a cache too small for the working set has application threads evict; one too large leaves nothing to the page cache."},
	{"wiredtiger.eviction_target", "the share of the cache from which eviction works."},
	{"wiredtiger.eviction_trigger", "the share of the cache from which application threads must evict."},
	{"wiredtiger.eviction_dirty_target", "the share of dirty pages from which eviction writes: lower leaves less for a checkpoint to write at once."},
	{"wiredtiger.eviction_dirty_trigger", "the share of dirty pages from which application threads must write."},
	{"wiredtiger.eviction_updates_target", "the same for updates that are on no page yet. (WiredTiger 3.2.1, which is MongoDB 4.2's, has no such setting.)"},
	{"wiredtiger.eviction_updates_trigger", "the same for application threads. (Nor this one.)"},
	{"wiredtiger.eviction_checkpoint_target", "how far a checkpoint lets eviction clean first."},
	{"wiredtiger.eviction_threads_min", "threads that evict."},
	{"wiredtiger.eviction_threads_max", "threads that evict, at most."},
	{"wiredtiger.checkpoint", "the pause between checkpoints: shorter ones write less each, and more in all."},
	{"wiredtiger.io_capacity", "paces the engine's own writes, and hands them to the volume as they are made."},
	{"wiredtiger.journal_interval", "how long a write without j: true may be unsynced."},
	{"etcd.batch_interval", "how long puts are gathered before the database is committed, which is two fdatasyncs."},
	{"etcd.batch_limit", "how many are gathered at most."},
	{"etcd.heartbeat", "should be about the round trip between members."},
	{"etcd.election", "ten times the heartbeat: a member whose disk stalls longer loses the leadership."},
	{"etcd.snapshot_count", "entries between snapshots: fewer cost memory less and the disk more."},
	{"etcd.catchup_entries", "entries kept for slow followers: one further behind is sent the whole database."},
	{"etcd.quota", "how large the database may get before it takes no more writes."},
	{"postgres.shared_buffers", "the cache of pages: what is dirty in it a checkpoint writes."},
	{"postgres.max_connections", "transactions at once."},
	{"postgres.checkpoint_timeout", "longer means fewer checkpoints, less WAL (full-page images) and a longer recovery."},
	{"postgres.checkpoint_completion_target", "the share of the interval over which a checkpoint's writes are spread: unpaced they reach the volume at once."},
	{"postgres.checkpoint_flush_after", "has the kernel write out as the checkpoint goes, so that the fsync at its end finds little."},
	{"postgres.max_wal_size", "a checkpoint is requested when the WAL reaches about half of it, whatever the timeout."},
	{"postgres.min_wal_size", "WAL files kept for reuse: no new ones are allocated within it."},
	{"postgres.full_page_writes", "pages are logged whole at their first change after a checkpoint. Off risks torn pages after a crash."},
	{"postgres.wal_buffers", "the WAL's buffer."},
	{"postgres.synchronous_commit", "off acknowledges before the WAL is durable: a crash loses the last commits, not the database."},
	{"postgres.wal_writer_delay", "how often the WAL is synced for commits that do not wait."},
	{"postgres.commit_delay", "how long a flush waits for company."},
	{"postgres.commit_siblings", "how many others must be active for it to wait."},
	{"postgres.bgwriter_delay", "how often the background writer looks."},
	{"postgres.bgwriter_lru_maxpages", "how many pages it writes each time."},
	{"postgres.bgwriter_lru_multiplier", "how far ahead of the demand it writes."},
	{"postgres.bgwriter_flush_after", "has the kernel write out what the background writer wrote."},
	{"postgres.backend_flush_after", "has the kernel write out what backends wrote themselves."},
}

// why is the reason of a path; "" where none is known.
func why(path string) string {
	for _, r := range reasons {
		if strings.HasSuffix("."+path, "."+r.path) {
			return r.why
		}
	}
	return ""
}

// comments are a value's change and why, for the lines before it.
func (l *Layout) comments(path string) string {
	var b strings.Builder
	for _, line := range []string{l.because(path), why(path)} {
		if line != "" {
			b.WriteString("# " + line + "\n")
		}
	}
	return b.String()
}
