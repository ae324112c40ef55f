package kernel

import (
	"time"

	"plimsoll/internal/base/units"
	"plimsoll/internal/base/vtime"
	"plimsoll/internal/model/volume"
)

// A Device is a volume as the block layer has it.
type Device struct {
	host     *Host
	name     string
	volume   volume.Volume
	cache    bool // it has a volatile write cache: syncs end in a flush
	stats    DeviceStats
	ledger   ledger
	buffered units.Size    // submitted by the page cache so far
	end      units.Size    // where the next file begins
	issued   vtime.Instant // when the last request is issued
	journal  units.Size    // where the file system's journal goes on
	flusher  flusher
	tags     []*tags // of its queue, of a stripe of each member's; none without slots
	stripe   *volume.Stripe
	depth    []vtime.Instant // when each buffered write in flight is done; see Config.WritebackDepth
}

// A place is somebody's among the buffered writes in flight: the number of one, and 0 for none.
type place int

// roomRetry is when somebody looks again for whom there was not even a place to wait for: more wait than
// fit.
const roomRetry = 100 * time.Microsecond

// room gives a place among the buffered writes in flight and when it is free. It is kept until give, so that
// who came first goes first. Without a bound the place is 0.
func (d *Device) room(now vtime.Instant) (p place, at vtime.Instant) {
	if len(d.depth) == 0 {
		return 0, now
	}
	least := 0
	for i, done := range d.depth {
		if done < d.depth[least] {
			least = i
		}
	}
	if at = d.depth[least]; at == vtime.Never {
		return 0, now.Add(roomRetry)
	}
	d.depth[least] = vtime.Never
	return place(least + 1), max(at, now)
}

// give lets go of a place once what is in it is done.
func (d *Device) give(p place, done vtime.Instant) {
	if p > 0 {
		d.depth[p-1] = done
	}
}

// DeviceStats are totals of what was submitted to a device.
type DeviceStats struct {
	Reads, Writes, Flushes  int64
	ReadBytes, WrittenBytes units.Size
}

// Attach gives the host a volume under a name, which is its device label in series.
func (h *Host) Attach(name string, v volume.Volume) *Device {
	d := &Device{host: h, name: name, volume: v, end: journalSize}
	if b, ok := v.(interface{ Slots() int }); ok && b.Slots() > 0 {
		d.depth = make([]vtime.Instant, min(h.cfg.WritebackDepth, b.Slots()))
	}
	d.flusher.device = d
	d.tagsOf(v, h.seed)
	h.devices = append(h.devices, d)
	return d
}

// Name is the device's name in scenarios and series.
func (d *Device) Name() string { return d.name }

// Volume is what answers its requests.
func (d *Device) Volume() volume.Volume { return d.volume }

// SetVolatileCache says whether the device has a write cache that loses its content with the power, as disks of
// one's own have. Then each sync ends in a flush. Rented volumes have none ("write
// through"), and the kernel sends them none.
func (d *Device) SetVolatileCache(yes bool) { d.cache = yes }

// Stats are the totals of what was submitted so far.
func (d *Device) Stats() DeviceStats { return d.stats }

// Do submits a request now, past the page cache, and tells when it is done. Somebody waits for it
// meanwhile, as far as the pressure of I/O is concerned.
func (d *Device) Do(r volume.Request) volume.Completion {
	c := d.do(r, false)
	d.host.waiting.hold(d.host.clock.Now(), c.Done)
	return c
}

func (d *Device) do(r volume.Request, buffered bool) volume.Completion {
	now := d.host.clock.Now()
	c := d.volume.Submit(now, r)
	for _, t := range d.tags {
		if t.n > 0 { // it may be done before those that are watched
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
	// iostat counts a request from when it has a slot; a throttle without slots is counted from
	// the submission, as the volume's own monitoring would.
	d.ledger.book(max(now, c.Admitted), r.Op, r.Length, &c, buffered)
	return c
}

// underWriteback is what the page cache submitted to the device and is not done, to the slot.
func (d *Device) underWriteback(now vtime.Instant) units.Size {
	d.ledger.close(now)
	return d.buffered - units.Size(d.ledger.total.draining)
}

// journalSize is the file system's journal, at the beginning of the device: what mkfs.xfs and mkfs.ext4 give a
// volume of some hundred GB, roughly.
const journalSize = 128 * units.MiB

// xfsRecord is what XFS writes of its log at a time where little changed: a header and a few vectors, in sectors of 512 B. By
// the bytes and writes of a real etcd and a real WiredTiger on it, it is 0.5 to 1 KB. ext4 writes blocks.
const xfsRecord = units.KiB

// journalBlock is the write of the file system's journal's next block. The blocks lie apart, so that no volume
// takes two of them for one operation: two writes were measured, and not where they lay (assumed).
func (d *Device) journalBlock() volume.Request {
	at := d.journal
	d.journal = (at + 2*PageSize) % journalSize
	n := PageSize
	if d.host.cfg.FileSystem == XFS {
		n = xfsRecord
	}
	return volume.Request{Op: volume.Write, Offset: at, Length: n}
}
