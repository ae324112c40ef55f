//go:build linux

package disk

import (
	"errors"
	"fmt"
	"sync"
	"syscall"
	"time"

	"plimsoll/internal/base/random"
	"plimsoll/internal/base/units"
	"plimsoll/internal/base/vtime"
	"plimsoll/internal/model/volume"
)

// A Host holds the disks of one machine. They share a clock and a lock, because their volumes may
// share an instance's limits.
type Host struct {
	opt   Options
	clock clock

	mu    sync.Mutex // guards all volumes
	disks []*Disk
}

// Options configure the emulation.
type Options struct {
	// Path is the time for a request to reach the disk and return. It is subtracted from the wait:
	// a request is answered that much before its volume would complete it. 0: nothing is
	// subtracted. [Disk.SetPath] sets it for a single disk.
	Path units.Duration
	// Memory limits the size of an image in memory; 0: the memory available at its creation, minus
	// 1 GiB.
	Memory units.Size
}

// NewHost creates a host without disks. It fails if the kernel provides no timer.
func NewHost(opt Options) (*Host, error) {
	t, err := newTicker()
	if err != nil {
		return nil, fmt.Errorf("cannot create a clock for emulated disks: %w", err)
	}
	return &Host{opt: opt, clock: t}, nil
}

// Close closes all disks. Waiting requests are answered immediately.
func (h *Host) Close() error {
	h.mu.Lock()
	disks := h.disks
	h.disks = nil
	h.mu.Unlock()
	h.clock.Close()
	var errs []error
	for _, d := range disks {
		errs = append(errs, d.close())
	}
	return errors.Join(errs...)
}

// A Config describes a disk.
type Config struct {
	Name   string
	Size   units.Size // rounded up to whole sectors of 4 KiB
	Volume volume.Volume
	// File is the image's file, which is created and removed; "": in memory.
	File string
	// VolatileCache makes writes durable only after a flush. Rented volumes have no such cache.
	VolatileCache bool
	// PowerLoss enables Cut, at the cost of two copies of each write that is not durable yet.
	PowerLoss bool
}

// A Disk is an emulated disk. It is safe for concurrent use.
type Disk struct {
	host *Host
	cfg  Config

	// Guarded by the host's lock.
	volume volume.Volume
	epoch  vtime.Instant // the volume's time 0 on the host's clock
	paced  bool
	path   Path

	mu       sync.RWMutex // guards the image and the fields below; held while data is copied
	img      image
	volatile volatileLog
	down     bool // the power is off
	inFlight sync.WaitGroup
	closed   bool

	counts counts
}

// Add creates a disk. It fails if there is no space for the image.
func (h *Host) Add(cfg Config) (*Disk, error) {
	const sector = 4096
	if cfg.Size <= 0 || cfg.Volume == nil {
		return nil, fmt.Errorf("disk %s: needs a volume and a valid size, got %s", cfg.Name, cfg.Size.Exact())
	}

	cfg.Size = (cfg.Size + sector - 1) / sector * sector
	d := &Disk{host: h, cfg: cfg, volume: cfg.Volume, epoch: h.clock.Now(), paced: true,
		path: Path{Fixed: h.opt.Path}}
	var err error

	if cfg.File != "" {
		d.img, err = newFile(cfg.File, cfg.Size)
	} else {
		d.img, err = h.newMemory(cfg.Size)
	}

	if err != nil {
		return nil, fmt.Errorf("disk %s: %w", cfg.Name, err)
	}

	h.mu.Lock()
	h.disks = append(h.disks, d)
	h.mu.Unlock()

	return d, nil
}

func (h *Host) newMemory(size units.Size) (image, error) {
	most := h.opt.Memory
	if most == 0 {
		available, err := memoryAvailable()
		if err != nil {
			return nil, err
		}
		most = available - keepBytes
	}
	if most < 64*units.MiB {
		return nil,
			fmt.Errorf("only %s of memory is available for an image: free some, or keep the image in a file",
				max(most, 0).Exact())
	}
	return newMemory(size, min(size+chunkBytes, most))
}

// Size returns the disk's size.
func (d *Disk) Size() units.Size { return d.cfg.Size }

