package diagnose

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"plimsoll/internal/judge/act"
	"plimsoll/internal/judge/headroom"
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
	// Cells, if not 0, is the most cells of the grid: 0 is [timeline.MaxCells].
	Cells int
	// Incident, if not 0, is the one that the report's fields describe, and its plots: else the
	// first, and plots of all the time.
	Incident int
	// SlowFromS, if not 0, is the mean latency in seconds from which an interval is stalled, whatever
	// is usual.
	SlowFromS float64
	// Marks are further ones than those of the recordings.
	Marks []recording.Mark
	// Known are volumes and a machine that need not be guessed.
	Known headroom.Known
	// Balances are those of the diagnosis before, of a live source; nil for none.
	Balances map[string]headroom.Balance
	// BalancesOf, if not nil, are those of each server, by its name.
	BalancesOf map[string]map[string]headroom.Balance
	// Slots, if not 0, asks for a [Detail] whose series have at most so many slots, and no more
	// than [SlotsMax].
	Slots int
	// Hosts are names of hosts that the user gave, by the name of a source.
	Hosts map[string]string
	// Progress, if not nil, is told how far a stage has come.
	Progress func(stage string, done, total int)
}

func (o Options) cells() int { return cmp.Or(o.Cells, timeline.MaxCells) }

// An UnknownIncidentError says that there is no incident of the number that was asked for.
type UnknownIncidentError struct{ Asked, Have int }

func (e *UnknownIncidentError) Error() string {
	switch e.Have {
	case 0:
		return "there is no incident: nothing stalled"
	case 1:
		return fmt.Sprintf("there is no incident %d, only one", e.Asked)
	}
	return fmt.Sprintf("there is no incident %d, only 1 to %d", e.Asked, e.Have)
}

// Wants tells which metrics a diagnosis reads: a source need not give others.
func Wants(pack *rules.Pack) func(metric string) bool { return pack.Wants }

// Run diagnoses recordings of the same stretch of time together. It fails when a
// recording cannot be read, when the context ends, when there is nothing to
// judge at all, and with an [UnknownIncidentError].
func Run(ctx context.Context, given []recording.Reader, opt Options) (*Report, error) {
	in := ordered(given)
	c, sig, err := lay(ctx, in, opt)
	if err != nil {
		return nil, err
	}

	progress := func(done, total int) {
		if opt.Progress != nil {
			opt.Progress("judging incidents", done, total)
		}
	}

	held, err := conditions(ctx, c, sig, opt.Pack)
	if err != nil {
		return nil, err
	}

	all, more, err := incidents(ctx, c, opt.Pack, held, progress)
	if err != nil {
		return nil, err
	}

	worse, err := gotWorse(ctx, c, opt.Pack, held, all)
	if err != nil {
		return nil, err
	}

	all, cut, err := refine(ctx, in, c, sig.step, all, opt, progress)
	if err != nil {
		return nil, err
	}

	more += cut
	all = append(all, worse...)
	all, elsewhere := foreignerOf(c).without(all)
	if opt.Incident > max(len(all), 1) {
		return nil, &UnknownIncidentError{Asked: opt.Incident, Have: len(all)}
	}

	r := &Report{Version: Version, Sources: Describe(given), Span: c.Whole(), Missing: unjudged(c, opt.Pack),
		MoreIncidents: more, Incidents: []Incident{}, Lost: lostOf(given)}
	marks := marksOf(c, in, opt)
	shown, err := describe(ctx, r, c, all, held, opt, marks)
	if err != nil {
		return nil, err
	}

	r.Elsewhere = elsewhereOf(append(elsewhere, r.Elsewhere...))
	r.act(all, in, markedIn(c, in))
	runs := runsOf(shown)
	r.Runs, r.Timeline = spansOf(shown, runs), plot(shown, runs)

	if opt.Slots > 0 {
		r.Detail = detail(shown, runs, opt.Slots)
	}

	r.Judged = judgedClasses(c)
	r.WatchedS, r.Periods, r.WorstMinutes = watchedS(c), periods(c), worstMinutes(c)
	r.NotSeen = notSeen(c, r.Judged, sig.step.Seconds())
	left := headroom.Of(c, headroom.Options{Known: opt.Known, Balances: opt.Balances, PeriodS: sig.periodS})
	r.Headroom, r.Balances = left.All, left.Balances
	r.Verdict = verdict(r, opt.Pack, shown.Stall.Active.Count() > 0, opt.Incident)

	if c.SinceStart {
		r.Span = Span{From: sig.page.began.UTC(), To: sig.page.at.UTC()}
		r.NotSeen = append(
			r.NotSeen, "What happened when: one sample of each series is a sum since the process began.")
		r.Verdict = pageVerdict(r, opt.Pack)
	}

	return r, nil
}

// act adds what to do about each incident.
func (r *Report) act(all []*judged, in []recording.Reader, m act.Marked) {
	s := act.Setting{Span: r.Span, Recorded: recordedIn(in), Marked: m}
	for _, x := range r.Sources {
		s.Sources = append(s.Sources, act.Source{Kind: x.Kind, Name: x.Name, Engine: x.Engine, Version: x.Version,
			Host: x.Host})
	}

	r.Actions = []Action{}
	for i := range r.Incidents {
		x := &r.Incidents[i]
		if x.Actions = []Action{}; all[i].worse {
			continue
		}
		s.Incident = Span{From: x.From, To: x.To}
		if x.Actions = act.Of(all[i].c, x.Findings, s); x.ID == r.Incident {
			r.Actions = x.Actions
		}
	}
}

