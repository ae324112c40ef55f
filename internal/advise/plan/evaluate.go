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

// answeredMin is the share of the operations of an open loop that must be answered at the end: a deployment that does not keep up with
// its load has percentiles of those few that it answered.
const answeredMin = 0.99

// A simulator is the evaluator that asks the model.
type simulator struct {
	file  *scenario.File
	space *Space
	want  []scenario.Bound
	crew  *crew
	// now, if not nil, tells what is deployed now, as soon as it is certain whether it meets, and waits until then.
	now func() *outcome
	// likely, if not nil, is told of a candidate when so much of its run went well that it will probably meet: once each.
	likely func(*candidate)

	mu     sync.Mutex
	come   map[string]simulate.Arrivals // by the assignments that change the workload
	reads  map[string]int64             // by these too: see firstReads
	floors map[string]string            // by the volumes' assignments: why no run is needed, "" if one is
	parsed map[*candidate]*scenario.Scenario
	twins  twins // of all runs that were made
	told   twins // of those whose outcome counts so far
}

func newSimulator(file *scenario.File, space *Space, want []scenario.Bound, workers int) *simulator {
	return &simulator{
		file: file, space: space, want: want, crew: newCrew(workers),
		come: map[string]simulate.Arrivals{}, reads: map[string]int64{}, floors: map[string]string{}, parsed: map[*candidate]*scenario.Scenario{},
	}
}

// parse makes the scenario of a choice. The error is of type scenario.Problems where its checks refuse it.
func (s *simulator) parse(choice []int) (*scenario.Scenario, error) {
	return s.file.Parse(texts(s.space.sets(choice)))
}

func texts(sets []set) []string {
	out := make([]string, len(sets))
	for i, x := range sets {
		out[i] = x.String()
	}
	return out
}

// prune rejects what needs no run: what the scenario's checks refuse, and what its floor or its load forbids.
func (s *simulator) prune(c *candidate) *outcome {
	if s.now != nil && !slices.ContainsFunc(c.choice, func(k int) bool { return k != 0 }) {
		o := *s.now()
		o.candidate = c
		return &o
	}
	// Floor and load are of the volumes, the instance and the workload, whatever the settings.
	key := ""
	for i, k := range c.choice {
		if !s.space.axes[i].setting {
			key += fmt.Sprint(k, " ")
		}
	}
	if why, known := s.floors[key]; known && why != "" {
		return &outcome{candidate: c, pruned: true, reason: why}
	}
	sc, err := s.parse(c.choice)
	var problems scenario.Problems
	switch {
	case errors.As(err, &problems):
		return &outcome{candidate: c, passed: true, reason: problems[0].Problem.Error()}
	case err != nil:
		return &outcome{candidate: c, problem: err}
	}
	come := s.arrivals(c, sc)
	why := floor(sc, s.want)
	if why == "" {
		why = demand(sc, come)
	}
	if why == "" {
		why = reading(sc, come, func() int64 { return s.firstReads(c, sc, come) })
	}
	s.floors[key] = why
	if why != "" {
		return &outcome{candidate: c, pruned: true, reason: why}
	}
	if same := s.twins.find(twinOf(s.space, c, sc)); same != nil {
		return &outcome{candidate: c, repeated: true, reason: same.reason, missed: same.missed}
	}
	s.mu.Lock()
	s.parsed[c] = sc
	s.mu.Unlock()
	return nil
}

// firstReads are counted once for each workload: no layout changes the size of the databases.
func (s *simulator) firstReads(c *candidate, sc *scenario.Scenario, come simulate.Arrivals) int64 {
	key := s.workload(c)
	n, ok := s.reads[key]
	if !ok {
		n = firstReads(sc, come)
		s.reads[key] = n
	}
	return n
}

// workload is what a candidate changes of the workload.
func (s *simulator) workload(c *candidate) (key string) {
	for _, x := range s.space.sets(c.choice) {
		if within(x.path, "workload") {
			key += x.String() + "\n"
		}
	}
	return key
}

// counts tells whether a run counts as one: not if one that counted before repeats it. Asked in the order of the search, it
// says the same however many were run at once.
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

// arrivals are counted once for each workload.
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
	s.mu.Lock()
	sc := s.parsed[c]
	delete(s.parsed, c)
	s.mu.Unlock()
	defer s.crew.hurry()()
	opt := simulate.Options{Wanted: &simulate.Wanted{Bounds: s.want, Come: s.arrivals(c, sc)}}
	if s.likely != nil {
		opt.Progress = s.hopeful(c, sc)
	}
	r, err := simulate.Run(ctx, sc, opt)
	var missed *simulate.MissedError
	switch {
	case errors.As(err, &missed):
		o := &outcome{candidate: c, reason: missedText(missed), missed: missed}
		s.reject(o, sc, missed.Mattered)
		return o
	case err != nil:
		return &outcome{candidate: c, problem: err}
	}
	o := &outcome{candidate: c, result: r, reason: judge(r, s.want)}
	if o.met = o.reason == ""; !o.met {
		s.reject(o, sc, r.Mattered)
	}
	return o
}

// reject remembers a layout that does not meet, with the limits that mattered in its run.
func (s *simulator) reject(o *outcome, sc *scenario.Scenario, mattered [][volume.Limits]bool) {
	if o.twin = twinOf(s.space, o.candidate, sc); o.twin == nil || len(mattered) != len(o.twin.limits) {
		o.twin = nil
		return
	}
	o.twin.mattered, o.twin.outcome = mattered, o
	s.twins.add(o.twin)
}