// Name returns the disk's name.
func (d *Disk) Name() string { return d.cfg.Name }

// VolatileCache reports whether writes need a flush to be durable.
func (d *Disk) VolatileCache() bool { return d.cfg.VolatileCache }

// Pace sets whether requests wait for their volume; they need not while a file system is created or
// data is loaded. A disk starts paced. If v is not nil, it replaces the disk's volume and starts
// now, with a new volume's credits. For volumes that share an instance, call Pace in quick
// succession, because each call restarts the instance's time. The instance's time slices of 1 ms
// hide the difference.
func (d *Disk) Pace(paced bool, v volume.Volume) {
	d.host.mu.Lock()
	defer d.host.mu.Unlock()
	d.paced = paced
	if v != nil {
		d.volume, d.epoch = v, d.host.clock.Now()
	}
}

// A promise says when a submitted request has to be answered.
type promise struct {
	at    vtime.Instant
	asked time.Duration // the volume's latency for the request
	late  time.Duration // added to the request's lateness if the path alone takes longer than the request
	paced bool
}

// submit passes a request to the volume.
func (d *Disk) submit(r volume.Request) promise {
	d.host.mu.Lock()
	defer d.host.mu.Unlock()
	now := d.host.clock.Now()
	if !d.paced {
		return promise{}
	}
	// Volumes count time from their own start.
	since := vtime.Instant(now.Sub(d.epoch))
	asked := d.volume.Submit(since, r).Done.Sub(since)
	path := d.path.of(r.Length)
	return promise{at: now.Add(max(asked-path, 0)), asked: asked, late: max(path-asked, 0) - d.path.Wake.Std(),
		paced: true}
}

// wait waits until a submitted request is due, and records how late it was.
func (d *Disk) wait(op volume.Op, n int, p promise) {
	if !p.paced {
		return
	}
	d.host.clock.Wait(p.at)
	now := d.host.clock.Now()
	d.counts.add(now, op, n, p.asked, now.Sub(p.at)+p.late)
}

// begin accepts a request. It fails if the disk has no power or the request extends beyond its end.
func (d *Disk) begin(n int, off int64) error {
	// Written without off+n, which could overflow.
	if off < 0 || n < 0 || off > int64(d.cfg.Size)-int64(n) {
		return syscall.EINVAL
	}
	d.mu.RLock()
	defer d.mu.RUnlock()
	if d.down || d.closed {
		return syscall.EIO
	}
	d.inFlight.Add(1)
	return nil
}

// alive returns EIO if the power went off while a request was waiting.
func (d *Disk) alive() error {
	d.mu.RLock()
	defer d.mu.RUnlock()
	if d.down || d.closed {
		return syscall.EIO
	}
	return nil
}

// ReadAt reads len(p) bytes and returns when the volume would have. It fails with EINVAL beyond the
// disk's end, and with EIO while the power is off.
func (d *Disk) ReadAt(p []byte, off int64) (int, error) {
	if err := d.begin(len(p), off); err != nil {
		return 0, err
	}

	defer d.inFlight.Done()
	d.wait(volume.Read, len(p), d.submit(volume.Request{Op: volume.Read, Offset: units.Size(off),
		Length: units.Size(len(p))}))
	d.mu.RLock()
	defer d.mu.RUnlock()

	if d.down || d.closed {
		return 0, syscall.EIO
	}

	if err := d.img.read(p, off); err != nil {
		return 0, err
	}

	return len(p), nil
}

// WriteAt writes p and returns when the volume would have. It fails like ReadAt, and with ENOSPC if
// the image's backing store is full.
func (d *Disk) WriteAt(p []byte, off int64) (int, error) {
	if err := d.begin(len(p), off); err != nil {
		return 0, err
	}

	defer d.inFlight.Done()

	// Submit before copying: the copy takes place while the volume is "working" and adds no
	// latency.
	answer := d.submit(volume.Request{Op: volume.Write, Offset: units.Size(off), Length: units.Size(len(p))})
	w, err := d.put(p, off)
	if err != nil {
		d.counts.refused.Add(1)
		if errors.Is(err, errNoRoom) {
			return 0, syscall.ENOSPC
		}
		return 0, err
	}

	d.wait(volume.Write, len(p), answer)
	if w == nil {
		return len(p), d.alive()
	}

	d.mu.Lock()
	defer d.mu.Unlock()
	if d.down || d.closed {
		return 0, syscall.EIO
	}

	// From here on the write counts as acknowledged, so a cut may lose it only if the disk has a
	// volatile cache.
	w.done = true
	if !d.cfg.VolatileCache {
		d.volatile.durable([]*written{w})
	}

	return len(p), nil
}

