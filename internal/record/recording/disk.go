package recording

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/prometheus/prometheus/model/labels"
)

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
	lock    *os.File // the locked folder
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

// Append implements [Writer]. After a disk error the batch is not recorded and may be appended
// again.
func (d *Disk) Append(ctx context.Context, batch *Batch) error {
	if err := ctx.Err(); err != nil {
		return err
	}

	if err := batch.validate(); err != nil {
		return err
	}
	if len(batch.TimesMs) == 0 {
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
	if batch = d.live.timeless(batch, d.lastMs()); len(batch.TimesMs) == 0 {
		return nil
	}

	d.live.nextBatch()
	if err := d.logBatch(batch); err != nil {
		return fmt.Errorf("record to %s: %w", d.dir, err)
	}

	// Notes report dropped samples as a share of these.
	d.live.handed.Add(int64(len(batch.Columns)) * int64(len(batch.TimesMs)))
	runs := &batchRuns{m: d.live, times: batch.TimesMs}
	for i, s := range d.batch {
		if s == nil {
			d.live.drop(&d.live.over, batch.Columns[i].Labels.Get(labels.MetricName), len(batch.TimesMs),
				batch.TimesMs[0], batch.TimesMs[len(batch.TimesMs)-1])
			continue
		}
		d.live.appendColumn(s, batch.TimesMs, batch.Columns[i].Values, runs)
	}

	d.samples += int64(len(batch.TimesMs)) * int64(len(batch.Columns))
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

	err = errors.Join(err, d.saveManifest(state), d.lock.Close())
	if err != nil {
		return fmt.Errorf("close recording %s: %w: the samples are in its log and remain readable; recording to it again repairs it",
			d.dir, err)
	}

	return nil
}
