package recording

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/prometheus/prometheus/tsdb"

	"plimsoll/internal/base/safefile"
)

// A ring is a recording that drops its oldest blocks once they are older than DiskOptions.Keep, or
// once the folder would exceed DiskOptions.KeepBytes. It always drops whole blocks, so the blocks
// of a ring are small: an hour, or less.
//
// Age is relative to the newest sample, not to the clock: a ring that is continued after a week
// still has the day before that week.
const (
	// RingBytesMin is the minimum of DiskOptions.KeepBytes: the files of a block alone are
	// allocated by the megabyte while they are written.
	RingBytesMin = 16 << 20
	// ringBlockTime is the maximum span of a ring's block, or an eighth of Keep if that is less.
	ringBlockTime = time.Hour
	// ringBlockBytes is the memory of a ring's samples at which they become a block, and
	// ringSeriesBytes the additional memory per series: 1 KiB of it is the unpacked tail, and the
	// rest about twenty minutes of packed seconds. Without it, 16,000 series would fill a block
	// every minute, and [blocksMax] blocks would last 16 hours.
	ringBlockBytes  = 16 << 20
	ringSeriesBytes = 4 << 10
	// blocksMax bounds the blocks of a ring, because a recorder leaves one with each restart.
	blocksMax = 1000
	// stuckPause is the wait before another attempt after a block could not be written.
	stuckPause = 30 * time.Second
	// deletedSuffix marks a block that is being removed. Prometheus uses the same suffix.
	deletedSuffix = ".tmp-for-deletion"
)

// A NoRingError refuses to continue a recording as a ring, because that would remove its older
// samples.
type NoRingError struct{ Dir string }

func (e *NoRingError) Error() string {
	return e.Dir + " is a recording, but not a ring: continuing it as a ring would remove its older samples"
}

// Hint returns what to do.
func (e *NoRingError) Hint() string {
	return "plimsoll watch SOURCE... --out " + e.Dir + "-ring keeps a ring next to it; plimsoll diagnose " + e.Dir +
		" shows what it contains"
}

// forgets reports whether old samples are removed.
func (o DiskOptions) forgets() bool { return o.Keep > 0 || o.KeepBytes > 0 }

// ringTail is the tail of each series in a ring. With thousands of series, longer tails would take
// most of a ring's memory.
const ringTail = 64

// tail returns the [MemoryOptions] Tail for samples that are not in a block yet.
func (o DiskOptions) tail() int {
	if o.forgets() {
		return ringTail
	}
	return 0
}

// ringState is the state of a [Disk] as a ring.
type ringState struct {
	clock   steadyClock
	begun   time.Time    // start of the samples that are not in a block yet
	crowded atomic.Bool  // it has reached its maximum of blocks, which is noted
	cut     atomic.Int64 // samples before this time (ms) have been removed; 0 if there is nothing to apply

	mu      sync.Mutex
	stuck   error // why the last block could not be written
	stuckAt time.Time
	before  map[string]*earlier // sources of earlier recorders, by name
}

// ringDefaults sets the sizes of a ring's blocks. Half of the maximum number of blocks is reserved
// for those that restarted recorders leave, or that many series require.
func (o DiskOptions) ringDefaults() DiskOptions {
	if o.blocks <= 0 {
		o.blocks = blocksMax
	}
	o.blockBytes, o.seriesBytes, o.blockTime = ringBlockBytes, ringSeriesBytes, ringBlockTime
	if o.Keep > 0 {
		o.blockTime = max(min(o.blockTime, o.Keep/8), o.Keep/time.Duration(max(o.blocks/2, 1)))
	}
	return o
}

func (o DiskOptions) validate() error {
	if o.KeepBytes > 0 && o.KeepBytes < RingBytesMin {
		return fmt.Errorf("a ring of %d bytes is too small: want %d or more", o.KeepBytes, RingBytesMin)
	}
	return nil
}

// While a block is written, its samples are in both the log and the block, and the log grows: three
// eighths of KeepBytes stay free for that.
func (o DiskOptions) blocksBudget() int64 { return o.KeepBytes / 8 * 5 }
func (o DiskOptions) logBudget() int64    { return o.KeepBytes / 8 }

