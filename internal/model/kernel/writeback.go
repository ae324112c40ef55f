package kernel

import (
	"math/bits"

	"plimsoll/internal/base/units"
	"plimsoll/internal/base/vtime"
)

// A chunk is how much of one file the flusher writes before it looks at the next file and checks
// whether to continue. It is what the device writes in half a second by the flusher's own estimate,
// at most an eighth of the limit, in multiples of 4 MiB and at least 4 MiB (writeback_chunk_size in
// fs/fs-writeback.c; a trace of 6.18 showed 12 MiB on a volume that took 20 MB/s). So with a small
// dirty_background_bytes, each flush writes everything that is dirty.
const (
	chunkLeast   = 4 * units.MiB // MIN_WRITEBACK_PAGES
	chunkOfLimit = 8             // DIRTY_SCOPE
)

// A flusher is the kernel thread that writes out a device's dirty pages in the background.
type flusher struct {
	device     *Device
	active     bool
	background bool  // it runs because too much is dirty, not because pages are too old
	once       bool  // the current file gets only this chunk
	ticking    bool  // the clock that looks for old pages runs
	file       int   // number of the current file
	left       int64 // remaining pages of its chunk
	from       int64 // where in the file the chunk began
	round      bool  // it has wrapped around the end of the file
	speed      bandwidth
	room       bool   // the throttle admitted its next write
	handle     handle // of ext4's journal
}

// A tick is a flusher as the event handler for its clock (dirty_writeback_centisecs).
type tick flusher

// tick starts the clock while anything is dirty. The clock restarts when the flusher is done
// (wb_workfn).
func (w *flusher) tick() {
	h := w.device.host
	if !w.ticking && !w.active && h.cfg.WritebackInterval > 0 {
		w.ticking = true
		h.clock.After(h.cfg.WritebackInterval.Std(), (*tick)(w), 0)
	}
}

// Fire finds files that have been dirty for too long. All of their dirty pages must be written,
// including recent ones; this is how half a minute of page cache reaches a volume in one burst. An
// fdatasync in between does not help: it writes the pages but leaves the file on the flusher's list
// with its old time (Linux, fs/fs-writeback.c: only writeback_single_inode removes a file). So a file
// that a database keeps writing to is flushed after dirty_expire, or up to one interval later,
// regardless of the database's own checkpoints. Measurements with a real WiredTiger confirm this.
func (t *tick) Fire(now vtime.Instant, _ uint64) {
	w := (*flusher)(t)
	h := w.device.host
	w.ticking = false

	found, left := false, false
	for _, f := range h.files {
		if f.device != w.device {
			continue
		}
		if f.listed && now.Sub(f.since) >= h.cfg.DirtyExpire.Std() {
			f.listed = f.dirty.pages > 0
			f.overdue = f.overdue || f.listed
		}
		found = found || f.overdue || f.queued
		left = left || f.listed
	}

	if left && (found || h.overBackground(w.device)) {
		w.start(false)
	}

	if left {
		w.tick()
	}
}

// Sync starts to write out everything that is dirty now, like sync(2), but does not wait for it.
func (h *Host) Sync() {
	for _, f := range h.files {
		f.listed = f.dirty.pages > 0
		f.overdue = f.overdue || f.listed
	}
	for _, d := range h.devices {
		d.flusher.start(false)
	}
}

// startFlushers starts the flushers of all devices, because too much is dirty.
func (h *Host) startFlushers() {
	for _, d := range h.devices {
		d.flusher.start(true)
	}
}

func (w *flusher) start(background bool) {
	if !w.active {
		w.active, w.background = true, background
		w.run()
	}
}

// A flusherTurn is a flusher as the event handler for its turn at the throttle.
type flusherTurn flusher

// Fire continues with room for a write.
func (w *flusherTurn) Fire(vtime.Instant, uint64) {
	w.room = true
	w.device.throttle.woken--
	(*flusher)(w).run()
}

// A flusherAgain is a flusher as the event handler for its next request after it was woken together with
// others; see throttle.yields.
type flusherAgain flusher

// Fire continues after the others' turn.
func (w *flusherAgain) Fire(vtime.Instant, uint64) {
	w.device.throttle.woken--
	(*flusher)(w).run()
}

// Fire continues when the block layer has a slot again.
func (w *flusher) Fire(vtime.Instant, uint64) { w.run() }

