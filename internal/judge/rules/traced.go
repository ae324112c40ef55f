package rules

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"plimsoll/internal/record/timeline"
	"plimsoll/internal/trace/wait"
)

// A trace measures what slow calls wait for, request by request, while rules infer it from what
// happened at the same time. So if a trace ran in the stalled time, each rule's mechanism is
// compared with it: [Rule.Weigh].

// A Mechanism describes what a trace shows in slow calls if a rule is right.
type Mechanism struct {
	// Waits are the kinds of waits that count: any of these.
	Waits []wait.Class
	// Within means that the calls wait behind the program's own I/O.
	Within bool
	// Without means that the calls do not wait for these.
	Without bool
}

// BehindCheckpoint is a log's sync that waits behind pages written by the same program's
// checkpoint.
var BehindCheckpoint = &Mechanism{Waits: []wait.Class{wait.Own, wait.Sync, wait.Flush, wait.Requests,
	wait.Journal, wait.Throttle, wait.WBT}, Within: true}

// Traced is what a trace measured in the stalled time. Its JSON is a contract.
type Traced struct {
	Programs []string `json:"programs"` // the callers; the one that waited most is first
	// StalledS is the stalled time in which the trace ran, and WaitedS the total time that slow calls
	// waited in it.
	StalledS float64 `json:"traced_stalled_seconds"`
	WaitedS  float64 `json:"waited_seconds"`
	// SlowerS is the duration from which a call is slow.
	SlowerS float64 `json:"slower_than_seconds"`
	// Explained is the share of WaitedS that the trace explains.
	Explained float64      `json:"explained"`
	Waits     []TracedWait `json:"waits"`  // the greatest first
	Stages    []StageTime  `json:"stages"` // the same time by stage

	each  []float64     // by cell, how many explained calls waited concurrently
	Cells timeline.Mask `json:"-"` // the cells examined
}

// A TracedWait is how long slow calls waited for one thing.
type TracedWait struct {
	Wait wait.Class `json:"wait"`
	// Behind is the program that the calls waited behind, "" if none or the caller itself; Own
	// means that it was the caller itself.
	Behind  string  `json:"behind,omitempty"`
	Own     bool    `json:"own,omitempty"`
	Why     string  `json:"why,omitempty"` // the reason for the blocking request
	Text    string  `json:"text"`          // in words, after a share: "behind ..."
	Seconds float64 `json:"seconds"`
	Share   float64 `json:"share"` // of WaitedS
}

// A StageTime is how much time slow calls spent in one stage.
type StageTime struct {
	Stage   string  `json:"stage"`
	Seconds float64 `json:"seconds"`
	Share   float64 `json:"share"`
}

const (
	// A trace with less measured time than this shows nothing about a stall.
	tracedLeastS = 2.0
	waitedLeastS = 0.5
	// programLeast is the share of the waiting above which a program is named.
	programLeast = 0.01
	// tracedAround is how far before and after a stall traced calls still count, in nanoseconds: operations
	// are credited when they end, and the calls that they waited for were earlier.
	tracedAround = 1e9
)

// Traced is what a trace measured in the stalled time: for the programs of the stalled databases
// or, if a device stalled, for all calls on it. It is nil if no trace ran then or if it saw too
// little.
func (c *Case) Traced() *Traced {
	slower := c.One(TraceSlower)
	if slower == nil || !c.Stall.Any() {
		return nil
	}
	cells := c.Stall.Cells.Widen(c.Cells(tracedAround), c.Cells(tracedAround)).And(timeline.Known(slower))
	t := &Traced{StalledS: c.Seconds(c.Stall.Cells.And(cells)),
		SlowerS: timeline.Max(timeline.At(slower, cells)), Cells: cells}
	t.add(c)
	if t.StalledS < tracedLeastS || t.WaitedS < waitedLeastS {
		return nil
	}
	t.finish()
	return t
}

