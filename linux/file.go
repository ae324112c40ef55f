package linux

import (
	"math/bits"

	"plimsoll/units"
	"plimsoll/volume"
	"plimsoll/vtime"
)

// A File lies on a device, in one extent.
type File struct {
	host       *Host
	device     *Device
	name       string
	start      units.Size // of its extent on the device
	size       units.Size // its end: where Append goes on
	dirtied    map[units.Size]*chunk
	order      []units.Size // chunks with dirty pages, unsorted
	dirty      units.Size
	since      vtime.Instant // first dirtied
	writeback  vtime.Instant // when all that was submitted is done
	allocated  bool          // blocks were allocated since the last sync
	prewritten bool
	last       SyncStats
}

// chunkPages is how many pages one chunk of the dirty bitmap covers: 64 MiB.
const chunkPages = 1 << 14

type chunk [chunkPages / 64]uint64

// SyncStats tell of a sync.
type SyncStats struct {
	Submitted vtime.Instant
	Done      vtime.Instant
	Queue     units.Duration // its last I/O stood behind other I/O of the volume
	Limit     units.Duration // held by the volume's limits, by its own rate
	Device    units.Duration // latency
	Bytes     units.Size
	IOs       int
}

// Create makes a file of the given size, preallocated, behind the files there are on the device.
func (h *Host) Create(name string, d *Device, size units.Size) *File {
	f := &File{host: h, device: d, name: name, start: d.end, dirtied: map[units.Size]*chunk{}}
	d.end += size
	h.files = append(h.files, f)
	return f
}

// SetPrewritten says whether the blocks to come were written before, so that an append changes no metadata.
func (f *File) SetPrewritten(yes bool) { f.prewritten = yes }

// Dirty is what the page cache holds of the file and has not submitted.
func (f *File) Dirty() units.Size { return f.dirty }

// LastSync tells of the sync that was done last.
func (f *File) LastSync() SyncStats { return f.last }

// Append writes at the end, into the page cache.
func (f *File) Append(n units.Size) (off units.Size, resume vtime.Instant) {
	off = f.size
	f.size += n
	if !f.prewritten && (off+PageSize-1)/PageSize < (f.size+PageSize-1)/PageSize {
		f.allocated = true
	}
	return off, f.Write(off, n)
}

// Write dirties the pages of off ... off+n in the page cache. The writer may go on at resume.
func (f *File) Write(off, n units.Size) (resume vtime.Instant) {
	now := f.host.clock.Now()
	if n <= 0 {
		return now
	}
	if f.dirty == 0 {
		f.since = now
	}
	for page := off / PageSize; page <= (off+n-1)/PageSize; page++ {
		c := f.dirtied[page/chunkPages]
		if c == nil {
			c = new(chunk)
			f.dirtied[page/chunkPages] = c
			f.order = append(f.order, page/chunkPages)
		}
		i := page % chunkPages
		if c[i/64]&(1<<(i%64)) == 0 {
			c[i/64] |= 1 << (i % 64)
			f.dirty += PageSize
			f.host.dirty += PageSize
		}
	}
	f.size = max(f.size, off+n)
	f.host.wake()
	return now
}

// WriteRange starts writing out a range's dirty pages and does not wait.
func (f *File) WriteRange(off, n units.Size) { f.submit(off/PageSize, (off+n+PageSize-1)/PageSize) }

// Sync makes what was written before durable, then fires done: fdatasync.
func (f *File) Sync(done vtime.Handler, arg uint64) {
	now := f.host.clock.Now()
	s := SyncStats{Submitted: now}
	before := f.device.stats
	last := f.submit(0, 1<<62)
	at := max(now, f.writeback)
	if f.allocated {
		f.allocated = false
		for range 2 {
			last = f.device.Do(volume.Request{Op: volume.Write, Offset: 0, Length: PageSize})
			at = max(at, last.Done)
		}
	}
	s.Done, s.Queue, s.Device = at, units.Duration(last.Issued.Sub(now)), units.Duration(last.Done.Sub(last.Issued))
	s.Bytes, s.IOs = f.device.stats.WrittenBytes-before.WrittenBytes, int(f.device.stats.Writes-before.Writes)
	f.last = s
	f.host.clock.At(at, done, arg)
}

// submit writes out dirty pages of [from, to) and gives the last completion.
func (f *File) submit(from, to units.Size) (last volume.Completion) {
	kept := f.order[:0]
	for _, k := range f.order {
		c := f.dirtied[k]
		left := false
		for w := range c {
			for word := c[w]; word != 0; {
				bit := bits.TrailingZeros64(word)
				run := bits.TrailingZeros64(^(word >> bit))
				page := k*chunkPages + units.Size(w*64+bit)
				word &^= (1<<run - 1) << bit
				if page < from || page >= to {
					left = true
					continue
				}
				n := units.Size(run)
				c[w] &^= (1<<run - 1) << bit
				f.dirty -= n * PageSize
				f.host.dirty -= n * PageSize
				last = f.device.Do(volume.Request{Op: volume.Write, Offset: f.start + page*PageSize, Length: n * PageSize})
				f.writeback = max(f.writeback, last.Done)
			}
		}
		if left {
			kept = append(kept, k)
		} else {
			delete(f.dirtied, k)
		}
	}
	f.order = kept
	return last
}

// wake starts the flusher's ticks while anything is dirty.
func (h *Host) wake() {
	if !h.ticking {
		h.ticking = true
		h.clock.After(h.cfg.WritebackInterval.Std(), h, 0)
	}
	if h.dirty > h.backgroundLimit() {
		for _, f := range h.files {
			f.submit(0, 1<<62)
		}
	}
}

// Fire is the flusher's tick: files first dirtied too long ago are written out whole.
func (h *Host) Fire(now vtime.Instant, _ uint64) {
	for _, f := range h.files {
		if f.dirty > 0 && now.Sub(f.since) >= h.cfg.DirtyExpire.Std() {
			f.submit(0, 1<<62)
		}
	}
	h.ticking = h.dirty > 0
	if h.ticking {
		h.clock.After(h.cfg.WritebackInterval.Std(), h, 0)
	}
}
