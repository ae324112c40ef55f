package prove

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"plimsoll/internal/base/random"
	"plimsoll/internal/base/units"
	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/timeline"
)

// Options configure a comparison.
type Options struct {
	// Pack defines the signals and rules for the recordings.
	Pack *rules.Pack
	// Confidence applies to each interval, and to the report having no false verdict; 0: 0.95.
	Confidence units.Ratio
	Require    []Bound
	// Monthly costs; nil: unknown.
	CostBefore, CostAfter *units.USD
	Seed                  random.Seed
	// Fixes are the names of the fixes applied between the recordings, as listed by [Fixes]. Figures that
	// they raise on purpose get the verdict AsMeant instead of Worse. If empty, fixes are derived from the
	// changed settings.
	Fixes []string
	// Before and After select a period of each recording.
	Before, After Window
	// Resamples is the number of resamples and permutations per figure; 0: as many as the confidence
	// needs, and at least 4,000.
	Resamples int
	// Hosts are host names given by the user, by source name.
	Hosts map[string]string
	// Partial reports the values of recordings that are too short for a verdict, instead of an error.
	Partial bool
	// Progress, if not nil, receives the progress of each stage.
	Progress func(stage string, done, total int)
}

// A Window is a period; a zero time means no bound.
type Window struct{ From, To time.Time }

const (
	confidenceDefault = 0.95
	resamplesLeast    = 4000
	// tailResamples is the expected number of permutations in the deciding tail of one figure, after
	// Holm's correction. With only one, the smallest possible p would just reach the level.
	tailResamples = 5
)

// resamples returns the number of permutations that a family of figures needs. The smallest possible p is
// 1 over that number, Holm's correction multiplies it by the family's size, and the product must be well
// below the level.
func resamples(confidence float64, family int) int {
	return max(resamplesLeast, int(math.Ceil(tailResamples*float64(family)/(1-confidence))))
}

// A side is one of the recordings, on a grid and cut into units.
type side struct {
	word   string // "before"
	in     []recording.Reader
	server *diagnose.Server // nil: the recordings do not show a database
	host   string           // "": unknown
	left   []string         // notes on what is not compared, and on assumptions
	c      *rules.Case
	cut    partition
	device string
	// longestStallS is the length of the longest stall in either recording, in seconds.
	longestStallS float64
}

// Compare compares two recordings with any number of sources each. It fails if one cannot be read or is too
// short, if both are the same, and if they have no figure in common.
func Compare(ctx context.Context, before, after []recording.Reader, opt Options) (*Report, error) {
	if opt.Confidence == 0 {
		opt.Confidence = confidenceDefault
	}

	if err := checkFixes(opt.Pack, opt.Fixes); err != nil {
		return nil, err
	}

	a, b := &side{word: "before", in: before}, &side{word: "after", in: after}
	for _, x := range []struct {
		*side
		Window
	}{{a, opt.Before}, {b, opt.After}} {
		if err := x.lay(ctx, diagnose.Options{Pack: opt.Pack, From: x.From, To: x.To, Hosts: opt.Hosts,
			Progress: opt.Progress}); err != nil {
			return nil, err
		}
	}

	if err := evenSteps(ctx, a, b, opt); err != nil {
		return nil, err
	}

	evenThresholds(a, b)
	return compare(ctx, a, b, opt)
}

// lay finds the only server of the recordings, and puts its signals on a grid.
func (s *side) lay(ctx context.Context, opt diagnose.Options) (err error) {
	one, err := diagnose.Only(ctx, s.in, opt, "")
	if err != nil {
		return fmt.Errorf("%s: %w", s.word, err)
	}
	s.in, s.host, s.left = one.Readers, one.Host, one.Notes
	if one.Engine != "" {
		s.server = &diagnose.Server{Name: one.Name, Engine: one.Engine, Host: one.Host}
	}
	if s.c, err = diagnose.Lay(ctx, s.in, opt); err != nil {
		return fmt.Errorf("%s: %w", s.word, err)
	}
	return nil
}

// compare is Compare for prepared sides.
func compare(ctx context.Context, before, after *side, opt Options) (*Report, error) {
	if err := distinct(before, after); err != nil {
		return nil, err
	}

	// Cut both together: a side without cycles uses the other's length.
	before.cut, after.cut = cut(before.c, after.c)
	tooShort, err := short(before, after, opt)
	if err != nil {
		return nil, err
	}

	unsure := chooseDevices(before, after)
	expectStalls(before, after)
	report := &Report{
		Version: Version, Confidence: float64(opt.Confidence), Seed: uint64(opt.Seed), Before: before.describe(),
		After:        after.describe(),
		Requirements: []Requirement{}, Warnings: []string{}, OnlyBefore: []string{}, OnlyAfter: []string{},
	}

	report.Short = tooShort
	report.Workload = sameWorkload(before, after)
	pairs := both(before, after, report)
	if len(pairs) == 0 {
		return nil, nothingInCommon(before, after, report)
	}

	// Only now is the number of figures known, on which the correction depends.
	if opt.Resamples == 0 {
		opt.Resamples = resamples(float64(opt.Confidence), len(pairs))
	}

	if err := estimate(ctx, pairs, report, opt); err != nil {
		return nil, err
	}

	if report.Short != nil {
		withoutVerdicts(pairs)
	}

	report.Settings = changed(before, after)

	// Before meant: a fix that was not applied must not excuse a rise.
	report.contradict(before, after, opt)
	report.meant(pairs, opt)
	report.Method = method(before, after, pairs, opt)

	for i := range pairs {
		report.Figures = append(report.Figures, pairs[i].figure)
	}

	report.cost(opt)
	report.require(pairs, opt)
	if unsure != "" {
		report.Warnings = append(report.Warnings, unsure)
	}

	report.warn(before, after)
	report.conclude(pairs)
	return report, nil
}

