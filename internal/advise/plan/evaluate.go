package plan

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"plimsoll/internal/base/units"
	"plimsoll/internal/model/scenario"
	"plimsoll/internal/model/simulate"
)

// answeredMin is the share of an open loop's operations that must be answered by the end of the run.
const answeredMin = simulate.AnsweredMin

// A simulator is the evaluator that runs the model.
type simulator struct {
	opt     *Options
	over    *scenario.Scenario // the scenario that the assignments apply to
	space   *Space
	want    []scenario.Bound
	workers int
	// present waits for the full run of the current deployment and returns it; nil: there is none
	present func() *outcome

	// What earlier outcomes rule out: saturated has the machines whose processor the load saturates,
	// with the reason; rejected has the rejected layouts, keyed by everything except their volumes'
	// limits. Only the search's goroutine uses them, so they need no lock.
	saturated map[string]string
	rejected  map[string][]*pastRun

	mu       sync.Mutex
	arrivals map[string]simulate.Arrivals // by the assignments that change the workload
	reads    map[string]int64             // keyed likewise: see firstReads
	finished map[string]*simulate.Result  // of runs that went to the end, by their assignments
}

func newSimulator(opt *Options, over *scenario.Scenario, space *Space, want []scenario.Bound,
	workers int) *simulator {
	return &simulator{
		opt: opt, over: over, space: space, want: want, workers: max(workers, 1),
		saturated: map[string]string{}, rejected: map[string][]*pastRun{},
		arrivals: map[string]simulate.Arrivals{}, reads: map[string]int64{},
		finished: map[string]*simulate.Result{},
	}
}

// parse builds the scenario of a choice. The error is a [scenario.Problems] if the scenario's checks
// reject it.
func (s *simulator) parse(choice []int) (*scenario.Scenario, error) {
	return s.over.With(s.space.sets(choice)...)
}

func texts(sets []scenario.Set) []string {
	out := make([]string, len(sets))
	for i, x := range sets {
		out[i] = x.String()
	}
	return out
}

// prune rejects a candidate without a run if the scenario's checks refuse it, or if its latency floor,
// its load or its reads rule it out.
func (s *simulator) prune(c *candidate) *outcome {
	sc, err := s.parse(c.choice)
	if err != nil {
		return refused(c, err)
	}

	// The current deployment runs in any case, because the report shows its figures.
	if s.opt.unbounded || s.present != nil && c.isPresent() {
		return nil
	}

	come := s.arrivalsOf(c, sc)
	e := s.opt.profileOf(sc)
	why := floor(sc, &e, s.want)
	if why == "" {
		why = demand(sc, &e, come)
	}

	if why == "" {
		why = reading(sc, &e, come, func() int64 { return s.firstReads(c, &e, come) })
	}

	if why == "" {
		return nil
	}

	return &outcome{candidate: c, pruned: true, reason: why}
}

// refused returns the outcome of a candidate whose scenario cannot be built. If the checks reject it,
// the combination of options makes no sense and the search skips it. Any other error ends the search.
func refused(c *candidate, err error) *outcome {
	if problems := (scenario.Problems)(nil); errors.As(err, &problems) {
		return &outcome{candidate: c, invalid: true, reason: problems[0].Problem.Error()}
	}
	return &outcome{candidate: c, problem: err}
}

// firstReads caches the count of first reads per workload: no layout changes the size of the databases.
func (s *simulator) firstReads(c *candidate, e *Profile, come simulate.Arrivals) int64 {
	key := s.workload(c)
	n, ok := s.reads[key]
	if !ok {
		n = e.FirstReads(come)
		s.reads[key] = n
	}
	return n
}

// workload returns a key for a candidate's changes to the workload.
func (s *simulator) workload(c *candidate) (key string) {
	for _, x := range s.space.sets(c.choice) {
		if within(x.Path, "workload") {
			key += x.String() + "\n"
		}
	}
	return key
}

// arrivalsOf caches the arrivals per workload. Concurrent runs use it as well as the search, so it
// needs the lock.
func (s *simulator) arrivalsOf(c *candidate, sc *scenario.Scenario) simulate.Arrivals {
	key := s.workload(c)
	s.mu.Lock()
	defer s.mu.Unlock()
	a, ok := s.arrivals[key]
	if !ok {
		a = simulate.ArrivalsOf(sc)
		s.arrivals[key] = a
	}
	return a
}

// A job is one run.
type job struct {
	candidate *candidate
	more      []scenario.Set // assignments in addition to the candidate's
	plain     bool           // run the scenario without any assignments
	// bounds end the run as soon as it is certain to miss one of them; nil: it goes to the end.
	bounds  []scenario.Bound
	outcome *outcome
}

