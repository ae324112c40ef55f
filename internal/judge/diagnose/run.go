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
	// Pack is what is judged by.
	Pack *rules.Pack
	// From and To bound the time; zero means all there is.
	From, To time.Time
	// Step, if not 0, is the least length of a cell of the grid: 0 is the finest that the sources
	// tell.
	Step time.Duration
	// Slots, if not 0, asks for a [Detail] whose series have at most so many slots, and no more
	// than [SlotsMax].
	Slots int
	// Progress, if not nil, is told how far a stage has come.
	Progress func(stage string, done, total int)
}

// Wants tells which metrics a diagnosis reads: a source need not give others.
func Wants(pack *rules.Pack) func(metric string) bool { return pack.Wants }

// Run diagnoses recordings of the same stretch of time together. It fails when a
// recording cannot be read, when the context ends, and when there is nothing to
// judge at all.
func Run(ctx context.Context, in []recording.Reader, opt Options) (*Report, error) {
	c, sig, err := lay(ctx, in, opt)
	if err != nil {
		return nil, err
	}
	r := &Report{Version: Version, Sources: Describe(in), Span: c.Whole()}
	for i, rule := range opt.Pack.Rules() {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if opt.Progress != nil {
			opt.Progress("judging rules", i, len(opt.Pack.Rules()))
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
	r.Verdict = verdict(r, opt.Pack, c.Stall.Active.Count() > 0)
	return r, nil
}

// Lay lays recordings of the same stretch of time on one grid and finds the stalled time: what
// rules judge, before any does. It fails as [Run] does.
func Lay(ctx context.Context, in []recording.Reader, opt Options) (*rules.Case, error) {
	c, _, err := lay(ctx, in, opt)
	return c, err
}

func lay(ctx context.Context, in []recording.Reader, opt Options) (*rules.Case, *signals, error) {
	holding, metrics, err := inventory(ctx, in, opt.Pack)
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
	sig, err := gather(ctx, opt.Pack, holding, grid, progress)
	if err != nil {
		return nil, nil, err
	}
	return newCase(in, sig, opt.Pack), sig, nil
}

func newCase(in []recording.Reader, sig *signals, pack *rules.Pack) *rules.Case {
	c := rules.NewCase(pack, sig.grid, sig.get)
	c.Trouble = trouble(in)
	seen := map[string]bool{}
	for _, r := range in {
		for _, s := range r.Sources() {
			maps.Copy(c.Facts, s.Facts)
			seen[s.Engine] = true
			if s.Kind != "fio" { // a benchmark of another time
				c.Clocks++
			}
		}
	}
	for _, e := range pack.Engines() {
		if seen[e.Database] || c.Measured(e.Anchor) {
			c.Engines = append(c.Engines, e.Database)
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
