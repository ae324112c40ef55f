package kernel

import (
	"plimsoll/internal/base/units"
	"plimsoll/internal/base/vtime"
)

// handleBytes is how much of a file ext4 maps to new blocks, and submits, under one handle of its
// journal: MAX_WRITEPAGES_EXTENT_LEN blocks (fs/ext4/inode.c).
const handleBytes = 2048 * PageSize

// A handles is the running transaction of an ext4 journal. Whoever writes pages to new blocks has a
// handle open from mapping them until they are submitted, so also while the submission waits for a
// slot or at the throttle. A commit waits until no handle is open (jbd2's T_LOCKED), and meanwhile
// nobody opens another. So an fdatasync that needs a commit waits for up to 8 MiB of somebody
// else's writeback, 0.2 s at 40 MiB/s: a real server on such a volume had five syncs a second while
// a checkpoint or the flusher wrote. XFS opens its transactions for the mapping alone.
type handles struct {
	host    *Host
	open    int
	commits []int       // jobs that wait for them
	locked  bool        // they are about to begin
	line    []throttled // those who wait for the commit to open one
}

// A handle is what one submitter has left of its own; 0 is none.
type handle struct{ left units.Size }

// newBlocks reports whether the file's next page to be written, from page on, has no block yet.
func (f *File) newBlocks(page int64) bool {
	next, ok := f.dirty.next(page)
	return ok && next >= f.mapped
}

// begin opens a handle if the next page needs one; false if the submitter waits for its turn.
func (x *handles) begin(own *handle, needed bool, turn vtime.Handler, arg uint64) bool {
	if x.host.cfg.FileSystem != Ext4 {
		return true
	}
	if !needed {
		x.end(own)
		return true
	}
	if own.left > 0 {
		return true
	}
	if len(x.commits) > 0 || x.locked {
		x.line = append(x.line, throttled{turn: turn, arg: arg})
		return false
	}
	x.open++
	own.left = handleBytes
	return true
}

// submitted takes what was submitted from a handle, and closes it when it is used up.
func (x *handles) submitted(own *handle, n units.Size) {
	if own.left > 0 && n >= own.left {
		x.end(own)
	}
	own.left = max(own.left-n, 0)
}

// end closes a handle, and lets commits begin with the last one.
func (x *handles) end(own *handle) {
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
