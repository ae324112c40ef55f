package watch

import (
	"slices"
	"time"

	"plimsoll/internal/judge/diagnose"
)

// An Event is a change of a finding.
type Event string

// The events of a finding.
const (
	Found  Event = "found"
	Worse  Event = "worse"
	Better Event = "better"
	Ended  Event = "ended"
	// Cleared means that a finding of the window no longer holds now; Again means that it holds
	// again.
	Cleared Event = "cleared"
	Again   Event = "again"
)

// A Change is a finding that appeared, changed severity, cleared or ended.
type Change struct {
	// Server is the server that has the finding; "" if there is only one.
	Server  string
	Event   Event
	At      time.Time
	Finding diagnose.Finding // its current state; if it ended, its last state
	// Before is its previous severity; empty for a new finding.
	Before diagnose.Severity
	// Since is when it began to hold.
	Since time.Time
}

// A State is a finding of the window. Its Ongoing says whether it still holds now.
type State struct {
	Server  string // the server it is about; "" if there is only one
	Finding diagnose.Finding
	Since   time.Time
}

// holdsFor is the number of consecutive diagnoses that must agree before a change is reported.
const holdsFor = 2

// statesMax bounds the findings tracked; a rule has one for each device or member.
const statesMax = 256

// A Tracker turns successive diagnoses into changes.
//
// A critical finding is reported immediately, any other once two consecutive diagnoses contain it.
// A finding that gets worse is reported immediately; one that improves or disappears, once two
// consecutive diagnoses agree. A finding that flips with each diagnosis is therefore reported at
// most once, and nothing important is delayed.
//
// A finding is identified by its rule and subject. Refutations are tracked like causes.
type Tracker struct {
	held map[findingKey]*held
}

type findingKey struct{ rule, subject string }

// held is a finding of a recent diagnosis.
type held struct {
	State
	reported bool
	now      bool              // it was reported as ongoing
	severity diagnose.Severity // as reported
	seen     int               // consecutive diagnoses that contain it
	missing  int               // consecutive diagnoses that do not
	milder   int               // consecutive diagnoses in which it is milder than reported
}

// NewTracker returns an empty Tracker.
func NewTracker() *Tracker { return &Tracker{held: map[findingKey]*held{}} }

// Observe processes the findings of a diagnosis up to a point in time, and returns the changes in
// the order of a report: causes first, and a database's behaviour before the limit behind it.
func (t *Tracker) Observe(at time.Time, findings []diagnose.Finding) []Change {
	var out []Change
	present := map[findingKey]bool{}
	for _, finding := range findings {
		key := findingKey{finding.Rule, finding.Subject}
		if present[key] {
			continue // a second finding of the same rule and subject adds nothing
		}

		h := t.held[key]
		if h == nil {
			// Findings are sorted by importance, so the ones left out matter least.
			if len(t.held) >= statesMax {
				continue
			}
			h = &held{State: State{Since: since(finding, at)}}
			t.held[key] = h
		}

		present[key] = true
		if c, ok := h.observe(at, finding); ok {
			out = append(out, c)
		}

		// Independent of severity: a finding of the window may end and recur before it leaves the
		// window.
		if h.reported && h.now != finding.Ongoing {
			h.now = finding.Ongoing
			event := Cleared
			if h.now {
				event = Again
			}
			out = append(out, Change{Event: event, At: at, Finding: finding, Before: h.severity, Since: h.Since})
		}
	}

	for key, h := range t.held {
		if present[key] {
			continue
		}
		h.missing++
		h.seen = 0
		if !h.reported {
			delete(t.held, key)
		} else if h.missing >= holdsFor {
			out = append(out, Change{Event: Ended, At: at, Finding: h.Finding, Before: h.severity, Since: h.Since})
			delete(t.held, key)
		}
	}

	slices.SortStableFunc(out, func(a, b Change) int { return diagnose.Compare(a.Finding, b.Finding) })
	return out
}

// observe updates the finding from one diagnosis.
func (h *held) observe(at time.Time, f diagnose.Finding) (Change, bool) {
	h.Finding = f
	h.missing = 0
	h.seen++

	c := Change{At: at, Finding: f, Before: h.severity, Since: h.Since}
	switch {
	case !h.reported:
		if f.Severity != diagnose.Critical && h.seen < holdsFor {
			return c, false
		}
		h.reported, h.now, c.Event = true, f.Ongoing, Found
	case f.Severity.Rank() < h.severity.Rank():
		c.Event = Worse
	case f.Severity.Rank() > h.severity.Rank():
		if h.milder++; h.milder < holdsFor {
			return c, false
		}
		c.Event = Better
	default:
		h.milder = 0
		return c, false
	}

	h.severity, h.milder = f.Severity, 0
	return c, true
}

// since returns when a new finding began to hold.
func since(f diagnose.Finding, at time.Time) time.Time {
	first := at
	for _, s := range f.Windows {
		if s.From.Before(first) {
			first = s.From
		}
	}
	return first
}

// States returns the reported findings that hold, in the same order: the first cause is the one
// named when a stall begins.
func (t *Tracker) States() []State {
	var out []State
	for _, h := range t.held {
		if h.reported {
			out = append(out, h.State)
		}
	}
	slices.SortFunc(out, func(a, b State) int { return diagnose.Compare(a.Finding, b.Finding) })
	return out
}

// everyFinding returns the findings of all incidents of a diagnosis, because the ongoing one may
// not be the worst incident of the window. A finding that several incidents share counts once,
// preferably in its ongoing state.
func everyFinding(r *diagnose.Report) []diagnose.Finding {
	out := slices.Clone(r.Findings)
	at := map[findingKey]int{}
	for i, f := range out {
		at[findingKey{f.Rule, f.Subject}] = i
	}

	for _, x := range r.Incidents {
		for _, f := range x.Findings {
			key := findingKey{f.Rule, f.Subject}
			i, known := at[key]
			switch {
			case !known:
				at[key] = len(out)
				out = append(out, f)
			case f.Ongoing && !out[i].Ongoing:
				out[i] = f
			}
		}
	}

	slices.SortStableFunc(out, diagnose.Compare)
	return out
}
