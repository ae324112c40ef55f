package chain

import (
	"strings"

	"plimsoll/internal/trace/events"
)

// A class says what a thread waits for, judged by the kernel function in which it sleeps.
type class uint8

const (
	unknownWait class = iota
	pageWait          // pages under writeback
	commitWait        // a commit of ext4's journal
	handleWait        // ext4's journal accepts no change at the moment
	journalFull
	orderedWait // the journal's thread: data that goes before the commit
	blockWait   // the journal's thread: its own blocks
	updatesWait // the journal's thread: open handles
	logWait     // XFS's log
	logSpace
	dirtyWait // balance_dirty_pages
	tagWait
	wbtWait
	cgroupWait
	flushWait
	requestWait // one of its own requests
	readWait
	metadataWait
	lockWait
	workWait // a kernel worker
)

// A sign is a kernel function that implies a class if it is on the stack.
type sign struct {
	function string // its name; a trailing * matches any suffix
	class    class
}

// signs are tried in order. The block layer's own waits come first because they happen inside all
// the others; then the file systems' functions, which call the general ones; and those last. The
// names are from Linux 5.10 to 6.18.
var signs = []sign{
	{"wbt_wait", wbtWait},
	{"__wbt_wait", wbtWait},
	{"ioc_rqos_throttle", cgroupWait},
	{"blkcg_iolatency_throttle", cgroupWait},
	{"blkcg_maybe_throttle_current", cgroupWait},
	// Both writeback throttling and cgroup limits call rq_qos_wait, so the cgroup functions are
	// tried before it.
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
	// Last of this group: reads and flushes of the file system call it too.
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

// classify returns the class of the first sign found anywhere on the stack.
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

//
// What a request is, beyond its file.

// isLog reports whether a request writes XFS's log. Log buffers belong to no file, so only the
// flags identify them.
func isLog(r *events.Request) bool {
	const flags = events.FlagMeta | events.FlagSync | events.FlagIdle
	return r.Op() == events.OpWrite && r.File.Inode == 0 && !r.Metadata && r.Flags&flags == flags
}

// isJournal reports whether an ext4 journal thread made a request.
func isJournal(r *events.Request) bool { return strings.HasPrefix(r.Comm, "jbd2/") }

// heldBack reports whether a cgroup limit delayed a request. A kernel worker submits it in that
// case, and no flusher reason is set.
func heldBack(r *events.Request) bool {
	return r.Kernel && r.Reason == events.NoReason && strings.HasPrefix(r.Comm, "kworker") && !isLog(r) &&
		!r.Flush() && !r.Metadata
}

func isFlush(r *events.Request) bool { return r.Flush() }

// isWriteback reports whether a request writes pages of a file.
func isWriteback(r *events.Request) bool { return r.Op() == events.OpWrite && r.File.Inode != 0 }
