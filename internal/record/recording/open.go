package recording

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb"
)

// Open reads the present state of a recording on disk. It writes nothing, so the folder may be on
// read-only storage, be read by any number of processes, or have been left by a killed process. It
// may also still be recorded to; open it again to see later samples.
func Open(dir string) (Reader, error) {
	// A recorder turns its log into a block and then removes the log. So blocks are listed before
	// and after the log is read. If a new one has appeared in between, samples may be missing from
	// both, and everything is read again.
	for range openTries {
		f, again, err := open(dir)
		if err != nil {
			return nil, fmt.Errorf("open recording: %w", err)
		}
		if !again {
			return f, nil
		}
		f.Close()
	}

	return nil,
		fmt.Errorf("open recording: %s changed during each of %d reads: wait for its recorder to finish",
			dir, openTries)
}

const openTries = 5

// folder is a recording on disk: its blocks, and the newer samples in the log.
type folder struct {
	dir     string
	state   string
	queries *queries
	blocks  []*sturdyBlock
	recent  *Memory // the samples in the log
	sources []Source
	notes   []Note
	marks   []Mark
	closing sync.Once

	mu      sync.Mutex
	metrics []Metric
}

func open(dir string) (opened *folder, again bool, err error) {
	defer recovered(&err)
	manifest, err := readManifest(dir)
	if err != nil {
		return nil, false, err
	}

	opened = &folder{dir: dir, state: manifest.State, queries: newQueries(QueryOptions{}),
		recent: NewMemory(MemoryOptions{}), sources: manifest.Sources,
		notes: append(manifest.Notes, manifest.missing(dir)...),
		marks: ReadMarks(dir)}
	before, err := blockDirs(dir)
	if err != nil {
		return nil, false, err
	}

	for _, b := range before {
		block, err := openBlock(b)
		if _, gone := os.Stat(b); err != nil && errors.Is(gone, fs.ErrNotExist) {
			return opened, true, nil // a ring has just removed it
		}

		if errors.Is(err, fs.ErrPermission) {
			opened.Close()
			return nil, false, fmt.Errorf("block: %w", err)
		}

		if err != nil {
			opened.notes = append(opened.notes, lostBlock(dir, b, err))
			continue
		}

		if meta := block.Meta(); meta.MaxTime <= meta.MinTime {
			opened.notes = append(opened.notes, lostBlock(dir, b,
				errors.New("its last sample is before its first one")))
			if err := block.Close(); err != nil {
				return nil, false, err
			}
			continue
		}

		opened.blocks = append(opened.blocks, block)
	}

	damage, err := readWAL(context.Background(), dir, opened.recent, TimeMaxMs)
	vanished := errors.Is(err, fs.ErrNotExist)
	if err != nil && !vanished {
		opened.Close()
		return nil, false, err
	}

	after, err := blockDirs(dir)
	if err != nil {
		opened.Close()
		return nil, false, err
	}

	// A block was added or removed during the read, so the state is inconsistent.
	if vanished || !slices.Equal(before, after) {
		return opened, true, nil
	}

	opened.noteDamage(damage, manifest.State)
	return opened, false, nil
}

// noteDamage notes the damage of the log, and an unclean shutdown of the recorder.
func (f *folder) noteDamage(damage []walDamage, state string) {
	live := state == stateRecording && beingWritten(f.dir)
	for _, w := range damage {
		if w.last && live {
			continue // the write in progress
		}
		f.notes = append(f.notes, w.note(f.dir))
	}

	_, dropped, _ := f.recent.all()
	f.notes = append(f.notes, dropped...)
	if state != stateRecording {
		return
	}

	if !live {
		f.notes = append(f.notes, Note{Kind: NoteLimit, Source: f.dir,
			Text: "the recorder did not shut down cleanly: the last details of the sources and the last batch may be missing"})
	}

	if from, to, ok := f.span(); ok && len(f.sources) == 1 {
		// Sources are saved only occasionally, so the samples are more accurate.
		s := &f.sources[0]
		Extend(&s.From, &s.To, from, to)
		s.Samples = max(s.Samples, f.sampleTimes())
	}
}

// sampleTimes returns the approximate number of sample times: the maximum among the series in the
// log, plus the average of each block.
func (f *folder) sampleTimes() (n int64) {
	for _, series := range f.recent.byName {
		for _, s := range series {
			times := int64(len(s.tailT))
			for i := range s.segments {
				times += int64(len(s.segments[i].run.times))
			}
			n = max(n, times)
		}
	}

	for _, b := range f.blocks {
		if stats := b.Meta().Stats; stats.NumSeries > 0 {
			n += int64(stats.NumSamples / stats.NumSeries)
		}
	}

	return n
}

// span returns the time from the first to the last sample.
func (f *folder) span() (from, to time.Time, ok bool) {
	mint, maxt := int64(math.MaxInt64), int64(math.MinInt64)
	for _, b := range f.blocks {
		meta := b.Meta()
		mint, maxt = min(mint, meta.MinTime), max(maxt, meta.MaxTime-1)
	}
	for _, series := range f.recent.byName {
		for _, s := range series {
			if len(s.segments)+len(s.tailT) > 0 {
				mint, maxt = min(mint, s.firstMs()), max(maxt, s.lastMs)
			}
		}
	}
	return time.UnixMilli(mint).UTC(), time.UnixMilli(maxt).UTC(), mint <= maxt
}

