package kernel

import (
	"plimsoll/internal/base/units"
	"plimsoll/internal/base/vtime"
)

// extentPages is the longest run of a file's new blocks that ext4 maps under one handle of its
// journal: MAX_WRITEPAGES_EXTENT_LEN (fs/ext4/inode.c).
const extentPages = 2048

// bioBytes is what ext4 collects before it submits a request: a bio of 256 folios, which is 3 MiB
// for a database that writes 40 KB at a time. The last bio of an extent is submitted after the
// handle is closed (ext4_do_writepages). With a real server on a volume of 40 MiB/s, the flusher's
// handles were open for 41 % of the time that writing their extents took (261 extents of 2 to
// 8 MiB, trace of jbd2_handle_stats on 6.18); in this model it is 54 %.
const bioBytes = 3 * units.MiB

// A handles is the running transaction of an ext4 journal. A thread that writes a run of pages to
// new blocks holds a handle from mapping the run until all but its last bio is submitted, which
// includes the time that the submission waits for a slot or at the throttle. A commit waits until no
// handle is open (jbd2's T_LOCKED), and meanwhile no new one can be opened. So an fdatasync that
// needs a commit waits for up to 5 MiB that the flusher or a checkpoint's fsync appends: 0.13 s at
// 40 MiB/s. XFS holds its transactions only for the mapping.
type handles struct {
	host    *Host
	open    int
	commits []int       // jobs whose commits wait for the open handles
	locked  bool        // the commits are about to begin
	line    []throttled // submitters that wait for the commit before they can open a handle
}

// A handle holds the rest of a submitter's mapped extent, and how much of that it submits while its
// handle is open.
type handle struct{ extent, left units.Size }

// begin maps the file's next run of pages from page on, if they have no blocks yet and the previous
// run is submitted. It returns false if the submitter has to wait; turn then fires.
func (x *handles) begin(own *handle, f *File, page, most int64, turn vtime.Handler, arg uint64) bool {
	if x.host.cfg.FileSystem != Ext4 || own.extent > 0 {
		return true
	}

	next, ok := f.dirty.next(page)
	if !ok || next < f.mapped {
		return true
	}

	if len(x.commits) > 0 || x.locked {
		x.line = append(x.line, throttled{turn: turn, arg: arg})
		return false
	}

	own.extent = units.Size(f.dirty.run(next, most)) * PageSize
	if own.left = max(own.extent-bioBytes, 0); own.left > 0 {
		x.open++
	}

	return true
}

// submitted subtracts n from an extent, and closes the handle before the extent's last bio.
func (x *handles) submitted(own *handle, n units.Size) {
	own.extent = max(own.extent-n, 0)
	if n >= own.left {
		x.close(own)
	}
	own.left = max(own.left-n, 0)
}

// end abandons the rest of an extent.
func (x *handles) end(own *handle) {
	x.close(own)
	own.extent = 0
}

// close closes a handle. Closing the last one lets the waiting commits begin.
func (x *handles) close(own *handle) {
	if own.left == 0 {
		return
	}
	own.left = 0
	if x.open--; x.open > 0 || len(x.commits) == 0 {
		return
	}
	now := x.host.clock.Now()
	for _, i := range x.commits {
		x.host.clock.At(now, (*jobTurn)(x.host), uint64(i))
	}
	x.locked = true
	x.commits = x.commits[:0]
	x.host.clock.At(now, (*unlocked)(x), 0)
}

// unlocked is the transaction as an event handler: it runs when the transaction is no longer locked.
type unlocked handles

// Fire lets the queued submitters open handles of the next transaction.
func (u *unlocked) Fire(now vtime.Instant, _ uint64) {
	u.locked = false
	for _, w := range u.line {
		u.host.clock.At(now, w.turn, w.arg)
	}
	u.line = u.line[:0]
}

// lockedOut reports whether a job's commit has to wait for open handles.
func (h *Host) lockedOut(i int) bool {
	j := &h.jobs[i]
	x := &j.file.device.handles
	now := h.clock.Now()
	if j.lockedSince > 0 {
		j.stats.Queue += units.Duration(now - j.lockedSince)
		j.lockedSince = 0
	}
	if h.cfg.FileSystem != Ext4 || j.phase != journal || x.open == 0 {
		return false
	}
	j.yielded, j.lockedSince = true, now
	x.commits = append(x.commits, i)
	return true
}