// hopeful tells of a candidate that was not rejected within the first quarter of its measured time: nearly all that are to be are by then.
func (s *simulator) hopeful(c *candidate, sc *scenario.Scenario) func(done, total time.Duration) {
	told, enough := false, sc.Run.Warmup.Std()+sc.Run.Duration.Std()/4
	return func(done, _ time.Duration) {
		if !told && done >= enough {
			told = true
			s.likely(c)
		}
	}
}

func missedText(m *simulate.MissedError) string {
	if m.Bound.Name == "checkpoint" {
		return fmt.Sprintf("a checkpoint took over %s, %s into the run", m.Bound.Most, units.Seconds(m.After.Seconds()))
	}
	return fmt.Sprintf("%s over %s: %d operations were, %s into the run", m.Bound.Name, m.Bound.Most, m.Over, units.Seconds(m.After.Seconds()))
}

// A job is a run beside the search, to its end unless one of better and unlike ends it.
type job struct {
	candidate *candidate
	more      []set    // beside the candidate's
	plain     []string // not nil: assignments instead of all of these
	rank      rank
	// better, if not nil, ends the run as soon as it is certain that it keeps this bound no better.
	better *scenario.Bound
	// unlike, if not nil, ends the run as soon as it is certain that it misses an objective, if that one, whose outcome it is, does too.
	unlike *decision
	// certain, if not nil, makes the run urgent until it is certain whether it meets the objectives, which is told then; from then on it has
	// its rank.
	certain *decision
	outcome *outcome
}

// A decision is whether a run meets the objectives, which is often certain long before it ends.
type decision struct {
	made chan struct{} // closed when it is
	once sync.Once
	*outcome
}

func newDecision() *decision { return &decision{made: make(chan struct{})} }

// make tells it, the first time.
func (d *decision) make(o *outcome) {
	d.once.Do(func() {
		d.outcome = o
		close(d.made)
	})
}

// work makes a job's run.
func (s *simulator) work(ctx context.Context, j *job) error {
	j.outcome = s.whole(ctx, j)
	if j.certain != nil {
		j.certain.make(j.outcome)
	}
	return j.outcome.problem
}

func (s *simulator) whole(ctx context.Context, j *job) *outcome {
	sets := j.plain
	if sets == nil {
		sets = texts(append(s.space.sets(j.candidate.choice), j.more...))
	}
	sc, err := s.file.Parse(sets)
	var problems scenario.Problems
	switch {
	case errors.As(err, &problems):
		return &outcome{candidate: j.candidate, passed: true, reason: problems[0].Problem.Error()}
	case err != nil:
		return &outcome{candidate: j.candidate, problem: err}
	}
	opt, end := s.pace(ctx, j, sc)
	r, err := simulate.Run(ctx, sc, opt)
	end()
	var missed *simulate.MissedError
	switch {
	case errors.As(err, &missed):
		return &outcome{candidate: j.candidate, reason: missedText(missed), missed: missed, more: j.more}
	case err != nil:
		return &outcome{candidate: j.candidate, problem: err}
	}
	why := judge(r, s.want)
	return &outcome{candidate: j.candidate, result: r, met: why == "", reason: why, more: j.more}
}

// pace says how a job is run: urgent, or in the time that nobody needs, or first the one and then the other; and what ends it.
func (s *simulator) pace(ctx context.Context, j *job, sc *scenario.Scenario) (opt simulate.Options, end func()) {
	var leave func()
	hurries := j.certain != nil || j.rank == urgent
	if j.better != nil {
		opt.Wanted = &simulate.Wanted{Bounds: []scenario.Bound{*j.better}, Come: s.arrivals(j.candidate, sc)}
	}
	if hurries {
		leave = s.crew.hurry()
	} else {
		s.crew.wait(ctx, j.rank)
		leave = s.crew.leave
	}
	opt.Progress = func(time.Duration, time.Duration) {
		if !hurries {
			s.crew.pause(ctx, j.rank)
		}
	}
	switch {
	case j.certain != nil:
		opt.Wanted = &simulate.Wanted{Bounds: s.want, Come: s.arrivals(j.candidate, sc), Missed: func(m *simulate.MissedError) bool {
			j.certain.make(&outcome{candidate: j.candidate, reason: missedText(m), missed: m})
			leave()
			hurries, leave = false, s.crew.leave
			s.crew.wait(ctx, j.rank)
			return true
		}}
		if s.likely != nil {
			pause, hopeful := opt.Progress, s.hopeful(j.candidate, sc)
			opt.Progress = func(done, total time.Duration) {
				if pause(done, total); hurries {
					hopeful(done, total)
				}
			}
		}
	case j.unlike != nil:
		opt.Wanted = &simulate.Wanted{Bounds: s.want, Come: s.arrivals(j.candidate, sc), Missed: func(*simulate.MissedError) bool {
			s.crew.leave()
			select {
			case <-j.unlike.made:
			case <-ctx.Done():
			}
			if ctx.Err() != nil || !j.unlike.met {
				leave = func() {}
				return false
			}
			s.crew.wait(ctx, j.rank)
			return true
		}}
	}
	return opt, func() { leave() }
}

// judge says which objective a result misses, "" if none.
func judge(r *simulate.Result, want []scenario.Bound) string {
	asked := r.AskedPerSec * r.Seconds
	if r.OpenLoop && float64(r.Unanswered) > (1-answeredMin)*asked {
		return fmt.Sprintf("does not keep up: %d of %.0f operations have no answer at the end", r.Unanswered, asked)
	}
	for _, b := range want {
		got := r.Figure(b.Name)
		switch {
		case got == nil && b.Name == "checkpoint":
			return "no checkpoint ended within the run"
		case got == nil:
			return "nothing of the kind of " + b.Name + " was answered"
		case *got > float64(b.Most)/1e9:
			return fmt.Sprintf("%s %s, over %s", b.Name, units.Seconds(*got), b.Most)
		}
	}
	return ""
}
