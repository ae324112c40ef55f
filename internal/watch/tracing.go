package watch

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
)

// A Tracer measures what slow system calls wait for.
type Tracer interface {
	// Available reports why this machine or user cannot trace; nil if tracing is possible.
	Available() error
	// Trace traces the calls of some programs, or of all if none are given, until the time is up or
	// the context is canceled, which is not an error. It returns the measurements as series. When
	// it returns, nothing is left in the kernel.
	Trace(ctx context.Context, programs []string, lasts time.Duration) (*recording.Batch, error)
}

// The defaults of [TracingOptions].
const (
	TraceForDefault     = 30 * time.Second
	TracePerHourDefault = 5 * time.Minute
)

// traceLeast is the minimum duration of a trace: a shorter one shows too little of a stall.
const traceLeast = 5 * time.Second

// TracingOptions configure when traces run.
type TracingOptions struct {
	Tracer Tracer // nil: no traces
	// For is the duration of a trace, and PerHour the maximum total in an hour; 0: the default.
	For, PerHour time.Duration
	// Report is called when a trace begins, and with the reason if none can run; it may be nil.
	Report func(level slog.Level, message string, err error)
}

// Tracing traces during stalls: once for each stall, and only for a limited time in each hour. A
// nil Tracing does nothing.
type Tracing struct {
	opt TracingOptions
	out recording.Writer

	mu      sync.Mutex
	running sync.WaitGroup
	active  bool
	off     bool      // tracing is not possible here
	traced  time.Time // start of the last stall that was traced, or could not be
	spent   []spent   // newest last
	runs    int64
	total   time.Duration
	fresh   bool // something was measured since the last call of [Tracing.Fresh]
	began   time.Time
}

// spent is the time of one trace.
type spent struct {
	at   time.Time
	took time.Duration
}

// NewTracing returns a Tracing that writes to out; nil without a tracer. If tracing is not possible
// here, it reports the reason once.
func NewTracing(opt TracingOptions, out recording.Writer) *Tracing {
	if opt.Tracer == nil {
		return nil
	}

	if opt.For <= 0 {
		opt.For = TraceForDefault
	}

	if opt.PerHour <= 0 {
		opt.PerHour = TracePerHourDefault
	}

	if opt.Report == nil {
		opt.Report = func(slog.Level, string, error) {}
	}

	t := &Tracing{opt: opt, out: out}
	if err := opt.Tracer.Available(); err != nil {
		t.off = true
		opt.Report(slog.LevelWarn, "cannot trace here; everything else works", err)
	}

	return t
}

// Observe starts a trace if something is stalled at the end of a case, unless that stall has
// already been traced or the hour's limit is reached. The trace runs until its time is up or ctx
// ends; [Tracing.Wait] waits for it.
func (t *Tracing) Observe(ctx context.Context, c *rules.Case) {
	if t == nil || c.Grid.N == 0 || ctx.Err() != nil {
		return
	}

	since, going := stalling(c)
	if !going {
		return
	}

	t.mu.Lock()
	defer t.mu.Unlock()

	// A trace that begins with little of the hour left is shortened, down to traceLeast.
	lasts := min(t.opt.For, t.opt.PerHour-t.inLastHour(time.Now()))
	if t.off || t.active || !since.After(t.traced) || lasts < min(traceLeast, t.opt.For) {
		return
	}

	// Set before the trace begins, so that a failed trace is not retried during the same stall.
	t.traced, t.active, t.began = since, true, time.Now()
	t.runs++
	programs := programsOf(c)
	t.running.Go(func() { t.run(ctx, programs, lasts) })
}

// stalling reports whether something is stalled at the end of a case, and since when. The criterion
// is the same as for the beginning of a stall.
func stalling(c *rules.Case) (since time.Time, going bool) {
	cells := func(span time.Duration) int { return max(1, int(span/c.Grid.Step())) }
	first, _ := newest(c.Stall.Cells, cells(endSpan))
	if first < 0 || countFrom(c.Stall.Cells, c.Grid.N-cells(beginSpan)) < cells(beginLeast) {
		return since, false
	}
	return c.Grid.Start(first), true
}

// programsOf returns the programs of the databases if a database is stalled; none for a stalled
// device.
func programsOf(c *rules.Case) (out []string) {
	if !c.Stall.IsDatabase {
		return nil
	}
	for _, e := range c.Pack.Engines() {
		if slices.Contains(c.Engines, e.Database) {
			out = append(out, e.Programs...)
		}
	}
	return out
}

// inLastHour returns for how long traces ran in the preceding hour.
func (t *Tracing) inLastHour(now time.Time) (sum time.Duration) {
	t.spent = slices.DeleteFunc(t.spent, func(s spent) bool { return now.Sub(s.at) >= time.Hour })
	for _, s := range t.spent {
		sum += s.took
	}
	return sum
}

func (t *Tracing) run(ctx context.Context, programs []string, lasts time.Duration) {
	t.opt.Report(slog.LevelInfo, fmt.Sprintf("tracing %s for %s", whose(programs), lasts), nil)
	began := time.Now()
	batch, err := t.opt.Tracer.Trace(ctx, programs, lasts)
	took := time.Since(began)

	if err == nil {
		err = t.keep(ctx, batch)
	}

	t.mu.Lock()
	t.active = false
	t.total += took
	t.spent = append(t.spent, spent{began, took})
	t.fresh = t.fresh || err == nil
	t.mu.Unlock()

	if err != nil && ctx.Err() == nil {
		t.opt.Report(slog.LevelWarn, "the trace failed; everything else continues", err)
	}
}

// keep writes the measurements, even if the trace was interrupted.
func (t *Tracing) keep(ctx context.Context, b *recording.Batch) error {
	if b == nil || len(b.TimesMs) == 0 {
		return nil
	}
	t.out.Source(recording.Source{Kind: "trace", Name: "trace", From: time.UnixMilli(b.TimesMs[0]).UTC(),
		To: time.UnixMilli(b.TimesMs[len(b.TimesMs)-1]).UTC(), Period: time.Second, Samples: int64(len(b.TimesMs))})
	// At the end of the watch, ctx has ended, but the measurements are still wanted.
	return t.out.Append(context.WithoutCancel(ctx), b)
}

// whose describes the target of a trace.
func whose(programs []string) string {
	if len(programs) == 0 {
		return "all programs' calls"
	}
	return "calls of " + strings.Join(programs, ", ")
}

// Wait waits until no trace is running.
func (t *Tracing) Wait() {
	if t != nil {
		t.running.Wait()
	}
}

// Fresh reports whether something was measured since the last call.
func (t *Tracing) Fresh() bool {
	if t == nil {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	fresh := t.fresh
	t.fresh = false
	return fresh
}

// Count returns whether a trace is running, how many have run, and for how long.
func (t *Tracing) Count() (active bool, runs int64, total time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	total = t.total
	if t.active {
		total += time.Since(t.began)
	}
	return t.active, t.runs, total
}

// tracedSource represents the traces of a watch as a source. It is never read: the measurements of
// a trace are appended when it ends.
type tracedSource struct{}

// Describe implements [source.Source].
func (tracedSource) Describe() recording.Source {
	return recording.Source{Kind: "trace", Name: "trace"}
}

// Live implements [source.Source].
func (tracedSource) Live() bool { return true }

// Read implements [source.Source].
func (tracedSource) Read(context.Context, recording.Writer, source.Options) error { return nil }
