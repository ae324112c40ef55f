package recording

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
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
	// BlockBytes is the memory of these samples at which they become a block. 0 means 256 MiB, or
	// 16 MiB and 4 KiB for each series if Keep or KeepBytes is set.
	BlockBytes int64
	// BlockTime is the time after which samples become a block. 0 means no limit; if Keep or
	// KeepBytes is set, it means an hour, but at most an eighth and at least a 500th of Keep.
	BlockTime time.Duration
	// Keep and KeepBytes make the recording a ring. The oldest blocks are removed once all their
	// samples are older than the newest sample by Keep, and before the files in the folder exceed
	// KeepBytes. 0 means no limit; KeepBytes must be at least [RingBytesMin].
	Keep      time.Duration
	KeepBytes int64

	seriesBytes int64 // added to BlockBytes for each series
	blocks      int   // maximum number of blocks of a ring; 0 means blocksMax
}

const (
	// manifestTick is the period of checks for changed sources and notes.
	manifestTick = time.Second
	// manifestPause is the minimum time between two writes of recording.json. A write waits for the
	// disk, which may be the very disk under observation.
	manifestPause = 5 * time.Second
)

// Disk is a recording into a folder.
//
// Each Append reaches the operating system before it returns, so a killed process loses no batch
// that it had appended. Samples are not forced to stable storage until Close: a power loss loses
// those that the kernel has not written back yet, with Linux' defaults about the last 30 seconds.
// That is on purpose: a recorder that waits for the disk under observation would stall with it and
// distort the measurements.
//
// Close turns the recording into a TSDB block. A folder that was not closed is also complete; it is
// cleaned up when it is recorded to again.
type Disk struct {
	dir     string
	opt     DiskOptions
	lock    *dirLock
	place   *place
	created time.Time
	isRing  bool // the folder was created as a ring

	mu      sync.Mutex
	closed  bool
	live    *Memory // samples not in a block yet; its ledger is that of the recording
	wal     *walWriter
	samples int64           // appended since the last block was started
	batch   []*memorySeries // series of the columns being appended; nil if dropped
	// writer holds one token while no block is being written: the samples that the last attempt
	// failed to write, usually none.
	writer chan []*memoryView
	ring   ringState

	manifestMu   sync.Mutex
	saved        int // version of the ledger in recording.json
	savedAt      time.Time
	savedSources int // number of sources in recording.json
	stop         chan struct{}
	stopped      sync.WaitGroup
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
		return nil, errors.Join(fmt.Errorf("create recording: %w", err), lock.release())
	}

	d := &Disk{
		dir: dir, opt: opt, lock: lock, place: place, created: time.Now().UTC(),
		live:   NewMemory(MemoryOptions{MaxSeries: opt.MaxSeries, MaxBytes: math.MaxInt64, Tail: opt.tail()}),
		writer: make(chan []*memoryView, 1),
		stop:   make(chan struct{}),
	}

	d.ring.begun = time.Now()
	d.ring.clock.read = systemClock()
	d.live.rolling = opt.forgets()
	d.live.making = makeEmpty

	if err := d.start(); err != nil {
		return nil, errors.Join(fmt.Errorf("create recording: %w", err), lock.release())
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
	if o.forgets() {
		o = o.ringDefaults()
	}
	if o.BlockBytes <= 0 {
		o.BlockBytes = 256 << 20
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

// Append implements [Writer]. After a disk error the batch is not recorded and may be appended
// again.
func (d *Disk) Append(ctx context.Context, b *Batch) error {
	if err := ctx.Err(); err != nil {
		return err
	}

	if err := b.validate(); err != nil {
		return err
	}
	if len(b.TimesMs) == 0 {
		return nil
	}

	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return errClosed
	}

	d.forgotten()
	if err := cmp.Or(d.place.err(), d.stuck()); err != nil {
		return fmt.Errorf("record to %s: %w", d.dir, err)
	}

	// The log comes first: samples must not be in memory only.
	if b = d.live.timeless(b, d.lastMs()); len(b.TimesMs) == 0 {
		return nil
	}

	d.live.nextBatch()
	if err := d.logBatch(b); err != nil {
		return fmt.Errorf("record to %s: %w", d.dir, err)
	}

	// Notes report dropped samples as a share of these.
	d.live.handed.Add(int64(len(b.Columns)) * int64(len(b.TimesMs)))
	runs := &batchRuns{m: d.live, times: b.TimesMs, alone: len(b.Columns) == 1}
	for i, s := range d.batch {
		if s == nil {
			d.live.dropOver(b.Columns[i].Labels.Get(labels.MetricName), len(b.TimesMs), b.TimesMs[0],
				b.TimesMs[len(b.TimesMs)-1])
			continue
		}
		d.live.appendColumn(s, b.TimesMs, b.Columns[i].Values, runs)
	}

	d.samples += int64(len(b.TimesMs)) * int64(len(b.Columns))
	if d.due() {
		return d.beginBlock()
	}

	return nil
}

// logBatch writes the new samples of a batch to the write-ahead log.
func (d *Disk) logBatch(b *Batch) error {
	d.batch = d.batch[:0]
	for i := range b.Columns {
		c := &b.Columns[i]
		s := d.live.lookup(i, c.Labels)
		d.batch = append(d.batch, s)

		if s == nil {
			continue
		}

		skip := s.notNewer(b.TimesMs)
		if skip == len(b.TimesMs) {
			continue
		}

		values := c.Values
		if len(values) > 1 {
			values = values[skip:]
		}

		if err := d.wal.add(s, b.TimesMs[skip:], values); err != nil {
			return err
		}
	}

	return d.wal.flush()
}

// beginBlock passes the samples so far to a goroutine that writes them as a block and then removes
// them from the log. It waits while an earlier block is being written, which bounds the memory. The
// caller holds d.mu.
func (d *Disk) beginBlock() error {
	// Receiving the token waits for the previous block.
	unwritten := <-d.writer
	segment, err := d.wal.cut()
	if err != nil {
		d.writer <- unwritten
		d.setStuck(err)
		return fmt.Errorf("record to %s: write-ahead log: %w", d.dir, err)
	}

	views := append(unwritten, d.live.take()...)
	d.samples, d.ring.begun = 0, time.Now()
	newest := d.live.newestMs()
	go func() {
		// Old blocks are removed first, to make room for the new one.
		err := d.forget(newest)
		if err == nil {
			err = writeBlock(context.Background(), d.dir, views)
		}

		if err == nil {
			views = nil
			err = d.wal.log.Truncate(segment)
		}

		d.setStuck(err)
		if err != nil {
			// No data is lost: the log still has the samples, and the next block tries again.
			d.live.note(Note{Kind: NoteLimit, Source: d.dir,
				Text: fmt.Sprintf("cannot write a block (%v): free space on the recording's disk", err)})
		}

		d.writer <- views
	}()

	return nil
}

// Dropped returns the number of samples dropped so far. Notes contain the reasons.
func (d *Disk) Dropped() int64 { return d.live.dropped() }

// Note implements [Writer].
func (d *Disk) Note(n Note) { d.live.note(n) }

// Source implements [Writer].
func (d *Disk) Source(s Source) { d.live.source(d.continued(s)) }

// keepManifest writes recording.json when sources or notes have changed.
func (d *Disk) keepManifest() {
	tick := time.NewTicker(manifestTick)
	defer tick.Stop()

	for {
		select {
		case <-d.stop:
			return
		case <-tick.C:
			d.place.check()
			d.manifestMu.Lock()
			sources, _, version := d.live.all()
			// New sources are written immediately, because a recorder may be killed early.
			due := version != d.saved && (len(sources) > d.savedSources || time.Since(d.savedAt) >= manifestPause)
			d.manifestMu.Unlock()
			if due {
				// After an error the next tick tries again, and Close returns it.
				_ = d.saveManifest(stateRecording)
			}
		}
	}
}

func (d *Disk) saveManifest(state string) error {
	d.manifestMu.Lock()
	defer d.manifestMu.Unlock()
	sources, notes, version := d.live.all()
	now := time.Now().UTC()
	m := manifest{
		Format: formatName, Version: FormatVersion, State: state, Ring: d.isRing || d.opt.forgets(),
		Created: d.created, Updated: now, Sources: sources, Notes: notes,
	}

	if state == stateClosed {
		var err error
		if m.Blocks, err = blockEntries(d.dir); err != nil {
			return err
		}
	}

	d.savedAt = now
	if err := m.write(d.dir); err != nil {
		return err
	}

	d.saved, d.savedSources = version, len(sources)
	return nil
}

// Close ends the recording: its samples become a block, and the log is removed. If the block cannot
// be written, the log remains, and the folder is still a complete recording.
func (d *Disk) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil
	}

	d.closed = true

	// The goroutine of keepManifest never takes d.mu, so waiting for it here cannot deadlock.
	close(d.stop)
	d.stopped.Wait()
	views := append(<-d.writer, d.live.take()...)
	err := writeBlock(context.Background(), d.dir, views)
	err = errors.Join(err, d.wal.log.Close())
	state := stateRecording

	if err == nil {
		if err = emptyWAL(d.dir); err == nil {
			state = stateClosed
		}
	}

	err = errors.Join(err, d.saveManifest(state), d.lock.release())
	if err != nil {
		return fmt.Errorf("close recording %s: %w: the samples are in its log and remain readable; recording to it again repairs it",
			d.dir, err)
	}

	return nil
}
