package plan

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"plimsoll/internal/base/units"
	"plimsoll/internal/model/scenario"
	"plimsoll/internal/model/simulate"
	"plimsoll/internal/model/volume"
)

// answeredMin is the share of an open loop's operations that must be answered at the end.
const answeredMin = simulate.AnsweredMin

// A simulator is the evaluator that uses the model.
type simulator struct {
	over  *scenario.Scenario // the scenario below the assignments
	space *Space
	want  []scenario.Bound
	slots *slots
	// unbounded leaves no run out and ends none early: see [Options].
	unbounded, whole bool
	certain          bool                              // no miss is foreseen: see [Options]
	allowBurst       bool                              // credits may run out: see [Options]
	ran              func(took, virtual time.Duration) // see [Options]
	// ahead, if not nil, uses idle workers for what a layout that is met needs.
	ahead *ahead
	// now, if not nil, waits until it is certain whether the current deployment meets the
	// objectives.
	now func() *outcome
	// waits is called when the search begins to do that.
	waits func()

	mu    sync.Mutex
	come  map[string]simulate.Arrivals // by the assignments that change the workload
	reads map[string]int64             // by these too: see firstReads
	hopes map[*candidate]bool          // that run, and may well meet the objectives
	twins twins                        // of all runs so far
	told  twins                        // of those whose outcome counts so far
}

func newSimulator(over *scenario.Scenario, space *Space, want []scenario.Bound, workers int) *simulator {
	return &simulator{
		over: over, space: space, want: want, slots: newSlots(max(workers, 1)),
		come: map[string]simulate.Arrivals{}, reads: map[string]int64{}, hopes: map[*candidate]bool{},
	}
}

// parse makes the scenario of a choice. The error is of type diagnostics.List if its checks refuse
// it.
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

// prune rejects what needs no run: what the scenario's checks refuse, and what its floor or its
// load rules out.
func (s *simulator) prune(c *candidate) *outcome {
	if s.now != nil && !slices.ContainsFunc(c.choice, func(k int) bool { return k != 0 }) {
		return s.present(c)
	}
	sc, err := s.parse(c.choice)
	var problems scenario.Problems
	switch {
	case errors.As(err, &problems):
		return &outcome{candidate: c, passed: true, reason: problems[0].Problem.Error()}
	case err != nil:
		return &outcome{candidate: c, problem: err}
	}
	if s.unbounded {
		return nil
	}
	come := s.arrivals(c, sc)
	e := profileOf(sc)
	why := floor(sc, &e, s.want)
	if why == "" {
		why = demand(sc, &e, come)
	}
	if why == "" {
		why = reading(sc, &e, come, func() int64 { return s.firstReads(c, &e, come) })
	}
	if why != "" {
		return &outcome{candidate: c, pruned: true, reason: why}
	}
	if same := s.twins.find(twinOf(s.space, c, sc)); same != nil {
		return &outcome{candidate: c, repeated: true, reason: same.reason, missed: same.missed}
	}
	return nil
}

// present is the outcome of the current deployment, which runs beside the search. While the search
// waits for nothing else, idle workers run ahead for it.
func (s *simulator) present(c *candidate) *outcome {
	s.waits()
	s.ahead.of(c)
	o := *s.now()
	if !o.met {
		s.ahead.missed(c)
	}
	o.candidate = c
	return &o
}

// firstReads are counted once per workload: no layout changes the size of the databases.
func (s *simulator) firstReads(c *candidate, e *Profile, come simulate.Arrivals) int64 {
	key := s.workload(c)
	n, ok := s.reads[key]
	if !ok {
		n = e.FirstReads(come)
		s.reads[key] = n
	}
	return n
}

// workload returns what a candidate changes in the workload.
func (s *simulator) workload(c *candidate) (key string) {
	for _, x := range s.space.sets(c.choice) {
		if within(x.Path, "workload") {
			key += x.String() + "\n"
		}
	}
	return key
}

// counts reports whether a run counts: it does not if one that counted before makes the same.
// Because it is called in the order of the search, the answer does not depend on the number of
// concurrent runs.
func (s *simulator) counts(o *outcome) bool {
	if o.twin == nil {
		return true
	}
	if s.told.find(o.twin) != nil {
		return false
	}
	s.told.add(o.twin)
	return true
}

