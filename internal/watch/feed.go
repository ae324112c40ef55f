package watch

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/recording"
)

// How long to wait before reopening a source that ended. Sources survive restarts of their
// database; this covers errors after which they give up.
const (
	againAfter = time.Second
	againMax   = time.Minute
)

// windowBytesMax bounds the memory of one source's window.
const windowBytesMax = 256 << 20

// windowTail is the number of samples of a series that are kept uncompressed: some minutes, because
// samples that leave the window are dropped in whole chunks.
const windowTail = 128

// remarksMax bounds the notes of a source that are remembered in order to log each one once.
const remarksMax = 100

// A feed reads one source into its window, the ring and the receiver.
type feed struct {
	in     Input
	name   string // in displayable form
	window *recording.Memory
	outs   []*queue
	log    *slog.Logger
	wants  func(metric string) bool
	period time.Duration
	figs   *figures

	mu        sync.Mutex
	described map[string]recording.Source // the source's descriptions, by name
	samples   int64
	values    int64
	lastMs    int64     // time of the newest sample
	heard     time.Time // when it arrived
	silent    bool
	remarks   map[string]bool
	kept      time.Time // when the source was last written to the ring
}

// describeEvery is how often the sources' progress is written to the ring. Each write waits for the
// disk.
const describeEvery = time.Minute

func newFeed(in Input, outs []*queue, pack *rules.Pack, log *slog.Logger) *feed {
	f := &feed{
		figs: newFigures(pack),
		in:   in, name: in.Source.Describe().Name, outs: outs, log: log, wants: remembered(diagnose.Wants(pack)),
		period: in.Options.Period,
		window: recording.NewMemory(recording.MemoryOptions{MaxBytes: windowBytesMax, Tail: windowTail,
			Rolling: true}),
		described: map[string]recording.Source{}, remarks: map[string]bool{}, heard: time.Now(),
	}
	if f.period <= 0 {
		f.period = time.Second
	}

	// With a ring or a receiver, all metrics are recorded. Otherwise sources may skip what no rule
	// reads.
	if len(outs) == 0 && f.in.Options.Want == nil {
		f.in.Options.Want = func(metric string) bool { return f.wants(metric) || f.figs.has(metric) }
	}

	return f
}

// remembered caches the result for each name: a page has the same thousand names every second. It
// is safe for concurrent use, like a source's Append, because the members of an etcd cluster are
// read concurrently.
func remembered(wants func(metric string) bool) func(metric string) bool {
	var mu sync.Mutex
	known := map[string]bool{}
	return func(metric string) bool {
		mu.Lock()
		defer mu.Unlock()
		wanted, ok := known[metric]
		if !ok {
			wanted = wants(metric)
			if len(known) < namesMax {
				known[strings.Clone(metric)] = wanted
			}
		}
		return wanted
	}
}

// namesMax bounds the cached metric names.
const namesMax = 20_000

// run reads until the context ends, reopening the source if necessary.
func (f *feed) run(ctx context.Context) {
	for pause := againAfter; ; pause = min(2*pause, againMax) {
		before := f.count()
		err := f.in.Source.Read(ctx, f, f.in.Options)
		if ctx.Err() != nil {
			return
		}

		// It worked for a while, so this is a new failure.
		if f.count() > before {
			pause = againAfter
		}

		if err != nil {
			f.log.Warn("cannot read the source; retrying", "source", f.name, "error", err, "pause", pause.String())
		}

		if !sleep(ctx, pause) {
			return
		}
	}
}

func (f *feed) count() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.samples
}

// last returns the time of the newest sample; zero without any.
func (f *feed) last() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.samples == 0 {
		return time.Time{}
	}
	return time.UnixMilli(f.lastMs).UTC()
}