// describe fills in what was found, and gives the case that the plots are of: the whole recording,
// or an incident that was asked for.
func describe(ctx context.Context, r *Report, c *rules.Case, all []*judged, held []condition, opt Options,
	marks []recording.Mark) (*rules.Case, error) {
	everywhere := timeline.Episode{First: 0, Last: c.Grid.N - 1}
	whole := func(rule rules.Rule) bool { return (rule.Whole || len(all) == 0) && (rule.Sums || !c.SinceStart) }
	general, err := judgeRules(ctx, c, opt.Pack, held, everywhere, whole)
	if err != nil {
		return nil, err
	}

	markOngoing(c, general, linger{})
	general, r.Elsewhere = foreignerOf(c).general(general)
	r.Marks = marked(c, leading(c, all, opt), marks)

	if len(all) == 0 {
		r.Findings, r.Account, r.Measured = general, account(c), c.Traced()
		r.Stalls = summarise(c, c.Seconds(c.Stall.Observed))
		return c, nil
	}

	for i, j := range all {
		if j.worse {
			r.Incidents = append(r.Incidents, j.worseIncident(i+1, c, opt.Pack))
			continue
		}
		r.Incidents = append(r.Incidents, j.incident(i+1, c, opt.Pack))
	}

	incidentsOngoing(c, r.Incidents, marks)
	n := max(opt.Incident, 1) - 1
	r.Incident = n + 1
	x, shown := r.Incidents[n], all[n].c
	r.Findings = append(slices.Clone(general), x.Findings...)
	rank(r.Findings)
	r.Account, r.Stalls, r.Measured = x.Account, x.Stalls, x.Measured

	if opt.Incident == 0 && shown.Whole() != c.Whole() {
		// All of the time is shown, by the detector that the worst incident is judged by.
		lead := all[n].lead()
		all := *c
		all.Stall = detector(c, lead)
		return &all, nil
	}

	return shown, nil
}

// Lay lays recordings of the same stretch of time on one grid and finds the stalled time: what
// rules judge, before any does. It fails as [Run] does.
func Lay(ctx context.Context, in []recording.Reader, opt Options) (*rules.Case, error) {
	c, _, err := lay(ctx, ordered(in), opt)
	return c, err
}

func lay(ctx context.Context, in []recording.Reader, opt Options) (*rules.Case, *signals, error) {
	holding, metrics, err := inventory(ctx, in, opt.Pack)
	if err != nil {
		return nil, nil, err
	}

	grid, err := chooseGrid(metrics, in, opt)
	var single *page
	if errors.Is(err, ErrNothing) && opt.From.IsZero() && opt.To.IsZero() {
		if single, err = singlePage(ctx, opt.Pack, holding, metrics, err); err == nil {
			in = single.readers
			if holding, _, err = inventory(ctx, in, opt.Pack); err == nil {
				grid, err = single.grid(), nil
			}
		}
	}

	if err != nil {
		return nil, nil, withDamage(err, in)
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

	sig.step = max(finest(metrics), opt.Step)
	c := newCase(in, sig, opt)
	if single != nil {
		single.mark(c)
		sig.page = single
	}

	c.Trouble = append(c.Trouble, sig.tooLarge...)
	c.Trouble = append(c.Trouble, strays(holding, grid, opt)...)
	return c, sig, nil
}

func newCase(in []recording.Reader, sig *signals, opt Options) *rules.Case {
	pack := opt.Pack
	c := rules.NewCase(pack, sig.grid, sig.get)
	c.SlowFrom(opt.SlowFromS)
	c.Sampled(sig.periodsS())
	c.Trouble = trouble(in)

	seen := map[string]bool{}
	for _, r := range in {
		for _, s := range r.Sources() {
			maps.Copy(c.Facts, s.Facts)
			seen[s.Engine] = true
			// a benchmark of another time; a trace is of the host's
			if s.Kind != "fio" && s.Kind != "benchmark" && s.Kind != "trace" {
				c.Clocks++
			}
		}
	}

	for _, e := range pack.Engines() {
		if seen[e.Database] || c.Measured(e.Anchor) {
			c.Engines = append(c.Engines, e.Database)
		}
	}

	if t := c.MachineType(); t != "" && c.Facts[rules.FactMachine] == "" {
		c.Facts[rules.FactMachine] = t
	}

	c.Provisioned, c.Machine = headroom.Provisioned(c, opt.Known), headroom.MachineOf(c, opt.Known)
	if c.Elsewhere = rules.FindElsewhere(c); c.Elsewhere != nil {
		sig.drop(rules.OfDevices())
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

// withDamage adds to an error what of the sources could not be read: that may be why.
func withDamage(err error, in []recording.Reader) error {
	for _, t := range trouble(in) {
		if t.Kind == string(recording.NoteDamage) {
			return fmt.Errorf("%w; a source is damaged: %s", err, t.Text)
		}
	}
	return err
}
