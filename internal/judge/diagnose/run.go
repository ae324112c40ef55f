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

// Options say which part of the recordings to diagnose, and how.
type Options struct {
	// Pack holds the rules.
	Pack *rules.Pack
	// From and To bound the time; zero means unbounded.
	From, To time.Time
	// Step, if not 0, is the minimum length of a grid cell; 0 is the finest sampling period of the
	// sources.
	Step time.Duration
	// Cells, if not 0, is the maximum number of grid cells; 0 is [timeline.MaxCells].
	Cells int
	// Incident, if not 0, is the incident that the report's fields and plots describe. With 0, the
	// fields describe the first one and the plots the whole time.
	Incident int
	// SlowFromS, if not 0, is the mean latency in seconds at or above which an interval is stalled,
	// regardless of the usual latency.
	SlowFromS float64
	// Marks are in addition to those in the recordings.
	Marks []recording.Mark
	// Known describes volumes and a machine, which then need not be inferred.
	Known headroom.Known
	// Balances are the credit balances of the previous diagnosis of a live source; nil if there was
	// none.
	Balances map[string]headroom.Balance
	// BalancesOf, if not nil, are the balances of each server, by its name.
	BalancesOf map[string]map[string]headroom.Balance
	// Kept is the folder that keeps the samples of live sources, so that suggested commands can compare
	// with them; "" if they are not kept.
	Kept string
	// Slots, if not 0, requests a [Detail] whose series have at most that many slots, and no more
	// than [SlotsMax].
	Slots int
	// Hosts are host names given by the user, by the name of a source.
	Hosts map[string]string
	// Progress, if not nil, is called with the progress of a stage.
	Progress func(stage string, done, total int)
}

func (o Options) cells() int { return cmp.Or(o.Cells, timeline.MaxCells) }

// An UnknownIncidentError says that the requested incident number does not exist.
type UnknownIncidentError struct{ Asked, Have int }

func (e *UnknownIncidentError) Error() string {
	switch e.Have {
	case 0:
		return "no incident: nothing stalled"
	case 1:
		return fmt.Sprintf("incident %d: there is only one incident", e.Asked)
	}
	return fmt.Sprintf("incident %d: want 1 to %d", e.Asked, e.Have)
}

// Wants reports whether a diagnosis reads a metric; sources may skip the rest.
func Wants(pack *rules.Pack) func(metric string) bool { return pack.Wants }

// Run diagnoses recordings of the same stretch of time together. It fails if a recording cannot be
// read, the context ends or there is nothing to judge, and with an [UnknownIncidentError].
func Run(ctx context.Context, given []recording.Reader, opt Options) (*Report, error) {
	in := ordered(given)
	input, sig, err := lay(ctx, in, opt)
	if err != nil {
		return nil, err
	}

	progress := func(done, total int) {
		if opt.Progress != nil {
			opt.Progress("judging incidents", done, total)
		}
	}

	held, err := conditions(ctx, input, sig, opt.Pack)
	if err != nil {
		return nil, err
	}

	all, more, err := incidents(ctx, input, opt.Pack, held, progress)
	if err != nil {
		return nil, err
	}

	worse, err := gotWorse(ctx, input, opt.Pack, held, all)
	if err != nil {
		return nil, err
	}

	// Stretches that got worse are compared on the coarse grid, so only stalls are refined.
	all, cut, err := refine(ctx, in, input, sig.step, all, opt, progress)
	if err != nil {
		return nil, err
	}

	more += cut
	all = append(all, worse...)

	// Stalls of devices that no judged database uses are listed separately: they explain none of its
	// waiting.
	all, elsewhere := ownershipOf(input).without(all)
	if opt.Incident > max(len(all), 1) {
		return nil, &UnknownIncidentError{Asked: opt.Incident, Have: len(all)}
	}

	report := &Report{Version: Version, Sources: Describe(given), Span: input.Whole(),
		Missing:       unjudged(input, opt.Pack),
		MoreIncidents: more, Incidents: []Incident{}, Lost: lostOf(given)}
	marks := marksOf(input, in, opt)
	shown, err := describe(ctx, report, input, all, held, opt, marks)
	if err != nil {
		return nil, err
	}

	report.Elsewhere = elsewhereOf(append(elsewhere, report.Elsewhere...))
	report.act(all, in, markedIn(input, in), opt.Kept)
	runs := runsOf(shown)
	report.Runs, report.Timeline = spansOf(shown, runs), plot(shown, runs)

	// The detail is only for pages and is costly: compute it on request.
	if opt.Slots > 0 {
		report.Detail = detail(shown, runs, opt.Slots)
	}

	report.Judged = judgedClasses(input)
	report.WatchedS, report.Periods, report.WorstMinutes = watchedS(input), periods(input), worstMinutes(input)
	report.NotSeen = notSeen(input, report.Judged, sig.step.Seconds())
	left := headroom.Of(input, headroom.Options{Known: opt.Known, Balances: opt.Balances})
	report.Headroom, report.Balances = left.All, left.Balances
	report.member, report.active = rules.MemberOf(input), shown.Stall.Active.Count() > 0
	report.Verdict = verdict(report, opt.Pack, report.active, opt.Incident)

	if input.SinceStart {
		report.Span = Span{From: sig.page.began.UTC(), To: sig.page.at.UTC()}
		report.NotSeen = append(
			report.NotSeen, "When anything happened: one sample of each series is a sum since the process began.")
		report.Verdict = pageVerdict(report, opt.Pack)
	}

	return report, nil
}