// run writes chunks of one file after another, while any is overdue or too much is dirty.
func (w *flusher) run() {
	host := w.device.host
	now := host.clock.Now()
	for {
		// Nothing is due: return the reserved pages, and look again at the next tick.
		if w.left <= 0 && !w.choose() {
			w.active = false
			w.tick()
			w.device.handles.end(&w.handle)
			if w.room {
				w.room = false
				w.device.throttle.forget()
			}
			return
		}

		file := host.files[w.file]
		if !w.device.handles.begin(&w.handle, file, file.cursor, min(extentPages, w.left), w, 0) {
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

		next, c, n, ok := file.submit(file.cursor, min(file.cursor+w.left, end))
		if ok {
			w.room = false
			w.device.handles.submitted(&w.handle, n)
		}

		// This part of the file is clean. Once the whole file is, it leaves the list; if it became
		// dirty again meanwhile, its time starts again.
		if !ok {
			w.device.handles.end(&w.handle)
			if !w.seek(file) {
				w.left, file.overdue, file.queued = 0, false, false
				file.listed, file.since = file.dirty.pages > 0, now
			}
			continue
		}

		file.cursor = next
		w.left -= int64(n / PageSize)
		if c.Admitted > now {
			host.clock.At(c.Admitted, w, 0)
			return
		}

		if w.device.throttle.yields((*flusherAgain)(w), 0) {
			return
		}
	}
}

// seek moves a file's cursor to its next dirty page; it returns false if the chunk has covered the
// whole file. On XFS the chunk ends at the end of the file, and pages before the cursor wait for
// another dirty_expire (writeback_iter in mm/page-writeback.c does not loop). ext4 continues from
// the start of the file to where the chunk began (ext4_do_writepages in fs/ext4/inode.c), so it
// writes a file until less than one chunk is left.
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

// choose selects the device's next file to write a chunk of. A file that has been dirty for too long
// is written to its end. While too much is dirty, all files take turns. Once enough is written, the
// remaining files stay queued: at the next tick one chunk of each is written, and its time starts
// anew (requeue_inode).
func (w *flusher) choose() bool {
	h := w.device.host
	if w.once {
		w.once = false
		f := h.files[w.file]
		f.queued, f.since = false, h.clock.Now()
	}

	if w.background && !h.overBackground(w.device) {
		return false
	}
	if w.next() {
		return true
	}
	if !h.overBackground(w.device) {
		return false
	}

	w.background = true
	for _, f := range h.files {
		f.queued = f.queued || f.device == w.device && f.dirty.pages > 0
	}

	return w.next()
}

// next moves on to a file that is due.
func (w *flusher) next() bool {
	h := w.device.host
	for range h.files {
		w.file = (w.file + 1) % len(h.files)
		f := h.files[w.file]
		if f.device == w.device && f.dirty.pages > 0 && (f.overdue || f.queued) {
			w.left, w.from, w.round = w.chunk(), f.cursor, false
			w.once = !w.background && !f.overdue
			return true
		}
	}
	return false
}

// chunk returns how many pages of a file to write before looking at other files.
func (w *flusher) chunk() int64 {
	h := w.device.host
	n := max(min(w.speed.read(h.clock.Now(), w.device)/2, h.limit/chunkOfLimit), 0)
	return int64((n + chunkLeast) / chunkLeast * chunkLeast / PageSize)
}

// dirtied counts dirty pages, and starts the flushers if there are too many. It does not check for
// every page: each thread checks after the square root of the number of pages left to the limit, or
// half of that (dirty_poll_interval in mm/page-writeback.c), which is megabytes on a machine with
// much memory. The model treats all threads of a database as one that checks as often as they do
// together.
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

// balance returns the instant at which a writer may continue: immediately if the pages that are dirty or
// under writeback are below the midpoint of the two limits (the kernel's freerun ceiling,
// mm/page-writeback.c), otherwise once enough of them are written.
//
// The kernel compares the pages of all devices that are dirty or under writeback
// (domain_dirty_avail), but paces a writer by its device's speed: a writer whose device has
// few dirty pages gets up to eight times the rate (wb_position_ratio), and hardly ever pauses. The
// model has no rates, so it counts only the writer's own device under writeback. Counting all
// devices would make a log on a separate volume wait for the writeback of the data (p99.9 of a
// commit rose from 3.7 to 88 ms with limits of 16 and 64 MiB), which real log writers do not do.
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