// due reports whether the samples so far should become a block.
func (d *Disk) due() bool {
	switch {
	case d.live.crowded:
		d.live.crowded = false
		return true
	case d.samples >= d.opt.BlockSamples,
		d.live.bytes-d.live.seriesBytes >= d.opt.blockBytes+d.opt.seriesBytes*int64(d.live.series):
		return true
	case d.opt.blockTime > 0 && time.Since(d.ring.begun) >= d.opt.blockTime:
		return true
	}
	return d.opt.KeepBytes > 0 && d.wal.logged >= d.opt.logBudget()
}

// stuck returns the error of a ring that could not write its last block. Until a block can be
// written, the ring refuses samples, because they would accumulate in memory and in the log. The
// caller holds d.mu.
func (d *Disk) stuck() error {
	if !d.opt.forgets() {
		return nil
	}

	d.ring.mu.Lock()
	err, at := d.ring.stuck, d.ring.stuckAt
	d.ring.mu.Unlock()

	if err == nil {
		return nil
	}

	// An empty channel means that an attempt is still running.
	if time.Since(at) >= stuckPause && len(d.writer) > 0 {
		d.setStuck(err) // the next attempt waits for another pause
		if again := d.beginBlock(); again != nil {
			err = again
		}
	}

	return err
}

func (d *Disk) setStuck(err error) {
	d.ring.mu.Lock()
	defer d.ring.mu.Unlock()
	d.ring.stuck, d.ring.stuckAt = err, time.Now()
}

// storedBlock is a block in the folder.
type storedBlock struct {
	dir    string
	lastMs int64 // time of its newest sample, or, if unknown, of its writing
	known  bool  // the time of its newest sample is known
	bytes  int64
}

// forget removes the blocks that a ring no longer keeps, oldest first, and notes about their time.
// newestMs is the time of the newest sample.
func (d *Disk) forget(newestMs int64) error {
	if !d.opt.forgets() {
		return nil
	}

	blocks, err := storedBlocks(d.dir)
	if err != nil {
		return err
	}

	// A sample from the future must not make other samples look old.
	last := d.lastMs()
	newestMs = min(newestMs, last)
	slices.SortStableFunc(blocks, func(a, b storedBlock) int { return cmp.Compare(a.lastMs, b.lastMs) })

	var bytes int64
	for _, b := range blocks {
		bytes += b.bytes
		if b.known {
			newestMs = max(newestMs, min(b.lastMs, last))
		}
	}

	cut := int64(0)
	if d.opt.Keep > 0 {
		cut = newestMs - d.opt.Keep.Milliseconds()
	}

	for i, b := range blocks {
		old := d.opt.Keep > 0 && b.lastMs < cut
		large := d.opt.KeepBytes > 0 && bytes > d.opt.blocksBudget()
		if !old && !large && len(blocks)-i <= d.opt.blocks {
			continue
		}

		if !old && !large {
			d.noteCrowded(b)
		}

		if err := removeBlock(b.dir); err != nil {
			return err
		}

		bytes -= b.bytes
		cut = max(cut, min(b.lastMs, last)+1)
	}

	if cut > 0 {
		d.ring.cut.Store(cut)
	}

	return nil
}

// noteCrowded notes once that samples were removed earlier than Keep.
func (d *Disk) noteCrowded(b storedBlock) {
	if d.ring.crowded.Swap(true) {
		return
	}
	d.live.note(Note{Kind: NoteLimit, Source: d.dir,
		Text: fmt.Sprintf("the ring has reached its maximum of %d blocks: samples up to %s were removed early; a recorder that restarts often or has very many series leaves small blocks",
			d.opt.blocks, time.UnixMilli(b.lastMs).UTC().Format(time.RFC3339))})
}

// forgotten drops everything in memory about samples that the folder no longer has. The caller
// holds d.mu.
func (d *Disk) forgotten() {
	if cut := d.ring.cut.Swap(0); cut > 0 {
		d.live.forget(time.UnixMilli(cut).UTC())
	}
}