// act adds the recommended actions for each incident.
func (r *Report) act(all []*judged, in []recording.Reader, m act.Marked, kept string) {
	s := act.Setting{Span: r.Span, Recorded: recordedIn(in), Marked: m, Kept: kept}
	for _, x := range r.Sources {
		s.Sources = append(s.Sources, act.Source{Kind: x.Kind, Name: x.Name, Engine: x.Engine, Version: x.Version,
			Host: x.Host, Again: x.Argument()})
	}

	r.Actions = []Action{}
	for i := range r.Incidents {
		x := &r.Incidents[i]

		// A slowdown without a stall has no cause by definition, so there is nothing to fix yet.
		if x.Actions = []Action{}; all[i].worse {
			continue
		}
		s.Incident = Span{From: x.From, To: x.To}
		if x.Actions = act.Of(all[i].c, x.Findings, s); x.ID == r.Incident {
			r.Actions = x.Actions
		}
	}
}

// describe fills in the findings and returns the case to plot: the whole recording, or the
// requested incident.
func describe(ctx context.Context, report *Report, input *rules.Case, all []*judged, held []condition,
	opt Options,
	marks []recording.Mark) (*rules.Case, error) {
	everywhere := timeline.Episode{First: 0, Last: input.Grid.N - 1}
	whole := func(rule rules.Rule) bool {
		return (rule.Whole || len(all) == 0) &&
			(rule.Sums || !input.SinceStart)
	}
	general, err := judgeRules(ctx, input, opt.Pack, held, everywhere, whole)
	if err != nil {
		return nil, err
	}

	markOngoing(input, general, linger{})
	general, report.Elsewhere = ownershipOf(input).general(general)
	report.Marks = marked(input, leading(input, all, opt), marks)

	if len(all) == 0 {
		report.Findings, report.Account, report.Measured = general, account(input), input.Traced()
		report.Stalls = summarise(input, input.Seconds(input.Stall.Observed))
		return input, nil
	}

	for i, j := range all {
		if j.worse {
			report.Incidents = append(report.Incidents, j.worseIncident(i+1, input, opt.Pack))
			continue
		}
		report.Incidents = append(report.Incidents, j.incident(i+1, input, opt.Pack))
	}

	// Findings of the whole recording and of the shown incident form one ranked list.
	incidentsOngoing(input, report.Incidents, marks)
	n := max(opt.Incident, 1) - 1
	report.Incident = n + 1
	x, shown := report.Incidents[n], all[n].c
	report.Findings = append(slices.Clone(general), x.Findings...)
	rank(report.Findings)
	report.Account, report.Stalls, report.Measured = x.Account, x.Stalls, x.Measured

	if opt.Incident == 0 && shown.Whole() != input.Whole() {
		// Plot the whole time, using the leading detector of the worst incident.
		lead := all[n].lead()
		all := *input
		all.Stall = detector(input, lead)
		return &all, nil
	}

	return shown, nil
}

// Lay puts recordings of the same stretch of time on one grid and finds the stalled time, but does
// not run rules. It fails like [Run].
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

	// A single page of metrics has no span of time, but its counters can be judged as totals.
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

	sig, err := gather(ctx, opt.Pack.Signals(), holding, grid, progress)
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
	input := rules.NewCase(pack, sig.grid, sig.get)
	input.SlowFrom(opt.SlowFromS)
	input.Sampled(sig.periods)
	input.Trouble = trouble(in)
	input.Unsampled = within(sig.grid, holesOf(in))

	seen := map[string]bool{}
	for _, r := range in {
		for _, s := range r.Sources() {
			maps.Copy(input.Facts, s.Facts)
			seen[s.Engine] = true
			// Clocks counts the independent clocks that could disagree. A benchmark ran at another
			// time, and a trace uses the clock of its host.
			if s.Kind != "fio" && s.Kind != "benchmark" && s.Kind != "trace" {
				input.Clocks++
			}
		}
	}

	for _, e := range pack.Engines() {
		if seen[e.Database] || input.Measured(e.Anchor) {
			input.Engines = append(input.Engines, e.Database)
		}
	}

	// A source's statements about its machine take precedence over what its series imply.
	if t := input.MachineType(); t != "" && input.Facts[rules.FactMachine] == "" {
		input.Facts[rules.FactMachine] = t
	}

	input.Provisioned, input.Machine = headroom.Provisioned(input, opt.Known),
		headroom.MachineOf(input, opt.Known)

	// If the devices measured belong to another machine than the database, they must not explain
	// its stalls.
	if input.Elsewhere = rules.FindElsewhere(input); input.Elsewhere != nil {
		sig.drop(rules.OfDevices())
	}

	input.Symptoms = detect(input)
	input.Stall = primary(input.Symptoms)

	// Rules index these masks even if no class of operation was watched.
	if input.Stall.Cells == nil {
		input.Stall.Cells = make(timeline.Mask, input.Grid.N)
		input.Stall.Active = make(timeline.Mask, input.Grid.N)
	}

	return input
}

// Describe returns the sources of the recordings' samples.
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

// withDamage adds to an error which parts of a damaged source could not be read, because that may
// be the reason.
func withDamage(err error, in []recording.Reader) error {
	for _, t := range trouble(in) {
		if t.Kind == string(recording.NoteDamage) {
			return fmt.Errorf("%w; a source is damaged: %s", err, t.Text)
		}
	}
	return err
}