// run simulates a candidate to the end, or until it is certain to miss an objective.
func (s *simulator) run(ctx context.Context, c *candidate) *outcome {
	if c.isPresent() && s.present != nil {
		o := *s.present()
		o.candidate = c
		return &o
	}
	j := job{candidate: c, bounds: s.want}
	s.work(ctx, &j)
	return j.outcome
}

// whole simulates a candidate to the end.
func (s *simulator) whole(ctx context.Context, c *candidate) *outcome {
	j := job{candidate: c}
	s.work(ctx, &j)
	return j.outcome
}

// workAll runs jobs, one per worker concurrently.
func (s *simulator) workAll(ctx context.Context, jobs []*job) error {
	g, runs := errgroup.WithContext(ctx)
	g.SetLimit(s.workers)
	for _, j := range jobs {
		g.Go(func() error {
			s.work(runs, j)
			return j.outcome.problem
		})
	}
	if err := g.Wait(); err != nil {
		return ended(ctx, err)
	}
	return nil
}

// work runs a job and sets its outcome.
func (s *simulator) work(ctx context.Context, task *job) {
	var sets []scenario.Set
	if !task.plain {
		sets = append(s.space.sets(task.candidate.choice), task.more...)
	}

	// The same assignments give the same result, so a layout that several steps of a plan need runs once.
	key := strings.Join(texts(sets), "\n")
	if r := s.past(key); r != nil {
		task.outcome = s.judged(task, r)
		return
	}

	sc, err := s.over.With(sets...)
	if err != nil {
		task.outcome = refused(task.candidate, err)
		return
	}

	var opt simulate.Options
	if len(task.bounds) > 0 && !s.opt.unbounded {
		opt.Wanted = &simulate.Wanted{Bounds: task.bounds, Arrivals: s.arrivalsOf(task.candidate, sc)}
	}

	r, err := s.simulate(ctx, sc, opt)

	task.outcome = &outcome{candidate: task.candidate, more: task.more}
	missed := (*simulate.MissedError)(nil)
	switch {
	// Missing an objective is a result, not an error.
	case errors.As(err, &missed):
		task.outcome.missed, task.outcome.reason = missed, missedText(missed)
	case err != nil:
		task.outcome.problem = err
	default:
		s.mu.Lock()
		s.finished[key] = r
		s.mu.Unlock()
		task.outcome = s.judged(task, r)
	}
}

// past is the result of an earlier run with these assignments; nil if none went to the end.
func (s *simulator) past(key string) *simulate.Result {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.finished[key]
}

// judged is the outcome of a job whose run went to the end.
func (s *simulator) judged(j *job, r *simulate.Result) *outcome {
	why := s.judge(r)
	return &outcome{candidate: j.candidate, more: j.more, result: r, met: why == "", reason: why,
		saturated: s.isSaturated(r)}
}

// simulate runs a scenario and passes the time that it took to [Options].ran, if set.
func (s *simulator) simulate(ctx context.Context, sc *scenario.Scenario,
	opt simulate.Options) (*simulate.Result, error) {
	if s.opt.ran == nil {
		return simulate.Run(ctx, sc, opt)
	}

	began := time.Now()
	r, err := simulate.Run(ctx, sc, opt)
	virtual := sc.Run.Warmup.Std()
	if missed := (*simulate.MissedError)(nil); errors.As(err, &missed) {
		virtual += missed.After
	} else if err == nil {
		virtual += time.Duration(r.Seconds * 1e9)
	}
	s.opt.ran(time.Since(began), virtual)
	return r, err
}

// judge returns which objective a result misses, or why its figures are too doubtful to say that it
// meets them; "" if it meets all.
func (s *simulator) judge(r *simulate.Result) string {
	return r.Judge(s.want, s.allowed()...)
}

// allowed are the kinds of caveats that a plan accepts.
func (s *simulator) allowed() []string {
	if s.opt.AllowBurst {
		return []string{simulate.Burst}
	}
	return nil
}

// isSaturated reports whether the run would meet the objectives but for its saturated processor.
func (s *simulator) isSaturated(r *simulate.Result) bool {
	c := r.Caveat(s.allowed()...)
	return c != nil && c.Kind == simulate.Processor &&
		r.Judge(s.want, append(s.allowed(), simulate.Processor)...) == ""
}

func missedText(m *simulate.MissedError) string {
	if m.Bound.Name == "checkpoint" {
		return fmt.Sprintf("a checkpoint took over %s, %s into the run", m.Bound.Most,
			units.Seconds(m.After.Seconds()))
	}
	return fmt.Sprintf("%s over %s: %d slower operations, %s into the run", m.Bound.Name, m.Bound.Most, m.Over,
		units.Seconds(m.After.Seconds()))
}