// A pair is a figure of both sides during the computation.
type pair struct {
	kind          kind
	before, after measure
	figure        Figure
	// blocks is the number of runs of the side with fewer; afterBlocks that of the side after.
	blocks, afterBlocks int
	// The intervals of the change and of the value after, with chance and classes kept separate.
	difference, ratio, afterSpan span
	varies                       bool    // at least one permutation gives a different value
	unitSeconds                  float64 // of the side with fewer runs
	// for a percentile: the error of the share above it, relative to that share; from 1 on, its interval
	// has no upper end
	reach float64
}

// both returns the figures that both sides have in the same form, and lists those that only one has.
func both(a, b *side, r *Report) []pair {
	var out []pair
	for _, k := range kinds(a.c.Pack) {
		found, inBefore, inAfter := k.read(a, b)
		switch {
		case found != nil:
			out = append(out, *found)
		case inBefore && inAfter:
			r.Warnings = append(r.Warnings,
				fmt.Sprintf("%s is in both recordings, but in forms that cannot be compared", k.title))
		case inBefore:
			r.OnlyBefore = append(r.OnlyBefore, k.name)
		case inAfter:
			r.OnlyAfter = append(r.OnlyAfter, k.name)
		}
	}

	return out
}

// read reads a figure from both sides in the most exact way that both support; nil if there is none. If
// both values are beyond a histogram's last bucket, it uses the next way, because a mean has no such limit.
func (k kind) read(a, b *side) (found *pair, inBefore, inAfter bool) {
	for _, w := range k.ways {
		x, signals := a.reading(w.of)
		y := w.of(b)
		inBefore, inAfter = inBefore || x != nil, inAfter || y != nil

		// Both sides must be read in the same way, or the difference between the ways would look
		// like a change.
		if x == nil || y == nil || !alike(x, y) {
			continue
		}

		beyond := unbounded(x) && unbounded(y)
		if beyond && found != nil {
			continue
		}

		found = &pair{kind: k, before: x, after: y, figure: Figure{
			Name: k.name, Title: k.title, Unit: k.unit, Wanted: string(k.wanted),
			Basis: basisText(w, a.c.Grid.StepSeconds()), Signals: signals, Verdict: CantTell,
		}}

		if !beyond {
			break
		}
	}
	return found, inBefore, inAfter
}

// reading reads a figure and returns the names of the signals that it used, in order.
func (s *side) reading(of func(*side) measure) (m measure, names []string) {
	for _, signal := range s.signals(func() { m = of(s) }) {
		if !slices.Contains(names, signal.Name) {
			names = append(names, signal.Name)
		}
	}
	return m, names
}

// signals returns the measured signals that a function reads, in order. It intercepts the lookup.
func (s *side) signals(read func()) (out []*rules.Signal) {
	tracks := s.c.Tracks
	defer func() { s.c.Tracks = tracks }()
	s.c.Tracks = func(signal *rules.Signal) []timeline.Track {
		all := tracks(signal)
		if len(all) > 0 && !slices.Contains(out, signal) {
			out = append(out, signal)
		}
		return all
	}
	read()
	return out
}

// alike reports whether two measures can be joined: histograms must have the same classes.
func alike(x, y measure) bool {
	h, ok := x.(*histogram)
	if !ok {
		return true
	}
	return slices.Equal(h.edges, y.(*histogram).edges)
}

func (s *side) describe() Side {
	step := s.c.Grid.StepSeconds()
	used := s.cut.seconds(step)
	out := Side{
		Sources: diagnose.Describe(s.in), Server: s.server, Span: s.c.Whole(), StepSeconds: step, Units: s.cut.n,
		UsedSeconds: used,
		LeftSeconds: float64(s.c.Grid.N)*step - used, CyclesOfOwn: s.cut.cycles, StallSubject: s.c.Stall.Subject,
		ThresholdS: s.c.Stall.Threshold, Device: s.device,
	}
	if s.cut.n > 0 {
		out.UnitSeconds = used / float64(s.cut.n)
	}
	return out
}

func method(a, b *side, pairs []pair, opt Options) Method {
	m := Method{
		Units: "intervals", Resamples: opt.Resamples, Permutations: opt.Resamples, Correction: "Holm",
		Margin: sameRatio,
		Assumptions: []string{
			"the units of each recording are alike, and independent of each other beyond a run of them",
			"other changes between the two recordings have no effect",
		},
	}

	if a.cut.cycles || b.cut.cycles {
		m.Units = "checkpoint cycles"
	}

	for i := range pairs {
		if pairs[i].figure.P != nil && pairs[i].varies {
			m.Family++
		}
	}

	return m
}

func (r *Report) cost(opt Options) {
	if opt.CostBefore == nil && opt.CostAfter == nil {
		return
	}

	of := func(x *units.USD) *float64 {
		if x == nil {
			return nil
		}
		v := float64(*x)
		return &v
	}

	r.Cost = &Cost{BeforeUSD: of(opt.CostBefore), AfterUSD: of(opt.CostAfter)}
	if opt.CostBefore != nil && opt.CostAfter != nil {
		change := float64(*opt.CostAfter - *opt.CostBefore)
		r.Cost.ChangeUSD = &change
	}
}
