package kernel

import (
	"math/bits"

	"plimsoll/internal/base/units"
	"plimsoll/internal/base/vtime"
)

// How much of one file the flusher writes before it considers the next one, and whether to continue
// at all: what the device writes in half a second, by the flusher's own estimate, at most an eighth
// of the limit, in multiples of 4 MiB and at least one (writeback_chunk_size in fs/fs-writeback.c;
// seen in a trace of 6.18: 12 MiB on a volume that took 20 MB/s). So with a small
// dirty_background_bytes, everything dirty goes out in one go, each time.
const (
	chunkLeast   = 4 * units.MiB // MIN_WRITEBACK_PAGES
	chunkOfLimit = 8             // DIRTY_SCOPE
)

// A flusher is the kernel thread that writes out a device's dirty pages in the background.
type flusher struct {
	device *Device
	active bool
	file   int   // the current one
	left   int64 // remaining pages of its chunk
	from   int64 // where in the file the chunk began
	round  bool  // it has passed the end of the file since
	speed  bandwidth
	room   bool   // the throttle has let it in
	handle handle // of ext4's journal
}

// A tick is the host as the handler of the flusher's clock (dirty_writeback_centisecs).
type tick Host

// tick starts the clock while anything is dirty.
func (h *Host) tick() {
	if !h.ticking && h.cfg.WritebackInterval > 0 {
		h.ticking = true
		h.clock.After(h.cfg.WritebackInterval.Std(), (*tick)(h), 0)
	}
}

// Fire finds files that have been dirty for too long. All of their dirty pages must be written,
// including young ones, which is how half a minute of page cache reaches a volume in one go. An
// fdatasync in between does not help: it writes the pages and leaves the file on the flusher's
// list, with its time (Linux, fs/fs-writeback.c: only writeback_single_inode removes a file). So a
// file that a database keeps writing to is flushed after dirty_expire, or up to one interval later,
// whatever its checkpoints did meanwhile. A real WiredTiger was measured to behave that way.
func (t *tick) Fire(now vtime.Instant, _ uint64) {
	h := (*Host)(t)
	found, left := false, false
	for _, f := range h.files {
		if !f.listed || now.Sub(f.since) < h.cfg.DirtyExpire.Std() {
			left = left || f.listed
			continue
		}
		if f.listed = f.dirty.pages > 0; f.listed {
			f.overdue, found, left = true, true, true
		}
	}
	if found {
		h.startFlushers()
	}
	h.ticking = false
	if left {
		h.tick()
	}
}

// Sync starts to write out all that is dirty now, as sync(2) does, and does not wait for it.
func (h *Host) Sync() {
	for _, f := range h.files {
		f.overdue = f.overdue || f.dirty.pages > 0
	}
	h.startFlushers()
}

func (h *Host) startFlushers() {
	for _, d := range h.devices {
		if !d.flusher.active {
			d.flusher.active = true
			d.flusher.run()
		}
	}
}

// A flusherTurn is a flusher as the handler of its turn at the throttle.
type flusherTurn flusher

// Fire continues with room for a write.
func (w *flusherTurn) Fire(vtime.Instant, uint64) {
	w.room = true
	(*flusher)(w).run()
}

// Fire continues when the block layer has a slot again.
func (w *flusher) Fire(vtime.Instant, uint64) { w.run() }

// run writes chunks of one file after another, while any is overdue or too much is dirty.
func (w *flusher) run() {
	h := w.device.host
	now := h.clock.Now()
	for {
		if w.left <= 0 && !w.choose() {
			w.active = false
			w.device.handles.end(&w.handle)
			if w.room {
				w.room = false
				w.device.throttle.forget()
			}
			return
		}
		f := h.files[w.file]
		if !w.device.handles.begin(&w.handle, f, f.cursor, min(extentPages, w.left), w, 0) {
			return
		}
		if !w.room {
			if w.room = w.device.throttle.take(background, (*flusherTurn)(w), 0); !w.room {
				return
			}
		}
		end := int64(fileBytesMax / PageSize)
		if w.round {
			end = w.from
		}
		next, c, n, ok := f.submit(f.cursor, min(f.cursor+w.left, end))
		if ok {
			w.room = false
			w.device.handles.submitted(&w.handle, n)
		}
		if !ok {
			w.device.handles.end(&w.handle)
			if !w.seek(f) {
				w.left, f.overdue = 0, false
				f.listed, f.since = f.dirty.pages > 0, now
			}
			continue
		}
		f.cursor = next
		w.left -= int64(n / PageSize)
		if c.Admitted > now {
			h.clock.At(c.Admitted, w, 0)
			return
		}
	}
}

// seek moves a file's cursor to its next dirty page; false if the chunk has passed all of the file.
// On XFS it ends at the end of the file, and what is dirty before the cursor waits for another
// dirty_expire (writeback_iter in mm/page-writeback.c does not loop). ext4 goes on from the file's
// beginning to where the chunk began (ext4_do_writepages in fs/ext4/inode.c), so it writes a file
// until there is not one chunk of it left.
func (w *flusher) seek(f *File) bool {
	page, ok := f.dirty.next(f.cursor)
	if !ok && !w.round && w.device.host.cfg.FileSystem == Ext4 {
		w.round = true
		page, ok = f.dirty.next(0)
	}
	if !ok || w.round && page >= w.from {
		f.cursor = 0
		return false
	}
	f.cursor = page
	return true
}

// choose selects the device's next file to write a chunk of.
func (w *flusher) choose() bool {
	h := w.device.host
	for range h.files {
		w.file = (w.file + 1) % len(h.files)
		f := h.files[w.file]
		if f.device == w.device && f.dirty.pages > 0 && (f.overdue || h.dirty > h.background) {
			w.left, w.from, w.round = w.chunk(), f.cursor, false
			return true
		}
	}
	return false
}

// chunk returns how many pages of a file are written before others are considered.
func (w *flusher) chunk() int64 {
	h := w.device.host
	n := max(min(w.speed.read(h.clock.Now(), w.device)/2, h.limit/chunkOfLimit), 0)
	return int64((n + chunkLeast) / chunkLeast * chunkLeast / PageSize)
}

// dirtied counts pages, and starts writing them out if too many are dirty. That is not checked for
// every page. Each thread checks after the square root of the pages that are left to the limit, or
// half of that (dirty_poll_interval in mm/page-writeback.c): megabytes, on a machine with much
// memory. All threads of a database are one here, which checks as often as they do together.
func (h *Host) dirtied(pages int64) {
	h.dirty += units.Size(pages) * PageSize
	if h.unpolled += pages; h.unpolled < h.poll {
		return
	}
	h.unpolled, h.poll = 0, 1
	if left := (h.limit - h.dirty) / PageSize; left > 0 {
		h.poll = 1 << ((bits.Len64(uint64(left)) - 1) / 2)
	}
	if h.dirty > h.background {
		h.startFlushers()
	}
}

// balance returns when a writer may continue: immediately while dirty pages and those under
// writeback are below the middle of the two limits (the kernel's freerun ceiling,
// mm/page-writeback.c), else when enough of them are written.
func (h *Host) balance(d *Device, now vtime.Instant) vtime.Instant {
	if h.dirty+d.buffered-units.Size(d.ledger.total.draining) <= h.freerun {
		return now
	}
	over := h.dirty + d.underWriteback(now) - h.freerun
	if over <= 0 {
		return now
	}
	h.startFlushers()
	resume := d.ledger.drained(now, over)
	if resume > now {
		d.throttle.slept(resume)
		h.waiting.hold(now, resume)
	}
	return resume
}
