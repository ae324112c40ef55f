package kernel

import (
	"plimsoll/internal/base/units"
	"plimsoll/internal/base/vtime"
	"plimsoll/internal/model/volume"
)

// A File is stored on a device in one extent.
type File struct {
	host       *Host
	device     *Device
	name       string
	start      units.Size // of its extent on the device
	size       units.Size // its end: where Append continues
	dirty      dirtyMap
	listed     bool          // the flusher has it on its list of dirty files
	since      vtime.Instant // when it got there
	overdue    bool          // the flusher has to write it because it has been dirty for too long
	queued     bool          // the flusher had begun to write all files when less was dirty again
	cursor     int64         // page where the flusher continues
	writeback  vtime.Instant // when everything submitted is done
	allocated  bool          // blocks were allocated since the last sync
	mapped     int64         // pages from here on have no block yet
	prewritten bool          // later blocks were written before: see SetPrewritten
	last       SyncStats
	readUntil  vtime.Instant // when the current readers are done
	writer     vtime.Instant // when the writer that waits for them starts
}

// SyncStats say where a sync's time went.
type SyncStats struct {
	Submitted, Done vtime.Instant
	Queue           units.Duration // its I/O waited behind other I/O of the volume
	Limit           units.Duration // held by the volume's limits, or waiting for slots, because of its own I/O
	Device          units.Duration // latency
	Bytes           units.Size     // written by it
	IOs             int
}

// Create makes a preallocated file of the given size, behind the existing files on the device.
func (h *Host) Create(name string, d *Device, size units.Size) *File {
	size = min(max(size, 0), fileBytesMax)
	f := &File{host: h, device: d, name: name, start: d.end}
	d.end += size
	h.files = append(h.files, f)
	d.throttle.used = true
	return f
}

// Name returns the file's name.
func (f *File) Name() string { return f.name }

// Read returns the instant at which a buffered read ends if it starts now and keeps the device busy until
// done. On XFS it is blocked by a writer of the same file that is itself waiting for earlier readers: a
// buffered read takes the file's IOLOCK shared and a write takes it exclusively (xfs_file_buffered_read,
// xfs_file_buffered_write). ext4 reads without a lock.
func (f *File) Read(done vtime.Instant) vtime.Instant {
	if f.host.cfg.FileSystem != XFS {
		return done
	}
	if now := f.host.clock.Now(); f.writer > now {
		done += f.writer - now
	}
	f.readUntil = max(f.readUntil, done)
	return done
}

// Writable returns the instant at which a writer can start. On XFS that is when the current readers are done.
// Waiting writers share one turn, and readers that arrive meanwhile start together after it
// (rwsem_mark_wake wakes all queued readers).
func (f *File) Writable() vtime.Instant {
	now := f.host.clock.Now()
	if f.writer <= now {
		f.writer = max(f.readUntil, now)
	}
	return f.writer
}

// SetAllocated marks the blocks up to a size as allocated.
func (f *File) SetAllocated(size units.Size) { f.mapped = int64(size / PageSize) }

// SetPrewritten sets whether later blocks have been written before, as in reused log segments, so
// that an append changes no metadata.
func (f *File) SetPrewritten(yes bool) { f.prewritten = yes }

// Dirty returns how much of the file the page cache holds and has not submitted.
func (f *File) Dirty() units.Size { return units.Size(f.dirty.pages) * PageSize }

// LastSync describes the last completed sync.
func (f *File) LastSync() SyncStats { return f.last }

// Append writes at the end, into the page cache. Each block that it enters for the first time
// changes the file's metadata, which the next sync has to make durable.
func (f *File) Append(n units.Size) (off units.Size, resume vtime.Instant) {
	off = f.size
	if !f.prewritten && (off+PageSize-1)/PageSize < (off+n+PageSize-1)/PageSize {
		f.allocated = true
	}
	return off, f.Write(off, n)
}

// Rewind makes Append continue at off: in a reused log segment, or in a new segment that replaces
// it if blocks were not written before.
func (f *File) Rewind(off units.Size) {
	f.size = max(off, 0)
	if !f.prewritten {
		f.mapped = int64(f.size / PageSize)
	}
}

// Write dirties the pages from off to off+n in the page cache. The writer may continue at resume,
// which is later than now if the kernel blocks it because too many pages are dirty
// (balance_dirty_pages). Parts outside 0 to 64 TiB are ignored.
func (f *File) Write(off, n units.Size) (resume vtime.Instant) {
	h := f.host
	now := h.clock.Now()
	off = max(off, 0)

	n = min(n, fileBytesMax-off)
	if n <= 0 {
		return now
	}

	if !f.listed {
		f.listed, f.since = true, now
	}

	fresh := f.dirty.set(int64(off/PageSize), int64((off+n-1)/PageSize))
	f.size = max(f.size, off+n)
	f.device.flusher.tick()
	f.device.dirty += units.Size(fresh) * PageSize
	h.dirtied(fresh)

	return h.balance(f.device, now)
}

// WriteRange starts writing out a range's dirty pages without waiting for them: sync_file_range
// with SYNC_FILE_RANGE_WRITE.
func (f *File) WriteRange(off, n units.Size) {
	if n <= 0 {
		return
	}
	f.host.advance(f.host.newJob(f, int64(max(off, 0)/PageSize), int64((off+n+PageSize-1)/PageSize)))
}

// Sync models fdatasync: it makes earlier writes durable, then fires done. It writes the file's
// dirty pages and waits for them and for pages that are already under writeback. If blocks were
// allocated, it then writes the file system's journal. A device with a volatile cache also gets a
// flush. done never fires before Sync has returned.
func (f *File) Sync(done vtime.Handler, arg uint64) {
	h := f.host
	i := h.newJob(f, 0, int64(fileBytesMax/PageSize))
	j := &h.jobs[i]
	j.done, j.arg = done, arg
	j.stats.Submitted = h.clock.Now()
	j.journal, f.allocated = f.allocated, false
	j.tag()
	h.waiting.begin(h.clock.Now())
	h.advance(i)
}

// submit writes out one run of the file's dirty pages in [from, to), at most one request long. ok
// is false if there is none. On XFS, one request never covers both blocks that were written before
// and new ones, because new blocks must be converted on completion (iomap_can_add_to_ioend compares
// IOMAP_IOEND_UNWRITTEN), and the block layer does not merge them, because fdatasync submits
// without a plug. So an append that starts in the middle of a block takes two requests, and each
// waits at the throttle.
func (f *File) submit(from, to int64) (next int64, c volume.Completion, n units.Size, ok bool) {
	first, pages := int64(0), int64(0)
	if f.host.cfg.FileSystem == XFS && !f.prewritten && from < f.mapped && f.mapped < to {
		first, pages = f.dirty.take(from, f.mapped, f.host.requestPages)
	}

	if pages == 0 {
		first, pages = f.dirty.take(from, to, f.host.requestPages)
	}

	if pages == 0 {
		return to, c, 0, false
	}

	n = units.Size(pages) * PageSize
	f.host.dirty -= n
	f.device.dirty -= n
	c = f.device.do(volume.Request{Op: volume.Write, Offset: f.start + units.Size(first)*PageSize,
		Length: n}, true)
	f.writeback = max(f.writeback, c.Done)
	f.mapped = max(f.mapped, first+pages)

	return first + pages, c, n, true
}
