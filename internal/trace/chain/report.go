package chain

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"plimsoll/internal/trace/events"
)

// WorstChains is the number of calls that a report shows in full.
const WorstChains = 10

// A Report is the result of a trace.
type Report struct {
	Header *events.Header
	Kinds  []KindCount
	// Slow is the number of calls that reached the threshold, and SlowTime their total duration.
	Slow     int
	SlowTime time.Duration
	// Callers are the processes with slow calls.
	Callers []Caller
	// Stages and Behind divide SlowTime: by stage, and by stage, place and culprit.
	Stages []StageTime
	Behind []Behind
	Worst  []Chain
	Notes  []string
}

// A KindCount counts the calls of one kind.
type KindCount struct {
	Kind     events.Kind
	Calls    uint64
	Time     time.Duration
	Most     time.Duration
	Slow     int
	SlowTime time.Duration
}

// A Caller is a process with its slow calls.
type Caller struct {
	Comm  string
	PID   uint32
	Calls int
	Time  time.Duration
	Files []string // a few examples
}

// A StageTime is the time spent at one stage.
type StageTime struct {
	Stage Stage
	Time  time.Duration
	Share float64 // of SlowTime
}

// A Behind is the time that one culprit cost at one stage and place.
type Behind struct {
	Place    Place
	Stage    Stage
	Culprit  Culprit
	Time     time.Duration
	Share    float64 // of SlowTime
	Calls    int
	Requests int
	Bytes    int64
}

// Of returns a stage's share of SlowTime.
func (r *Report) Of(s Stage) float64 {
	for _, x := range r.Stages {
		if x.Stage == s {
			return x.Share
		}
	}
	return 0
}

type key struct {
	place Place
	stage Stage
	who   Culprit
}

// keysMax bounds the number of distinct combinations in a tally.
const keysMax = 20_000

// A Tally sums up chains.
type Tally struct {
	report Report
	kinds  [events.Kinds]KindCount
	by     map[key]*Behind
	stages map[Stage]time.Duration
	caller map[uint32]*Caller
	// left are the calls of background processes.
	left     int
	leftTime time.Duration
}

// NewTally returns an empty tally.
func NewTally() *Tally {
	return &Tally{by: map[key]*Behind{}, stages: map[Stage]time.Duration{}, caller: map[uint32]*Caller{}}
}

// Slow returns the number of calls added and their total duration.
func (t *Tally) Slow() (int, time.Duration) { return t.report.Slow, t.report.SlowTime }

// Add adds a call.
func (t *Tally) Add(c Chain) {
	took := c.Took()
	t.report.Slow++
	t.report.SlowTime += took
	k := &t.kinds[c.Call.Kind]
	k.Slow++
	k.SlowTime += took
	t.call(&c, took)

	counted := map[key]bool{}
	for i := range c.Segments {
		s := &c.Segments[i]
		t.stages[s.Stage] += s.Took()

		rest := s.Took()
		for _, x := range s.Shares {
			t.add(key{s.Place, s.Stage, x.Culprit}, x, counted)
			rest -= x.Time
		}

		// The part of a segment without a share gets an empty culprit, so that the sum over Behind
		// is SlowTime.
		if rest > 0 {
			t.add(key{s.Place, s.Stage, Culprit{}}, Share{Time: rest}, counted)
		}
	}

	worst := t.report.Worst
	if len(worst) < WorstChains || took > worst[len(worst)-1].Took() {
		worst = append(worst, c)
		slices.SortStableFunc(worst, func(a, b Chain) int { return cmp.Compare(b.Took(), a.Took()) })
		t.report.Worst = worst[:min(len(worst), WorstChains)]
	}
}

// Leave counts a call of a background process, which the report leaves out.
func (t *Tally) Leave(c *Chain) {
	t.left++
	t.leftTime += c.Took()
}

// callerFiles is the number of a process's files that are named.
const callerFiles = 4

func (t *Tally) call(c *Chain, took time.Duration) {
	p := t.caller[c.Call.PID]
	if p == nil {
		if len(t.caller) >= keysMax {
			return
		}
		p = &Caller{Comm: c.Process, PID: c.Call.PID}
		t.caller[c.Call.PID] = p
	}
	p.Calls++
	p.Time += took
	if c.File != "" && len(p.Files) < callerFiles && !slices.Contains(p.Files, c.File) {
		p.Files = append(p.Files, c.File)
	}
}

