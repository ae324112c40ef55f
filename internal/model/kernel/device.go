package kernel

import (
	"plimsoll/internal/base/units"
	"plimsoll/internal/base/vtime"
	"plimsoll/internal/model/volume"
)

// A Device is a volume as the block layer sees it.
type Device struct {
	host     *Host
	name     string
	volume   volume.Volume
	cache    bool // it has a volatile write cache: syncs end in a flush
	stats    DeviceStats
	ledger   ledger
	buffered units.Size    // submitted by the page cache so far
	end      units.Size    // where the next file starts
	issued   vtime.Instant // when the last request is issued
	journal  units.Size    // where the file system's journal continues
	dirty    units.Size    // in the page cache, of its files
	share    share
	flusher  flusher
	tags     []*tags // of its queue, for a stripe of each member's; none without slots
	stripe   *volume.Stripe
	throttle throttle // of buffered writes
	handles  handles  // of ext4's journal
}

// DeviceStats are totals of the requests submitted to a device.
type DeviceStats struct {
	Reads, Writes, Flushes  int64
	ReadBytes, WrittenBytes units.Size
}

// Attach adds a volume to the host under a name, which is its device label in series.
func (h *Host) Attach(name string, v volume.Volume) *Device {
	d := &Device{host: h, name: name, volume: v, end: journalSize}
	slots := 0
	if b, ok := v.(interface{ Slots() int }); ok {
		slots = b.Slots()
	}
	d.throttle = throttleOf(d, &h.cfg, slots)
	d.handles.host = h
	d.flusher.device = d
	d.tagsOf(v, h.seed)
	h.devices = append(h.devices, d)
	return d
}

// Name returns the device's name in scenarios and series.
func (d *Device) Name() string { return d.name }

// Volume returns the volume that answers its requests.
func (d *Device) Volume() volume.Volume { return d.volume }

// SetVolatileCache sets whether the device has a write cache that loses its content on power loss,
// as local disks have. If so, each sync ends with a flush. Rented volumes have none ("write
// through"), and the kernel sends them no flushes.
func (d *Device) SetVolatileCache(yes bool) { d.cache = yes }

// Stats returns the totals of the requests submitted so far.
func (d *Device) Stats() DeviceStats { return d.stats }

// Do submits a request now, bypassing the page cache, and reports when it is done. The I/O pressure
// counters treat it as a task that waits.
func (d *Device) Do(r volume.Request) volume.Completion {
	c := d.do(r, false)
	d.host.waiting.hold(d.host.clock.Now(), c.Done)
	return c
}

func (d *Device) do(r volume.Request, buffered bool) volume.Completion {
	now := d.host.clock.Now()
	c := d.volume.Submit(now, r)

	for _, t := range d.tags {
		if t.n > 0 { // this request may finish before the ones that are watched
			t.expect(now)
		}
	}

	d.ledger.close(now)
	switch r.Op {
	case volume.Read:
		d.stats.Reads++
		d.stats.ReadBytes += r.Length
	case volume.Write:
		d.stats.Writes++
		d.stats.WrittenBytes += r.Length
	default:
		d.stats.Flushes++
	}

	if buffered {
		d.buffered += r.Length
	}

	d.issued = max(d.issued, c.Issued)
	d.throttle.begin(r.Op, &c, buffered)

	// iostat counts a request from when it has a slot; a throttle without slots is counted from
	// the submission, as the volume's own monitoring would.
	d.ledger.book(max(now, c.Admitted), r.Op, r.Length, &c, buffered)
	return c
}

// underWriteback returns the bytes that the page cache has submitted to the device and that are not
// written yet, to the precision of a slot of the ledger.
func (d *Device) underWriteback(now vtime.Instant) units.Size {
	d.ledger.close(now)
	return d.buffered - units.Size(d.ledger.total.draining)
}

// journalSize is the size of the file system's journal, at the start of the device: roughly what
// mkfs.xfs and mkfs.ext4 give a volume of some hundred GB.
const journalSize = 128 * units.MiB

// xfsRecord is how much XFS writes to its log at a time if little changed: a header and a few
// vectors, in sectors of 512 B. Measured with a real etcd and a real WiredTiger, it is 0.5 to 1 KB.
// ext4 writes whole blocks.
const xfsRecord = units.KiB

// journalBlock returns the write of the next block of the file system's journal. The blocks are not
// adjacent, so that no volume counts two of them as one operation. (Two writes were measured; their
// positions are assumed.)
func (d *Device) journalBlock() volume.Request {
	at := d.journal
	d.journal = (at + 2*PageSize) % journalSize
	n := PageSize
	if d.host.cfg.FileSystem == XFS {
		n = xfsRecord
	}
	return volume.Request{Op: volume.Write, Offset: at, Length: n}
}