// add adds up the waits in the examined cells.
func (t *Traced) add(c *Case) {
	t.each = make([]float64, c.Grid.N)
	step := c.Grid.StepSeconds()
	callers := map[string]float64{}
	waits := map[TracedWait]float64{}

	stages := map[string]float64{}
	for _, track := range c.Signal(TraceWait) {
		l := track.Labels
		program := l.Get("program")
		seconds := timeline.Sum(timeline.At(track.Values, t.Cells)) * step
		if !(seconds > 0) || !c.hurts(program, l.Get("device")) {
			continue
		}

		// Waits behind the caller's own I/O are grouped, whichever label the trace gave them.
		w := TracedWait{Wait: wait.Class(l.Get("wait")), Behind: l.Get("behind"), Why: l.Get("why")}
		if w.Own = w.Wait == wait.Own || w.Behind == program; w.Own {
			w.Behind = ""
		}

		if w.Behind == "" && waitTexts[w.Wait] != "" {
			w.Why = "" // the text is the same
		}

		waits[w] += seconds
		callers[program] += seconds
		stages[l.Get("stage")] += seconds
		t.WaitedS += seconds

		if w.Wait == wait.Unknown {
			continue
		}

		t.Explained += seconds
		for k, x := range track.Values {
			if x > 0 {
				t.each[k] += x
			}
		}
	}

	for name, s := range callers {
		if s >= programLeast*t.WaitedS {
			t.Programs = append(t.Programs, name)
		}
	}

	slices.SortFunc(t.Programs, func(a,
		b string) int {
		return cmp.Or(cmp.Compare(callers[b], callers[a]), cmp.Compare(a, b))
	})

	for w, s := range waits {
		w.Seconds = s
		t.Waits = append(t.Waits, w)
	}

	for name, s := range stages {
		t.Stages = append(t.Stages, StageTime{Stage: name, Seconds: s})
	}
}

// hurts reports whether a program's calls on a device are part of the stall.
func (c *Case) hurts(program, device string) bool {
	if !c.Stall.IsDatabase {
		// If no call is known on the stalled device, it is layered above or below the ones with calls.
		return device == c.Stall.Subject || c.For(TraceWait, "device", c.Stall.Subject) == nil
	}
	for _, e := range c.Pack.Engines() {
		if (len(c.Engines) == 0 || slices.Contains(c.Engines, e.Database)) && slices.Contains(e.Programs, program) {
			return true
		}
	}
	return false
}

// finish computes shares and sorts.
func (t *Traced) finish() {
	t.Explained /= t.WaitedS
	for i := range t.Waits {
		w := &t.Waits[i]
		w.Share, w.Text = w.Seconds/t.WaitedS, w.text()
	}

	for i := range t.Stages {
		t.Stages[i].Share = t.Stages[i].Seconds / t.WaitedS
	}

	slices.SortFunc(t.Waits, func(a, b TracedWait) int {
		return cmp.Or(cmp.Compare(b.Seconds, a.Seconds), cmp.Compare(a.Wait, b.Wait),
			cmp.Compare(a.Behind, b.Behind), cmp.Compare(a.Why, b.Why))
	})

	slices.SortFunc(t.Stages, func(a, b StageTime) int {
		return cmp.Or(cmp.Compare(b.Seconds, a.Seconds), cmp.Compare(a.Stage, b.Stage))
	})
}

// waitTexts describe waits for which it does not matter which program blocked the call.
var waitTexts = map[wait.Class]string{
	wait.Own: "behind its own pages under writeback", wait.Journal: "in the file system's journal",
	wait.Lock:  "behind a lock",
	wait.Block: "in the block layer", wait.Queue: "behind requests of unknown origin",
	wait.Throttle: "throttled because too much memory was dirty",
	wait.WBT:      "in the kernel's writeback throttling", wait.Limit: "at a limit of its cgroup",
	wait.Device: "the device itself", wait.Flushing: "the device's flushes",
	wait.CPU: "runnable, but without a CPU", wait.Kernel: "the kernel's own work",
	wait.Unknown: "unexplained",
}

// requestTexts describe requests by their reason.
var requestTexts = map[string]string{"direct_write": "direct writes", "read": "reads", "discard": "discards"}

// text describes a wait, to follow a share of the time.
func (w *TracedWait) text() string {
	if text, ok := waitTexts[w.Wait]; ok {
		return text
	}

	owner := cmp.Or(w.Behind, "an unknown program") + "'s"
	if w.Own {
		owner = "its own"
	}

	switch w.Wait {
	case wait.Sync:
		return "behind the writes of " + owner + " sync"
	case wait.Flush:
		return "behind " + owner + " pages flushed by the kernel"
	case wait.Requests:
		return "behind " + owner + " " + cmp.Or(requestTexts[w.Why], "requests")
	}

	return strings.ReplaceAll(string(w.Wait), "_", " ")
}

// Of is the share of the waiting that a mechanism predicts, and the most that it may be, since all
// of the unexplained part may belong to it.
func (t *Traced) Of(m *Mechanism) (share, most float64) {
	for _, w := range t.Waits {
		if slices.Contains(m.Waits, w.Wait) && (!m.Within || w.Behind == "") {
			share += w.Share
		}
	}
	if m.Without {
		share = max(0, t.Explained-share)
	}
	return share, min(1, share+1-t.Explained)
}