// put copies a write's data into the image.
func (d *Disk) put(p []byte, off int64) (w *written, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.down || d.closed {
		return nil, syscall.EIO
	}
	if !d.cfg.PowerLoss {
		return nil, d.img.write(p, off)
	}

	// The log entry contains the data being replaced, so it has to be added before the write.
	if w, err = d.volatile.add(d.img, p, off); err != nil {
		return nil, err
	}

	if err := d.img.write(p, off); err != nil {
		d.volatile.forget(w)
		return nil, err
	}

	return w, nil
}

// Flush makes all acknowledged writes durable and returns when the volume would have.
func (d *Disk) Flush() error {
	if err := d.begin(0, 0); err != nil {
		return err
	}

	defer d.inFlight.Done()
	answer := d.submit(volume.Request{Op: volume.Flush})

	// A flush covers the writes acknowledged when it is submitted, not those acknowledged while it
	// waits.
	var answered []*written

	if d.cfg.PowerLoss {
		d.mu.RLock()
		answered = d.volatile.answered()
		d.mu.RUnlock()
	}

	d.wait(volume.Flush, 0, answer)
	if len(answered) == 0 {
		return d.alive()
	}

	d.mu.Lock()
	defer d.mu.Unlock()
	if d.down || d.closed {
		return syscall.EIO
	}

	d.volatile.durable(answered)
	return nil
}

// Discard drops a range, which then reads as zeros. It takes no time and is durable immediately,
// because rented volumes discard in the background.
func (d *Disk) Discard(off, n int64) error {
	if n < 0 || n > int64(d.cfg.Size) {
		return syscall.EINVAL
	}

	if err := d.begin(int(n), off); err != nil {
		return err
	}

	defer d.inFlight.Done()
	d.mu.Lock()
	defer d.mu.Unlock()

	if d.down || d.closed {
		return syscall.EIO
	}

	if d.cfg.PowerLoss {
		for _, w := range d.volatile.writes {
			w.zero(off, n)
		}
	}

	return d.img.discard(off, n)
}

// A Cut describes a power loss: what happens, at random, to writes that are not durable.
type Cut struct {
	Seed random.Seed
	Lose units.Ratio // share that is lost
	Torn units.Ratio // share of the others of which only the first sectors are kept
	// Sector is the size that the device writes atomically: 512 B or a multiple; 0 means 512 B. EBS
	// volumes on Nitro-based instances support 4, 8 and 16 KiB at aligned offsets (EC2 user guide,
	// "Block sizes for torn write prevention", 2025).
	Sector units.Size
}

// Cut turns the power off: requests in flight fail with EIO, and so do all others until Revive. The
// disk must have been created with PowerLoss.
func (d *Disk) Cut(c Cut) (CutReport, error) {
	if !d.cfg.PowerLoss {
		return CutReport{}, fmt.Errorf("disk %s does not support a power loss", d.cfg.Name)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.down {
		return CutReport{}, fmt.Errorf("disk %s already has no power", d.cfg.Name)
	}
	if c.Sector < 0 || c.Sector%sectorBytes != 0 {
		return CutReport{}, fmt.Errorf("sector of %d bytes: want a multiple of %d", c.Sector, sectorBytes)
	}
	d.down = true
	return d.volatile.cut(d.img, c.Seed.Stream("disk.cut."+d.cfg.Name), c)
}

// Revive restores the power once all requests in flight have failed.
func (d *Disk) Revive() {
	d.inFlight.Wait()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.down = false
}

func (d *Disk) close() error {
	d.mu.Lock()
	if d.closed {
		d.mu.Unlock()
		return nil
	}
	d.closed = true
	d.mu.Unlock()
	d.inFlight.Wait()
	return d.img.close()
}