// move drops samples before from, and updates the window's description of the source.
func (f *feed) move(from time.Time) *recording.Memory {
	f.window.Forget(from)
	f.mu.Lock()
	described := slices.Collect(maps.Values(f.described))
	to := time.UnixMilli(f.lastMs).UTC()

	keep := time.Since(f.kept) >= describeEvery
	if keep {
		f.kept = time.Now()
	}

	f.mu.Unlock()
	now := f.in.Source.Describe()
	slices.SortFunc(described, func(a, b recording.Source) int { return a.From.Compare(b.From) })

	for _, s := range described {
		if s.Name == now.Name {
			s.Samples = max(s.Samples, now.Samples)
		}

		s.To = to
		if keep {
			kept := s // the window's copy begins later
			f.put(queued{other: func(out recording.Writer) { out.Source(kept) }})
		}

		if s.From.Before(from) {
			s.From = from
		}

		f.window.Source(s)
	}

	return f.window
}

// Append implements [recording.Writer]. It never waits, and never fails because of the ring.
func (f *feed) Append(ctx context.Context, b *recording.Batch) error {
	if len(b.TimesMs) == 0 {
		return nil
	}

	f.figs.update(b)

	// The window only holds what rules read; the ring gets everything.
	kept := recording.Batch{TimesMs: b.TimesMs, Columns: make([]recording.Column, 0, len(b.Columns))}
	for _, c := range b.Columns {
		if f.wants(c.Labels.Get("__name__")) {
			kept.Columns = append(kept.Columns, c)
		}
	}

	if len(f.outs) > 0 {
		f.put(copied(b))
	}

	last := b.TimesMs[len(b.TimesMs)-1]
	f.mu.Lock()
	if last > f.lastMs {
		f.lastMs = last
		f.samples += int64(len(b.TimesMs)) // several batches with the same time are one sample
	}

	f.values += int64(len(b.TimesMs)) * int64(len(b.Columns))
	f.heard = time.Now()
	f.mu.Unlock()

	// Some sources deliver batches without any metric that a rule reads.
	if len(kept.Columns) == 0 {
		return nil
	}

	return f.window.Append(ctx, &kept)
}

// put passes an item on to all writers.
func (f *feed) put(item queued) {
	for _, q := range f.outs {
		q.put(item)
	}
}

// Note implements [recording.Writer].
func (f *feed) Note(n recording.Note) {
	f.window.Note(n)
	f.put(queued{other: func(out recording.Writer) { out.Note(n) }})
	if n.Kind == recording.NoteGap { // silences reports gaps while they last
		return
	}

	f.mu.Lock()
	logged := f.remarks[n.Text] || len(f.remarks) >= remarksMax
	if !logged {
		f.remarks[n.Text] = true
	}

	f.mu.Unlock()
	if !logged {
		level := slog.LevelInfo
		if n.Kind == recording.NoteDropped {
			level = slog.LevelWarn
		}
		f.log.Log(context.Background(), level, "the source has a note", "source", f.name, "kind", string(n.Kind),
			"note", n.Text)
	}
}

// Source implements [recording.Writer].
func (f *feed) Source(s recording.Source) {
	f.mu.Lock()
	f.described[s.Name] = s
	f.mu.Unlock()
	f.window.Source(s)
	f.put(queued{other: func(out recording.Writer) { out.Source(s) }})
}

// silence reports whether a source went silent or came back since the last call, and for how long
// it has been silent.
func (f *feed) silence(now time.Time) (changed, silent bool, since time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	since = now.Sub(f.heard)
	silent = since > max(silentAfter, silentPeriods*f.period)
	changed = silent != f.silent
	f.silent = silent
	return changed, silent, since
}

// silences logs which sources stopped delivering samples and which resumed.
func (w *Watch) silences(now time.Time) {
	for _, f := range w.feeds {
		changed, silent, since := f.silence(now)
		switch {
		case !changed:
		case silent:
			w.opt.Log.Warn("the source delivers no samples; still trying", "source", f.name, "for",
				since.Round(time.Second).String())
		default:
			w.opt.Log.Info("the source delivers samples again", "source", f.name)
		}
	}
}
