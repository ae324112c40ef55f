package diagnose

import (
	"context"
	"maps"
	"time"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/timeline"
)

// Options say what of the recordings to diagnose.
type Options struct {
	// From and To bound the time; zero means all there is.
	From, To time.Time
	// Step, if not 0, is the least length of a cell of the grid: 0 is the finest that the sources tell.
	Step time.Duration
	// Slots, if not 0, asks for a [Detail] whose series have at most so many slots, and no more than [SlotsMax].
	Slots int
	// Progress, if not nil, is told how far a stage has come.
	Progress func(stage string, done, total int)
}

// Wants tells which metrics a diagnosis reads: a source need not give others.
func Wants() func(metric string) bool { return rules.Wanted() }

// Run diagnoses recordings of the same stretch of time together. It fails when a
// recording cannot be read, when the context ends, and when there is nothing to
// judge at all.
func Run(ctx context.Context, in []recording.Reader, opt Options) (*Report, error) {
	c, sig, err := lay(ctx, in, opt)
	if err != nil {
		return nil, err
	}
	r := &Report{Version: Version, Sources: Describe(in), Span: c.Whole()}
	for i, rule := range rules.Pack() {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if opt.Progress != nil {
			opt.Progress("judging rules", i, len(rules.Pack()))
		}
		found, missing, err := judge(c, sig, rule)
		if err != nil {
			return nil, err
		}
		r.Findings = append(r.Findings, found...)
		if len(missing) > 0 {
			r.Missing = append(r.Missing, NotMeasured{Rule: rule.ID, Missing: missing})
		}
	}
	rank(r.Findings)
	r.Account = account(c)
	r.Stalls = summarise(c)
	r.Timeline = plot(c)
	if opt.Slots > 0 {
		r.Detail = detail(c, opt.Slots)
	}
	r.Verdict = verdict(r, c.Stall.Active.Count() > 0)
	return r, nil
}

// Lay lays recordings of the same stretch of time on one grid and finds the stalled time: what rules judge,
// before any does. It fails as [Run] does.
func Lay(ctx context.Context, in []recording.Reader, opt Options) (*rules.Case, error) {
	c, _, err := lay(ctx, in, opt)
	return c, err
}

func lay(ctx context.Context, in []recording.Reader, opt Options) (*rules.Case, *signals, error) {
	holding, metrics, err := inventory(ctx, in)
	if err != nil {
		return nil, nil, err
	}
	grid, err := chooseGrid(metrics, holesOf(in), opt)
	if err != nil {
		return nil, nil, err
	}
	progress := func(done, total int) {
		if opt.Progress != nil {
			opt.Progress("reading signals", done, total)
		}
	}
	sig, err := gather(ctx, holding, grid, progress)
	if err != nil {
		return nil, nil, err
	}
	return newCase(in, sig), sig, nil
}

func newCase(in []recording.Reader, sig *signals) *rules.Case {
	c := &rules.Case{Grid: sig.grid, Signal: sig.get, Facts: map[string]string{}, Trouble: trouble(in)}
	seen := map[rules.Engine]bool{}
	for _, r := range in {
		for _, s := range r.Sources() {
			maps.Copy(c.Facts, s.Facts)
			seen[rules.Engine(s.Engine)] = true
			if s.Kind != "fio" { // a benchmark of another time
				c.Clocks++
			}
		}
	}
	for _, e := range []struct {
		engine rules.Engine
		signal string
	}{
		{rules.EngineMongoDB, "wt_cache_max:bytes"}, {rules.EngineEtcd, "etcd_wal_fsyncs:rate"},
		{rules.EnginePostgres, "postgres_commits:rate"}, {rules.EngineIRIS, "iris_write_daemon_cycle:seconds"},
	} {
		if seen[e.engine] || c.Measured(rules.SignalPrefix+e.signal) {
			c.Engines = append(c.Engines, e.engine)
		}
	}
	c.Symptoms = detect(c)
	c.Stall = primary(c.Symptoms)
	if c.Stall.Cells == nil {
		c.Stall.Cells = make(timeline.Mask, c.Grid.N)
		c.Stall.Active = make(timeline.Mask, c.Grid.N)
	}
	return c
}

// Describe tells where the samples of recordings came from.
func Describe(in []recording.Reader) []Source {
	var out []Source
	for _, r := range in {
		for _, s := range r.Sources() {
			out = append(out, Source{
				Kind: s.Kind, Name: s.Name, Engine: s.Engine, Version: s.Version, Host: s.Host,
				From: s.From, To: s.To, PeriodS: s.Period.Seconds(), Samples: s.Samples, Facts: s.Facts,
			})
		}
	}
	return out
}
