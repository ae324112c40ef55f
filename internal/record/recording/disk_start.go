package recording

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"plimsoll/internal/base/safefile"
)

// DiskOptions limit a [Disk]. The zero value is ready for use.
type DiskOptions struct {
	// MaxSeries bounds the series; samples of further series are dropped and noted. 0 means
	// 200,000.
	MaxSeries int
	// BlockSamples is the number of samples in memory and in the write-ahead log that become a
	// block. 0 means 32 million: two days of 150 series at one second.
	BlockSamples int64
	// Keep and KeepBytes make the recording a ring. The oldest blocks are removed once all their
	// samples are older than the newest sample by Keep, and before the files in the folder exceed
	// KeepBytes. 0 means no limit; KeepBytes must be at least [RingBytesMin].
	Keep      time.Duration
	KeepBytes int64

	blocks int // maximum number of blocks of a ring; 0 means blocksMax

	// Samples also become a block when they take blockBytes of memory and seriesBytes for each
	// series, and after blockTime, 0 for no limit.
	blockBytes, seriesBytes int64
	blockTime               time.Duration
}

// Create opens a folder for recording. A new or empty folder becomes a recording. An existing
// recording is continued with samples newer than the last one of each series. Any other folder is
// refused. Continuing a recording that is not a ring as a ring is refused with a [NoRingError].
func Create(dir string, opt DiskOptions) (*Disk, error) {
	if err := opt.validate(); err != nil {
		return nil, fmt.Errorf("create recording: %w", err)
	}

	opt = opt.withDefaults()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("create recording: %w", err)
	}

	lock, err := lockDir(dir)
	if err != nil {
		return nil, fmt.Errorf("create recording: %w", err)
	}

	place, err := newPlace(dir)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("create recording: %w", err), lock.Close())
	}

	d := &Disk{
		dir: dir, opt: opt, lock: lock, place: place, created: time.Now().UTC(),
		live:   NewMemory(MemoryOptions{MaxSeries: opt.MaxSeries, MaxBytes: math.MaxInt64, Tail: opt.tail()}),
		writer: make(chan []*memoryView, 1),
		stop:   make(chan struct{}),
	}

	d.ring.begun = time.Now()
	d.ring.clock.read = SystemClock()
	d.live.rolling = opt.forgets()
	d.live.making = makeEmpty

	if err := d.start(); err != nil {
		return nil, errors.Join(fmt.Errorf("create recording: %w", err), lock.Close())
	}

	d.writer <- nil
	d.stopped.Go(d.keepManifest)
	return d, nil
}

func (o DiskOptions) withDefaults() DiskOptions {
	if o.MaxSeries <= 0 {
		o.MaxSeries = 200_000
	}
	if o.BlockSamples <= 0 {
		o.BlockSamples = 32 << 20
	}
	o.blockBytes = 256 << 20
	if o.forgets() {
		o = o.ringDefaults()
	}
	return o
}

// start makes the folder a recording or continues the existing one.
func (d *Disk) start() error {
	entries, err := os.ReadDir(d.dir)
	if err != nil {
		return err
	}

	entries = slices.DeleteFunc(entries, func(e os.DirEntry) bool {
		// From a process that was killed in its very first step, or from a separate file system.
		return safefile.IsLeftover(e.Name()) || e.Name() == "lost+found"
	})
	if len(entries) > 0 {
		if err := d.resume(); err != nil {
			return err
		}
	}

	if err := removeTemporary(d.dir); err != nil {
		return err
	}

	if err := d.saveManifest(stateRecording); err != nil {
		return err
	}

	d.wal, err = newWAL(d.dir)
	return err
}

// resume reads an existing recording: its manifest, the last sample of each series, and the log of
// a killed process, which becomes a block.
func (d *Disk) resume() error {
	m, err := readManifest(d.dir)
	if err != nil {
		return err
	}

	if d.opt.forgets() && !m.Ring {
		return &NoRingError{Dir: d.dir}
	}

	d.isRing = m.Ring
	d.created = m.Created
	if d.opt.forgets() && len(m.Sources) > sourcesMax {
		m.Sources = m.Sources[len(m.Sources)-sourcesMax:]
	}

	for _, s := range m.Sources {
		d.live.source(s)
	}

	for _, n := range m.Notes {
		d.live.note(n)
	}

	if err := ownWAL(d.dir); err != nil {
		return err
	}

	blocks, err := blockDirs(d.dir)
	if err != nil {
		return err
	}

	// Healing may replace blocks, so they are listed again afterwards.
	if err := d.heal(blocks); err != nil {
		return err
	}

	blocks, err = blockDirs(d.dir)
	if err != nil {
		return err
	}

	for _, b := range blocks {
		if err := d.seed(b); err != nil {
			d.live.note(lostBlock(d.dir, b, err))
		}
	}

	damage, err := readWAL(context.Background(), d.dir, d.live, d.lastMs())
	if err != nil {
		return err
	}

	for _, w := range damage {
		d.live.note(w.note(d.dir))
	}

	d.remember()
	if err := d.forget(d.live.newestMs()); err != nil {
		return err
	}

	// The log is emptied only after its samples are in a block, so a crash in between repeats this
	// step and loses nothing.
	if err := writeBlock(context.Background(), d.dir, d.live.take()); err != nil {
		return err
	}

	return emptyWAL(d.dir)
}

// seed reads the time of the last sample of each series in a block.
func (d *Disk) seed(dir string) (err error) {
	defer recovered(&err)
	b, err := openBlock(dir)
	if err != nil {
		return err
	}
	defer b.Close()
	return eachBlockSeries(context.Background(), b, func(l labels.Labels, _, lastMs int64) {
		if s := d.live.find(l); s != nil && (!s.any || s.lastMs < lastMs) {
			s.any, s.lastMs = true, lastMs
		}
	})
}

// removeTemporary removes the unfinished files of a killed process.
func removeTemporary(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.IsDir() && (strings.HasSuffix(e.Name(), temporarySuffix) ||
			strings.HasSuffix(e.Name(), deletedSuffix)) {
			if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
				return err
			}
		}
	}
	return safefile.RemoveLeftovers(filepath.Join(dir, ManifestName))
}