// arrivals are counted once per workload.
func (s *simulator) arrivals(c *candidate, sc *scenario.Scenario) simulate.Arrivals {
	key := s.workload(c)
	s.mu.Lock()
	defer s.mu.Unlock()
	a, ok := s.come[key]
	if !ok {
		a = simulate.Come(sc)
		s.come[key] = a
	}
	return a
}

// run simulates a candidate until it is certain to miss, or to its end.
func (s *simulator) run(ctx context.Context, c *candidate) *outcome {
	sc, err := s.parse(c.choice)
	if err != nil {
		return &outcome{candidate: c, problem: err} // prune parsed it before
	}
	wanted := &simulate.Wanted{Bounds: s.want, Come: s.arrivals(c, sc), Hopeful: func() { s.hope(c) }, Foresee: s.foresees()}
	if s.unbounded {
		wanted.Bounds = nil
	}
	r, err := s.inSlot(ctx, nil, sc, simulate.Options{Wanted: wanted, Enough: s.enough(), Progress: s.ahead.watch(c, sc)})
	var missed *simulate.MissedError
	switch {
	case errors.As(err, &missed):
		o := &outcome{candidate: c, reason: missedText(missed), missed: missed}
		s.despair(c)
		s.reject(o, sc, missed.Mattered)
		return o
	case err != nil:
		return &outcome{candidate: c, problem: err}
	}
	o := &outcome{candidate: c, result: r, reason: s.judge(r), saturated: s.isSaturated(r)}
	if o.met = o.reason == ""; !o.met {
		s.despair(c)
		s.reject(o, sc, r.Mattered)
	}
	return o
}

// inSlot runs a scenario as soon as a slot is free, and says when that is, if begun is not nil.
func (s *simulator) inSlot(ctx context.Context, begun func(), sc *scenario.Scenario, opt simulate.Options) (*simulate.Result, error) {
	if err := s.slots.take(ctx); err != nil {
		return nil, err
	}
	defer s.slots.give()
	if begun != nil {
		begun()
	}
	return s.simulate(ctx, sc, opt)
}

// simulate runs a scenario.
func (s *simulator) simulate(ctx context.Context, sc *scenario.Scenario, opt simulate.Options) (*simulate.Result, error) {
	if s.ran == nil {
		return simulate.Run(ctx, sc, opt)
	}
	began := time.Now()
	r, err := simulate.Run(ctx, sc, opt)
	virtual := sc.Run.Warmup.Std()
	var missed *simulate.MissedError
	if errors.As(err, &missed) {
		virtual += missed.After
	} else if err == nil {
		virtual += time.Duration(r.Seconds * 1e9)
	}
	s.ran(time.Since(began), virtual)
	return r, err
}

// foresees reports whether a run's warm-up may decide that it misses an objective.
func (s *simulator) foresees() bool { return !s.whole && !s.certain }

// reject remembers a layout that misses, with the limits that mattered in its run.
func (s *simulator) reject(o *outcome, sc *scenario.Scenario, mattered [][volume.Limits]bool) {
	if s.unbounded {
		return
	}
	if o.twin = twinOf(s.space, o.candidate, sc); o.twin == nil || len(mattered) != len(o.twin.limits) {
		o.twin = nil
		return
	}
	o.twin.mattered, o.twin.outcome = mattered, o
	s.twins.add(o.twin)
}

// judge returns the objective that a result misses, or why it cannot be said to meet them; "" if it
// does.
func (s *simulator) judge(r *simulate.Result) string {
	return r.Judge(s.want, s.allowed()...)
}

// allowed are the kinds of caveats that a plan accepts.
func (s *simulator) allowed() []string {
	if s.allowBurst {
		return []string{simulate.Burst}
	}
	return nil
}

// isSaturated reports whether a run's processor alone keeps it from meeting the objectives.
func (s *simulator) isSaturated(r *simulate.Result) bool {
	c := r.Caveat(s.allowed()...)
	return c != nil && c.Kind == simulate.Processor && r.Judge(s.want, append(s.allowed(), simulate.Processor)...) == ""
}

