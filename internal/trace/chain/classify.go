package chain

import (
	"strings"

	"plimsoll/internal/trace/events"
)

// A class is what a thread waits for, by where in the kernel it sleeps.
type class uint8

const (
	unknownWait class = iota
	pageWait          // pages under writeback
	commitWait        // ext4's journal has to commit
	handleWait        // ext4's journal takes no change at the moment
	journalFull
	orderedWait // the journal's thread: data first
	blockWait   // the journal's thread: its own blocks
	updatesWait // the journal's thread: open handles
	logWait     // XFS's log
	logSpace
	dirtyWait // balance_dirty_pages
	tagWait
	wbtWait
	cgroupWait
	flushWait
	requestWait // a request of its own
	readWait
	metadataWait
	lockWait
	workWait // for a kernel's worker
)

// A sign is a function that tells a class if it is in a stack.
type sign struct {
	function string // its name, or its beginning if it ends with *
	class    class
}

// signs decide in this order: the block layer's own waits first, which happen within all others, then
// the file systems', whose functions call the general ones, then those. The names are of Linux 5.10
// to 6.18.
var signs = []sign{
	{"wbt_wait", wbtWait},
	{"__wbt_wait", wbtWait},
	{"ioc_rqos_throttle", cgroupWait},
	{"blkcg_iolatency_throttle", cgroupWait},
	{"blkcg_maybe_throttle_current", cgroupWait},
	{"rq_qos_wait", wbtWait},
	{"blk_mq_get_tag", tagWait},
	{"__blk_mq_alloc_requests", tagWait},
	{"blk_mq_get_new_requests", tagWait},
	{"balance_dirty_pages*", dirtyWait},

	{"jbd2_journal_wait_updates", updatesWait},
	{"blkdev_issue_flush", flushWait},
	{"xfs_flush_bdev*", flushWait},
	{"jbd2_journal_finish_inode_data_buffers", orderedWait},
	{"journal_finish_inode_data_buffers", orderedWait},
	{"ext4_journal_finish_inode_data_buffers", orderedWait},
	{"jbd2_journal_submit_inode_data_buffers", orderedWait},
	{"jbd2_log_do_checkpoint", journalFull},
	{"__jbd2_log_wait_for_space", journalFull},
	{"jbd2_journal_commit_transaction", blockWait},
	{"jbd2_log_wait_commit", commitWait},
	{"jbd2_fc_begin_commit", commitWait},
	{"ext4_fc_commit", commitWait},
	{"wait_transaction_locked", handleWait},
	{"wait_transaction_switching", handleWait},
	{"add_transaction_credits", handleWait},
	{"start_this_handle", handleWait},
	{"do_get_write_access", handleWait},
	{"jbd2_journal_get_write_access", handleWait},

	{"xlog_grant_head_wait", logSpace},
	{"xlog_grant_head_check", logSpace},
	{"xlog_wait_on_iclog", logWait},
	{"xlog_state_get_iclog_space", logWait},
	{"xlog_cil_push_now", logWait},
	{"xlog_cil_force_seq", logWait},
	{"xlog_cil_order_write", logWait},
	{"xlog_force_lsn", logWait},
	{"xfs_log_force*", logWait},

	{"rwsem_down*", lockWait},
	{"__mutex_lock*", lockWait},
	{"percpu_rwsem_wait", lockWait},

	{"__iomap_dio_rw", requestWait},
	{"blkdev_direct_IO*", requestWait},
	{"__blkdev_direct_IO*", requestWait},
	{"do_blockdev_direct_IO", requestWait},
	{"xfs_buf_iowait", metadataWait},
	{"__sync_dirty_buffer", metadataWait},
	{"fsync_buffers_list", metadataWait},
	{"__wait_on_buffer", metadataWait},
	{"ext4_bread*", metadataWait},
	{"ext4_sb_bread*", metadataWait},
	{"ext4_read_bh*", metadataWait},
	{"ext4_wait_block_bitmap", metadataWait},
	{"ext4_read_inode_bitmap", metadataWait},
	{"__ext4_get_inode_loc*", metadataWait},
	{"__read_extent_tree_block", metadataWait},
	{"__ext4_find_entry", metadataWait},
	{"__bread_gfp", metadataWait},
	{"submit_bio_wait", requestWait},

	{"folio_wait_writeback*", pageWait},
	{"folio_wait_stable", pageWait},
	{"wait_on_page_writeback*", pageWait},
	{"wait_for_stable_page", pageWait},
	{"__filemap_fdatawait_range", pageWait},
	{"inode_dio_wait*", pageWait},
	{"filemap_read", readWait},
	{"filemap_get_pages", readWait},
	{"filemap_fault", readWait},
	{"generic_file_buffered_read", readWait},
	{"__folio_lock*", lockWait},
	{"__lock_page*", lockWait},
	{"flush_work", workWait},
	{"__flush_work", workWait},
	{"__flush_workqueue", workWait},
	{"flush_workqueue", workWait},
	{"wait_for_completion*", workWait},
}

// classify says what a wait was for.
func classify(stack []string) class {
	for _, s := range signs {
		prefix, open := strings.CutSuffix(s.function, "*")
		for _, f := range stack {
			if f == s.function || open && strings.HasPrefix(f, prefix) {
				return s.class
			}
		}
	}
	return unknownWait
}

// What a request is, beyond its file.

// isLog reports whether a request is one of XFS's log: its pages belong to no file.
func isLog(r *events.Request) bool {
	const flags = events.FlagMeta | events.FlagSync | events.FlagIdle
	return r.Op() == events.OpWrite && r.File.Inode == 0 && !r.Metadata && r.Flags&flags == flags
}

// isJournal reports whether the thread of an ext4 journal made a request.
func isJournal(r *events.Request) bool { return strings.HasPrefix(r.Comm, "jbd2/") }

// heldBack reports whether a limit of a cgroup held a request back: a worker of the kernel submits it
// then, which is not the flusher.
func heldBack(r *events.Request) bool {
	return r.Kernel && r.Reason == events.NoReason && strings.HasPrefix(r.Comm, "kworker") && !isLog(r) &&
		!r.Flush() && !r.Metadata
}

// isFlush reports whether a request makes the device flush its cache.
func isFlush(r *events.Request) bool { return r.Flush() }

// isWriteback reports whether a request writes pages of a file.
func isWriteback(r *events.Request) bool { return r.Op() == events.OpWrite && r.File.Inode != 0 }