func (t *Tally) add(k key, x Share, counted map[key]bool) {
	b := t.by[k]
	if b == nil {
		// Once the map is full, further culprits of a stage are merged into one.
		if len(t.by) >= keysMax {
			k.who = Culprit{Comm: "others"}
		}
		if b = t.by[k]; b == nil {
			b = &Behind{Place: k.place, Stage: k.stage, Culprit: k.who}
			t.by[k] = b
		}
	}

	b.Time += x.Time
	b.Requests += x.Requests
	b.Bytes += x.Bytes

	if !counted[k] {
		counted[k] = true
		b.Calls++
	}
}

// Report returns the sums so far.
func (t *Tally) Report(h *events.Header) *Report {
	report := t.report
	report.Header = h
	if t.left > 0 {
		report.Notes = []string{Unwaited(t.left, t.leftTime)}
	}

	for k := range t.kinds {
		x := t.kinds[k]
		x.Kind = events.Kind(k)
		// The kernel programs count fast calls too; they never become chains.
		n := h.Totals.Counts[k]
		x.Calls, x.Time, x.Most = n.Calls, n.Time, n.Most
		if x.Calls > 0 || x.Slow > 0 {
			report.Kinds = append(report.Kinds, x)
		}
	}

	share := func(d time.Duration) float64 {
		if report.SlowTime == 0 {
			return 0
		}
		return float64(d) / float64(report.SlowTime)
	}

	for s, d := range t.stages {
		report.Stages = append(report.Stages, StageTime{s, d, share(d)})
	}

	slices.SortFunc(report.Stages, func(a, b StageTime) int {
		return cmp.Or(cmp.Compare(b.Time, a.Time), cmp.Compare(a.Stage, b.Stage))
	})
	for _, b := range t.by {
		x := *b
		x.Share = share(x.Time)
		report.Behind = append(report.Behind, x)
	}

	// Maps iterate in random order; the tie-breakers keep reports reproducible.
	slices.SortFunc(report.Behind, func(a, b Behind) int {
		return cmp.Or(cmp.Compare(b.Time, a.Time), cmp.Compare(a.Stage, b.Stage), cmp.Compare(a.Place, b.Place),
			cmp.Compare(a.Culprit.Comm, b.Culprit.Comm), cmp.Compare(a.Culprit.File, b.Culprit.File),
			cmp.Compare(a.Culprit.Why, b.Culprit.Why))
	})

	for _, c := range t.caller {
		report.Callers = append(report.Callers, *c)
	}

	slices.SortFunc(report.Callers, func(a,
		b Caller) int {
		return cmp.Or(cmp.Compare(b.Time, a.Time), cmp.Compare(a.PID, b.PID))
	})

	return &report
}

// Replay explains the calls of a saved trace.
func Replay(h *events.Header, b *events.Batch) *Report {
	w, t := NewWindow(h), NewTally()
	w.Add(b)
	for i := range b.Calls {
		x := w.Explain(&b.Calls[i])
		if h.Elsewhere(x.File) {
			continue
		}
		if slices.Contains(h.Background, b.Calls[i].PID) {
			t.Leave(&x)
			continue
		}
		if t.Draws(&x) {
			x.Queue = w.Queue(&x.Call)
		}
		t.Add(x)
	}

	return t.Report(h)
}

// Unwaited is the note on the slow calls that a report leaves out.
func Unwaited(calls int, took time.Duration) string {
	return fmt.Sprintf("left out %d slow calls (%s) of background processes: no client waits for them", calls,
		took.Round(time.Millisecond))
}

// A PlaceTime is the time spent at one place and stage, regardless of the culprit.
type PlaceTime struct {
	Place Place
	Stage Stage
	Time  time.Duration
	Share float64
}

// Places divides SlowTime by place and stage, largest first.
func (r *Report) Places() []PlaceTime {
	var out []PlaceTime
	for i := range r.Behind {
		b := &r.Behind[i]
		k := slices.IndexFunc(out, func(p PlaceTime) bool { return p.Place == b.Place && p.Stage == b.Stage })
		if k < 0 {
			k = len(out)
			out = append(out, PlaceTime{Place: b.Place, Stage: b.Stage})
		}
		out[k].Time += b.Time
		out[k].Share += b.Share
	}
	slices.SortStableFunc(out, func(a, b PlaceTime) int { return cmp.Compare(b.Time, a.Time) })
	return out
}