// storedBlocks returns the complete blocks of a folder, in the order in which they were written.
func storedBlocks(dir string) ([]storedBlock, error) {
	dirs, err := blockDirs(dir)
	if err != nil {
		return nil, err
	}

	out := make([]storedBlock, 0, len(dirs))
	for _, b := range dirs {
		meta, err := readBlockMeta(b)
		known := err == nil
		if !known { // damaged; the time in its name is after its last sample
			id, _ := ulid.ParseStrict(filepath.Base(b))
			meta.MaxTime = int64(id.Time())
		}
		bytes, err := folderSize(b)
		if err != nil {
			return nil, err
		}
		out = append(out, storedBlock{dir: b, lastMs: meta.MaxTime - 1, known: known, bytes: bytes})
	}

	return out, nil
}

// blockMetaMax bounds a block's meta.json. Prometheus' own have several hundred bytes.
const blockMetaMax = 1 << 20

// readBlockMeta reads a block's meta.json.
func readBlockMeta(dir string) (meta tsdb.BlockMeta, err error) {
	f, err := safefile.Open(filepath.Join(dir, "meta.json"))
	if err != nil {
		return meta, err
	}
	defer f.Close()
	return meta, json.NewDecoder(io.LimitReader(f, blockMetaMax)).Decode(&meta)
}

// removeBlock removes a block atomically for all processes that list the folder.
func removeBlock(dir string) error {
	if err := os.Rename(dir, dir+deletedSuffix); err != nil {
		return fmt.Errorf("remove block: %w", err)
	}
	if err := os.RemoveAll(dir + deletedSuffix); err != nil {
		return fmt.Errorf("remove block: %w", err)
	}
	return nil
}

// folderSize returns the sum of the sizes of the files below dir that still exist.
func folderSize(dir string) (bytes int64, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return 0, err
	}

	for _, e := range entries {
		if e.IsDir() {
			below, err := folderSize(filepath.Join(dir, e.Name()))
			if err != nil && !errors.Is(err, os.ErrNotExist) {
				return 0, err
			}
			bytes += below
		} else if info, err := e.Info(); err == nil {
			bytes += info.Size()
		}
	}

	return bytes, nil
}

// Bytes returns the size of the files in the folder.
func (d *Disk) Bytes() (int64, error) { return folderSize(d.dir) }

// continued merges a source with its description by an earlier recorder, and notes the time in
// between, in which nothing was recorded.
func (d *Disk) continued(s Source) Source {
	d.ring.mu.Lock()
	defer d.ring.mu.Unlock()
	b, ok := d.ring.before[s.Name]
	if !ok || s.From.IsZero() || b.source.To.IsZero() {
		return s
	}

	if !d.opt.forgets() && !s.From.After(b.source.To) {
		return s // a file that is recorded a second time
	}

	if !b.noted && s.From.Sub(b.source.To) > max(ringGapMin, 3*s.Period) {
		d.live.note(Note{Kind: NoteGap, Source: s.Name, From: b.source.To, To: s.From,
			Text: "no recorder was running between the end of one and the start of the next"})
	}

	b.noted = true
	s.Samples += b.source.Samples
	if b.source.From.Before(s.From) {
		s.From = b.source.From
		// The source continues, so it starts where the earlier recorder's part did.
	}

	return s
}

// ringGapMin is the minimum absence of a recorder that is noted, in rings and other recordings.
const ringGapMin = 5 * time.Second

// earlier is a source as described by an earlier recorder.
type earlier struct {
	source Source
	noted  bool
}

// sourcesMax bounds the sources of earlier recorders in a ring.
const sourcesMax = 256

// remember keeps the sources of earlier recorders. Their last sample may be later than the
// description says, so the samples decide.
func (d *Disk) remember() {
	sources, _, _ := d.live.all()
	newest := d.live.newestMs()
	d.ring.before = map[string]*earlier{}
	for _, s := range sources {
		if newest > s.To.UnixMilli() || newest > 0 && s.To.UnixMilli() > d.lastMs() {
			s.To = time.UnixMilli(newest).UTC()
		}
		d.ring.before[s.Name] = &earlier{source: s}
	}
}
