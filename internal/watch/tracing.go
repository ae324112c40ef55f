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
	// Available says why this machine or this user cannot trace; nil if it can.
	Available() error
	// Trace traces the calls of some programs, or without any those of all, until the time is over or
	// the context ends, which is no error. It returns what it measured as series. Nothing of it is
	// left in the kernel when it returns.
	Trace(ctx context.Context, programs []string, lasts time.Duration) (*recording.Batch, error)
}

// The defaults of [TracingOptions].
const (
	TraceForDefault     = 30 * time.Second
	TracePerHourDefault = 5 * time.Minute
)

// traceLeast is how long a trace lasts at least: a shorter one shows too little of a stall.
const traceLeast = 5 * time.Second

// TracingOptions say when a trace runs.
type TracingOptions struct {
	Tracer Tracer // nil: none does
	// For is how long one lasts, and PerHour how long all of an hour may; 0 means the default.
	For, PerHour time.Duration
	// Report is given a line when a trace begins, and why one cannot run; nil is allowed.
	Report func(level slog.Level, message string, err error)
}

// Tracing traces while something stalls: once for each stall, and not more than so much of each hour.
// A nil Tracing never does.
type Tracing struct {
	opt TracingOptions
	out recording.Writer

	mu      sync.Mutex
	running sync.WaitGroup
	active  bool
	off     bool      // it cannot run here
	traced  time.Time // the last stall that was traced, or could not be: when it began
	spent   []spent   // newest last
	runs    int64
	total   time.Duration
	fresh   bool // something was measured since the last [Tracing.Fresh]
	began   time.Time
}

// spent is a time in which a trace ran.
type spent struct {
	at   time.Time
	took time.Duration
}

// NewTracing makes a Tracing that writes to out; nil without a tracer. If none can run here, it
// reports why, once.
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
		opt.Report(slog.LevelWarn, "no trace can run here; everything else works", err)
	}

	return t
}

// Observe starts a trace if something stalls at the end of a case, that stall was not traced and the
// hour has time left. The trace runs until it is over or ctx ends; [Tracing.Wait] waits for it.
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
	lasts := min(t.opt.For, t.opt.PerHour-t.inLastHour(time.Now()))
	if t.off || t.active || !since.After(t.traced) || lasts < min(traceLeast, t.opt.For) {
		return
	}

	t.traced, t.active, t.began = since, true, time.Now()
	t.runs++
	programs := programsOf(c)
	t.running.Go(func() { t.run(ctx, programs, lasts) })
}

// stalling reports whether something stalls at the end of a case, as a stall that begins is
// recognized, and since when.
func stalling(c *rules.Case) (since time.Time, going bool) {
	cells := func(span time.Duration) int { return max(1, int(span/c.Grid.Step())) }
	first, _ := newest(c.Stall.Cells, cells(endSpan))
	if first < 0 || countFrom(c.Stall.Cells, c.Grid.N-cells(beginSpan)) < cells(beginLeast) {
		return since, false
	}
	return c.Grid.Start(first), true
}

// programsOf are the programs of the databases, if one stalls; none of a device's stall.
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

// inLastHour is for how long traces ran in the hour before.
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
		t.opt.Report(slog.LevelWarn, "the trace failed; everything else goes on", err)
	}
}

// keep writes what was measured, also if the trace was interrupted.
func (t *Tracing) keep(ctx context.Context, b *recording.Batch) error {
	if b == nil || len(b.TimesMs) == 0 {
		return nil
	}
	t.out.Source(recording.Source{Kind: "trace", Name: "trace", From: time.UnixMilli(b.TimesMs[0]).UTC(),
		To: time.UnixMilli(b.TimesMs[len(b.TimesMs)-1]).UTC(), Period: time.Second, Samples: int64(len(b.TimesMs))})
	return t.out.Append(context.WithoutCancel(ctx), b)
}

// whose names what is traced.
func whose(programs []string) string {
	if len(programs) == 0 {
		return "all programs' calls"
	}
	return "calls of " + strings.Join(programs, ", ")
}

// Wait waits until no trace runs.
func (t *Tracing) Wait() {
	if t != nil {
		t.running.Wait()
	}
}

// Fresh reports whether something was measured since it was asked last.
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

// Count is whether a trace runs now, how many ran, and for how long.
func (t *Tracing) Count() (active bool, runs int64, total time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	total = t.total
	if t.active {
		total += time.Since(t.began)
	}
	return t.active, t.runs, total
}

// tracedSource is the source that a watch's traces stand for. Nothing reads it: what a trace measured
// is appended when it ends.
type tracedSource struct{}

// Describe implements [source.Source].
func (tracedSource) Describe() recording.Source {
	return recording.Source{Kind: "trace", Name: "trace"}
}

// Live implements [source.Source].
func (tracedSource) Live() bool { return true }

// Read implements [source.Source].
func (tracedSource) Read(context.Context, recording.Writer, source.Options) error { return nil }