func missedText(m *simulate.MissedError) string {
	if m.Bound.Name == "checkpoint" {
		return fmt.Sprintf("a checkpoint took over %s, %s into the run", m.Bound.Most, units.Seconds(m.After.Seconds()))
	}
	if m.Foreseen {
		return fmt.Sprintf("%s over %s: %d operations already in the warm-up, %s before the measured time", m.Bound.Name, m.Bound.Most, m.Over, units.Seconds(-m.After.Seconds()))
	}
	return fmt.Sprintf("%s over %s: %d operations, %s into the run", m.Bound.Name, m.Bound.Most, m.Over, units.Seconds(m.After.Seconds()))
}

// A job is a run outside the search. It continues to its end unless a bound ends it.
type job struct {
	candidate *candidate
	more      []scenario.Set // beside the candidate's
	plain     bool           // the scenario itself, without any of these
	// bounds end the run as soon as it is certain to miss one of them.
	bounds []scenario.Bound
	// later, if not nil, returns the bounds once they are known. Then the run has a slot already.
	later func() *[]scenario.Bound
	// certain, if not nil, is set as soon as it is certain whether the run meets the objectives.
	// The run continues.
	certain *decision
	outcome *outcome
	// begun, if not nil, is called when the run has a slot; placed says that it has one already.
	begun  func()
	placed bool
	// missed, if not nil, is called as soon as it is certain that an objective is missed. It returns
	// whether the run continues.
	missed func(*simulate.MissedError) (goesOn bool)
	// progress, if not nil, is called while it runs.
	progress func(done, total time.Duration)
}

// A decision is whether a run meets the objectives, which is often certain long before the run
// ends.
type decision struct {
	made chan struct{} // closed when decided
	once sync.Once
	*outcome
}

func newDecision() *decision { return &decision{made: make(chan struct{})} }

// make sets it, once.
func (d *decision) make(o *outcome) {
	d.once.Do(func() {
		d.outcome = o
		close(d.made)
	})
}

// work does a job's run.
func (s *simulator) work(ctx context.Context, j *job) error {
	j.outcome = s.toEnd(ctx, j)
	if j.certain != nil {
		j.certain.make(j.outcome)
	}
	return j.outcome.problem
}

func (s *simulator) toEnd(ctx context.Context, j *job) *outcome {
	var sets []scenario.Set
	if !j.plain {
		sets = append(s.space.sets(j.candidate.choice), j.more...)
	}
	sc, err := s.over.With(sets...)
	var problems scenario.Problems
	switch {
	case errors.As(err, &problems):
		return &outcome{candidate: j.candidate, passed: true, reason: problems[0].Problem.Error()}
	case err != nil:
		return &outcome{candidate: j.candidate, problem: err}
	}
	opt := s.options(j, sc)
	var r *simulate.Result
	if j.later != nil || j.placed {
		r, err = s.simulate(ctx, sc, opt)
	} else {
		r, err = s.inSlot(ctx, j.begun, sc, opt)
	}
	var missed *simulate.MissedError
	switch {
	case errors.As(err, &missed):
		return &outcome{candidate: j.candidate, reason: missedText(missed), missed: missed, more: j.more}
	case err != nil:
		return &outcome{candidate: j.candidate, problem: err}
	}
	why := s.judge(r)
	return &outcome{candidate: j.candidate, result: r, met: why == "", reason: why, saturated: s.isSaturated(r), more: j.more}
}

// options returns what ends a job's run.
func (s *simulator) options(j *job, sc *scenario.Scenario) simulate.Options {
	wanted := simulate.Wanted{Bounds: j.bounds, Foresee: s.foresees()}
	if j.certain != nil {
		wanted.Bounds = s.want
		wanted.Missed = func(m *simulate.MissedError) bool {
			j.certain.make(&outcome{candidate: j.candidate, reason: missedText(m), missed: m})
			return true
		}
	}
	if j.missed != nil {
		wanted.Bounds, wanted.Missed = s.want, j.missed
	}
	if j.later != nil {
		wanted.Later = func() []scenario.Bound {
			if b := j.later(); b != nil {
				return *b
			}
			return nil
		}
	}
	if s.unbounded {
		return simulate.Options{}
	}
	opt := simulate.Options{Enough: s.enough(), Progress: j.progress}
	if len(wanted.Bounds) > 0 || wanted.Later != nil {
		wanted.Come = s.arrivals(j.candidate, sc)
		opt.Wanted = &wanted
	}
	return opt
}