// programsMost is how many programs a sentence names.
const programsMost = 2

// Who names the programs whose calls were slow.
func (t *Traced) Who() string {
	names := t.Programs
	if n := len(names) - programsMost; n > 0 {
		names = append(slices.Clone(names[:programsMost]), fmt.Sprintf("%d more", n))
	}
	return strings.Join(names, ", ")
}

// Covered is the share of some cells' time in which an explained call waited. Each cell counts by
// its weight, or equally if weights is nil.
func (t *Traced) Covered(cells timeline.Mask, weights []float64) float64 {
	var covered, whole float64
	for k, in := range cells {
		w := 1.0
		if weights != nil {
			w = weights[k]
		}
		if !in || !(w > 0) {
			continue
		}
		whole += w
		if t.Cells[k] {
			covered += w * min(1, t.each[k])
		}
	}

	if whole == 0 || math.IsNaN(covered) {
		return 0
	}

	return covered / whole
}

// The results of comparing a finding with a trace.
const (
	Confirmed = "confirmed" // most of the waiting is what the rule predicts
	Partly    = "partly"
	RuledOut  = "ruled out"
)

const (
	// confirmedFrom is the share of the waiting above which a trace confirms a mechanism, and
	// ruledOutBelow the share below which it rules it out.
	confirmedFrom = 0.5
	ruledOutBelow = 0.1
	// coveredLeast is the share of the traced stalled time with waiting slow calls, below which
	// clients waited for something else.
	coveredLeast = 0.3
)

// weighedWords are the sentences that a trace adds to a finding.
var weighedWords = Words{
	Confirmed: "A trace confirms it: {{.share}} of the waiting in slow calls of {{.programs}} was of this kind ({{.most}}).",
	Partly:    "A trace confirms it only in part: {{.share}} of the waiting in slow calls of {{.programs}} was of this kind ({{.most}}).",
	RuledOut:  "A trace rules it out: {{.share}} of the waiting in slow calls of {{.programs}} was of this kind, but {{.most}}.",
	"title":   "A trace rules out: {{.title}}",
}

// Weigh compares a written finding with a trace's measurements, if the rule says what a trace would
// show. A cause that the trace contradicts becomes a refutation, with the evidence; a refutation
// that it contradicts is dropped: keep is false.
func (r *Rule) Weigh(input *Case, traced *Traced, finding *Finding) (keep bool, err error) {
	if traced == nil || r.Traced == nil || finding.Kind == Symptom ||
		traced.Covered(input.Stall.Cells.And(traced.Cells), nil) < coveredLeast {
		return true, nil
	}

	// most includes the unexplained part, so a mechanism is ruled out only if even that would not
	// be enough.
	share, most := traced.Of(r.Traced)
	finding.Measured = Partly

	switch {
	case share >= confirmedFrom:
		finding.Measured = Confirmed
	case most < ruledOutBelow:
		finding.Measured = RuledOut
	}

	// Advice not to buy anything must not contradict a measurement.
	if finding.Kind == Refutation && finding.Measured != Confirmed {
		return false, nil
	}

	top := traced.Waits[0]
	v := Values{"programs": Called(traced.Who()), "share": Part(share),
		"most":  Part(top.Share) + Value(" "+top.Text),
		"title": Called(finding.Title)}
	text, err := r.print(weighedWords[finding.Measured], finding.Measured, v)
	if err != nil {
		return false, err
	}

	finding.Summary = strings.TrimSpace(finding.Summary + " " + text)
	finding.Evidence = append(finding.Evidence,
		input.Figure("measured by a trace: share of this mechanism in the slow calls' waiting", TraceWait, share,
			"ratio", traced.Cells))

	switch finding.Measured {
	case Partly:
		finding.Weight = min(finding.Weight, most)
		if s := input.SeverityOf(finding.Weight); s == Info || s == Warning && finding.Severity == Critical {
			finding.Severity = s
		}
	case RuledOut:
		finding.Kind, finding.Severity, finding.Weight = Refutation, Info, share
		finding.Fixes, finding.Opening, finding.Closing, finding.Foremost, finding.Cap, finding.SupportCase = nil,
			"", "", false, nil, nil
		finding.Title, err = r.print(weighedWords["title"], "title", v)
	}

	return true, err
}
