package kernel

import (
	"plimsoll/internal/base/units"
	"plimsoll/internal/base/vtime"
)

// extentPages is the longest run of a file's new blocks that ext4 maps under one handle of its
// journal: MAX_WRITEPAGES_EXTENT_LEN (fs/ext4/inode.c).
const extentPages = 2048

// bioBytes is what ext4 collects before it submits anything: a bio of 256 folios, which is 3 MiB
// with the folios of a database's writes of 40 KB. The last one of an extent is submitted after the
// handle is closed (ext4_do_writepages). Beside a real server on a volume of 40 MiB/s, the
// flusher's handles were open for 41 % of the time that their extents take the volume (261 of them,
// 2 to 8 MiB, trace of jbd2_handle_stats on 6.18); so they are for 54 % here.
const bioBytes = 3 * units.MiB

// A handles is the running transaction of an ext4 journal. Whoever writes a run of pages to new
// blocks has a handle open from mapping it until all of it but one bio is submitted, so also while
// the submission waits for a slot or at the throttle. A commit waits until no handle is open (jbd2's
// T_LOCKED), and meanwhile nobody opens another. So an fdatasync that needs a commit waits for up to
// 5 MiB of what the flusher or a checkpoint's fsync appends, 0.13 s at 40 MiB/s. XFS opens its
// transactions for the mapping alone.
type handles struct {
	host    *Host
	open    int
	commits []int       // jobs that wait for them
	locked  bool        // they are about to begin
	line    []throttled // those who wait for the commit to open one
}

// A handle is what one submitter has left of an extent that it has mapped, and of it what it submits
// with its handle open.
type handle struct{ extent, left units.Size }

// begin maps the file's next run of pages from page on, if they have no blocks yet and the run before
// is submitted; false if the submitter waits for its turn.
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

// submitted takes what was submitted from an extent, and closes the handle before its last bio.
func (x *handles) submitted(own *handle, n units.Size) {
	own.extent = max(own.extent-n, 0)
	if n >= own.left {
		x.close(own)
	}
	own.left = max(own.left-n, 0)
}

// end gives up what is left of an extent, if anything is.
func (x *handles) end(own *handle) {
	x.close(own)
	own.extent = 0
}

// close closes a handle, and lets commits begin with the last one.
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

// unlocked is the transaction as the handler of its commits' beginning.
type unlocked handles

// Fire lets those in line open handles of the next transaction.
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
