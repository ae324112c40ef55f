package kernel

import (
	"plimsoll/internal/base/units"
	"plimsoll/internal/base/vtime"
	"plimsoll/internal/model/volume"
)

// A File lies on a device, in one extent.
type File struct {
	host       *Host
	device     *Device
	name       string
	start      units.Size // of its extent on the device
	size       units.Size // its end: where Append goes on
	dirty      dirtyMap
	listed     bool          // the flusher has it on its list of dirty files
	since      vtime.Instant // when it came there
	overdue    int64         // pages the flusher still has to write because they are too old
	cursor     int64         // page where the flusher goes on
	writeback  vtime.Instant // when all that was submitted is done
	allocated  bool          // blocks were allocated since the last sync
	prewritten bool
	last       SyncStats
}

// SyncStats tell where a sync's time went.
type SyncStats struct {
	Submitted, Done vtime.Instant
	Queue           units.Duration // its I/O stood behind other I/O of the volume
	Limit           units.Duration // held by the volume's limits, or for slots, by its own I/O
	Device          units.Duration // latency
	Bytes           units.Size     // written by it
	IOs             int
}

// Create makes a file of the given size, preallocated, behind the files there are on the device.
func (h *Host) Create(name string, d *Device, size units.Size) *File {
	size = min(max(size, 0), fileBytesMax)
	f := &File{host: h, device: d, name: name, start: d.end}
	d.end += size
	h.files = append(h.files, f)
	return f
}

// Name is the file's name.
func (f *File) Name() string { return f.name }

// SetPrewritten says whether the blocks to come were written before, so that an append changes
// no metadata, as in log segments that are used again.
func (f *File) SetPrewritten(yes bool) { f.prewritten = yes }

// Dirty is what the page cache holds of the file and has not submitted.
func (f *File) Dirty() units.Size { return units.Size(f.dirty.pages) * PageSize }

// LastSync tells of the sync that was done last.
func (f *File) LastSync() SyncStats { return f.last }

// Append writes at the end, into the page cache. Each block it enters for the first time changes
// the file's metadata, which the next sync has to make durable.
func (f *File) Append(n units.Size) (off units.Size, resume vtime.Instant) {
	off = f.size
	if !f.prewritten && (off+PageSize-1)/PageSize < (off+n+PageSize-1)/PageSize {
		f.allocated = true
	}
	return off, f.Write(off, n)
}

// Rewind makes Append go on at off: a segment that is used again.
func (f *File) Rewind(off units.Size) { f.size = max(off, 0) }

// Write dirties the pages of off ... off+n in the page cache. The writer may go on at resume,
// which is later than now if the kernel holds it for having dirtied too much (balance_dirty_pages).
// What lies outside 0 ... 64 TiB is left out.
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
	h.tick()
	h.dirtied(fresh)
	return h.balance(f.device, now)
}

// WriteRange starts writing out a range's dirty pages and does not wait for them:
// sync_file_range with SYNC_FILE_RANGE_WRITE.
func (f *File) WriteRange(off, n units.Size) {
	if n <= 0 {
		return
	}
	f.host.advance(f.host.newJob(f, int64(max(off, 0)/PageSize), int64((off+n+PageSize-1)/PageSize)))
}

// Sync makes what was written before durable, then fires done: fdatasync. It writes the file's dirty
// pages, waits for them and for those that somebody else submitted before; where blocks
// were allocated it then writes the file system's journal, and to a device with a volatile cache it
// sends a flush. It never fires before Sync has returned.
func (f *File) Sync(done vtime.Handler, arg uint64) {
	h := f.host
	i := h.newJob(f, 0, int64(fileBytesMax/PageSize))
	j := &h.jobs[i]
	j.done, j.arg = done, arg
	j.stats.Submitted = h.clock.Now()
	j.journal, f.allocated = f.allocated, false
	h.waiting.begin(h.clock.Now())
	h.advance(i)
}

// submit writes out one run of the file's dirty pages in [from, to), of one request at most. ok is false if
// there is none.
func (f *File) submit(from, to int64) (next int64, c volume.Completion, n units.Size, ok bool) {
	first, pages := f.dirty.take(from, to, f.host.requestPages)
	if pages == 0 {
		return to, c, 0, false
	}
	n = units.Size(pages) * PageSize
	f.host.dirty -= n
	c = f.device.do(volume.Request{Op: volume.Write, Offset: f.start + units.Size(first)*PageSize, Length: n}, true)
	f.writeback = max(f.writeback, c.Done)
	return first + pages, c, n, true
}