// Querier implements storage.Queryable over blocks and log.
func (f *folder) Querier(mint, maxt int64) (storage.Querier, error) {
	var queriers []storage.Querier
	for _, b := range f.blocks {
		if !b.OverlapsClosedInterval(mint, maxt) {
			continue
		}
		q, err := tsdb.NewBlockQuerier(b, mint, maxt)
		if err != nil {
			for _, q := range queriers {
				q.Close()
			}
			return nil, fmt.Errorf("block %s: %w", b.Dir(), err)
		}
		queriers = append(queriers, q)
	}

	if f.recent.series > 0 {
		q, err := f.recent.Querier(mint, maxt)
		if err != nil {
			return nil, err
		}
		queriers = append(queriers, q)
	}

	return storage.NewMergeQuerier(queriers, nil, storage.ChainedSeriesMerge), nil
}

// Sources implements [Reader].
func (f *folder) Sources() []Source { return slices.Clone(f.sources) }

// Notes implements [Reader].
//
// Damage to a block shows only when it is read, so the notes are complete only after the samples
// have been read.
func (f *folder) Notes() []Note {
	out := slices.Clone(f.notes)
	for _, b := range f.blocks {
		out = append(out, b.notes(f.dir)...)
	}
	return out
}

// Marks implements [Reader].
func (f *folder) Marks() []Mark { return slices.Clone(f.marks) }

// Metrics implements [Reader]. The first call reads the indexes; later calls return the same
// result.
func (f *folder) Metrics(ctx context.Context) ([]Metric, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.metrics == nil {
		metrics, err := f.readMetrics(ctx)
		if err != nil {
			return nil, fmt.Errorf("metrics of %s: %w", f.dir, err)
		}
		f.metrics = metrics
	}
	return slices.Clone(f.metrics), nil
}

// extent is the times of the first and the last sample of a series, in ms.
type extent struct{ first, last int64 }

func (f *folder) readMetrics(ctx context.Context) (out []Metric, err error) {
	defer recovered(&err)
	names := map[string]map[string]extent{} // by name, by labels
	add := func(l labels.Labels, firstMs, lastMs int64) {
		name := l.Get(labels.MetricName)
		if names[name] == nil {
			names[name] = map[string]extent{}
		}
		key := string(l.Bytes(nil))
		if e, ok := names[name][key]; ok {
			firstMs, lastMs = min(firstMs, e.first), max(lastMs, e.last)
		}
		names[name][key] = extent{firstMs, lastMs}
	}

	for _, b := range f.blocks {
		if err := eachBlockSeries(ctx, b, add); err != nil {
			return nil, err
		}
	}

	for _, series := range f.recent.byName {
		for _, s := range series {
			if len(s.segments)+len(s.tailT) > 0 {
				add(s.labels, s.firstMs(), s.lastMs)
			}
		}
	}

	start, err := f.Querier(math.MinInt64, math.MaxInt64)
	if err != nil {
		return nil, err
	}

	defer start.Close()

	// The end has a separate querier, because seeking there would decode the whole series.
	_, to, _ := f.span()
	end, err := f.Querier(to.Add(-endSpan).UnixMilli(), math.MaxInt64)
	if err != nil {
		return nil, err
	}

	defer end.Close()
	out = make([]Metric, 0, len(names))
	for name, extents := range names {
		m, err := summarize(ctx, start, end, name, extents)
		if err != nil {
			return nil, err
		}
		out = append(out, m)
	}

	slices.SortFunc(out, func(a, b Metric) int { return cmp.Compare(a.Name, b.Name) })
	return out, nil
}

// endSpan is the span at the end of a recording that is also sampled for periods.
const endSpan = time.Minute

// summarize reads some samples of a metric to determine its period.
func summarize(ctx context.Context, start, end storage.Querier, name string,
	extents map[string]extent) (Metric, error) {
	var sum metricSummary
	for _, e := range extents {
		sum.add(e.first, e.last)
	}

	byName := labels.MustNewMatcher(labels.MatchEqual, labels.MetricName, name)
	for _, part := range []struct {
		data    storage.Querier
		samples int
	}{{start, periodFirst}, {end, periodLast}} {
		set := part.data.Select(ctx, true, nil, byName)
		for i := 0; i < periodSeries && set.Next(); i++ {
			sum.measure(set.At().Iterator(nil), part.samples)
		}
		if err := set.Err(); err != nil {
			return Metric{}, err
		}
	}

	return sum.metric(name), nil
}

// Samples implements [Reader].
func (f *folder) Samples(ctx context.Context, selector Selector, from, to time.Time) ([]Series, error) {
	return f.queries.samples(ctx, f, selector, from, to)
}

// Range implements [Reader].
func (f *folder) Range(ctx context.Context, expr string, from, to time.Time, step,
	lookback time.Duration) ([]Series, error) {
	return f.queries.run(ctx, f, expr, from, to, step, lookback)
}

// Close implements [Reader]. It waits for running queries.
func (f *folder) Close() (err error) {
	f.closing.Do(func() {
		for _, b := range f.blocks {
			err = errors.Join(err, b.Close())
		}
	})
	return err
}
