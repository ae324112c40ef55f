package recording

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/tsdb"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
)

// heal removes the samples of a ring that are ahead of this machine's clock: the clock itself was
// ahead when they were taken, for example after a boot before it was set. They would make all other
// samples too old to keep, and no newer sample of their series could follow them.
func (d *Disk) heal(blocks []string) error {
	if !d.opt.forgets() {
		return nil
	}

	last := d.lastMs()
	for _, dir := range blocks {
		meta, err := readBlockMeta(dir)
		if err != nil || meta.MaxTime-1 <= last {
			continue // damaged blocks are left as they are
		}
		dropped, err := d.healBlock(dir, last)
		if err != nil {
			return fmt.Errorf("repair block %s: %w: remove that folder to continue without its samples", dir, err)
		}
		d.live.note(Note{Kind: NoteDropped, Source: d.dir, From: time.UnixMilli(last).UTC(),
			Text: fmt.Sprintf("removed %d samples of an earlier recorder that were ahead of this machine's clock: correct the clock of the machine that recorded them",
				dropped)})
	}

	return nil
}

// healBlock replaces a block with one without the samples after a time (ms), and returns their
// number.
func (d *Disk) healBlock(dir string, last int64) (dropped uint64, err error) {
	defer recovered(&err)
	b, err := openBlock(dir)
	if err != nil {
		return 0, err
	}

	whole := b.Meta().Stats.NumSamples
	m := NewMemory(MemoryOptions{MaxSeries: math.MaxInt, MaxBytes: math.MaxInt64, Tail: ringTail})

	// The good samples become a new block before the old one is removed.
	kept, err := copyBlock(b, m, last)
	if closing := b.Close(); err == nil {
		err = closing
	}

	if err == nil {
		err = writeBlock(context.Background(), d.dir, m.take())
	}

	// The old block is removed last. A crash before that leaves duplicates, which readers merge.
	if err == nil {
		err = removeBlock(dir)
	}

	return whole - min(whole, kept), err
}

// copyBlock copies the samples up to a time (ms) and returns their number.
func copyBlock(b *sturdyBlock, m *Memory, last int64) (kept uint64, err error) {
	q, err := tsdb.NewBlockQuerier(b, math.MinInt64, last)
	if err != nil {
		return 0, err
	}

	defer q.Close()
	set := q.Select(context.Background(), false, nil,
		labels.MustNewMatcher(labels.MatchRegexp, labels.MetricName, ".+"))
	var it chunkenc.Iterator
	var times []int64

	var values []float64
	for set.Next() {
		series := set.At()
		times, values = times[:0], values[:0]
		for it = series.Iterator(it); it.Next() != chunkenc.ValNone; {
			t, v := it.At()
			times, values = append(times, t), append(values, v)
		}

		if err := it.Err(); err != nil {
			return kept, err
		}

		if len(times) > 0 {
			m.appendRun(m.find(series.Labels().Copy()), times, values)
			kept += uint64(len(times))
		}
	}

	return kept, set.Err()
}
