package watch

import (
	"slices"
	"time"

	"plimsoll/internal/judge/diagnose"
)

// An Event is what became of a finding.
type Event string

// The events of a finding.
const (
	Found  Event = "found"
	Worse  Event = "worse"
	Better Event = "better"
	Ended  Event = "ended"
)

// A Change is a finding that became another one than it was.
type Change struct {
	Event   Event
	At      time.Time
	Finding diagnose.Finding // as it is now; of one that ended, as it was last
	// Before is the severity it had; empty where it was found.
	Before diagnose.Severity
	// Since is when it began to hold.
	Since time.Time
}

// A State is a finding that holds.
type State struct {
	Finding diagnose.Finding
	Since   time.Time
}

// holdsFor is how many diagnoses in a row something has to hold before it is told.
const holdsFor = 2

// statesMax bounds the findings that are followed at once; a rule has one for each device or member.
const statesMax = 256

// A Tracker turns one diagnosis after the other into changes.
//
// A finding that is critical is told at once, another one when two diagnoses in a row have it. One that grows worse is told
// at once; one that grows milder, or is gone, when two diagnoses in a row say so. What comes and goes with each
// diagnosis is thus told once at most, and nothing that matters waits.
//
// A finding is known by its rule and its subject. Refutations are followed like causes.
type Tracker struct {
	held map[findingKey]*held
}

type findingKey struct{ rule, subject string }

// held is a finding that some diagnosis had lately.
type held struct {
	State
	told    bool
	as      diagnose.Severity // what was told
	seen    int               // diagnoses in a row that have it
	missing int               // diagnoses in a row that do not
	milder  int               // diagnoses in a row that have it milder than was told
}

// NewTracker makes a Tracker that knows of nothing.
func NewTracker() *Tracker { return &Tracker{held: map[findingKey]*held{}} }

var severities = map[diagnose.Severity]int{diagnose.Critical: 0, diagnose.Warning: 1, diagnose.Info: 2}

// Observe takes the findings of a diagnosis of the time up to at, and gives what changed in the order of a report: causes first, and what a database
// does before the limit that it meets.
func (t *Tracker) Observe(at time.Time, findings []diagnose.Finding) []Change {
	var out []Change
	present := map[findingKey]bool{}
	for _, f := range findings {
		key := findingKey{f.Rule, f.Subject}
		if present[key] {
			continue // a second one of the same rule says more of the same
		}
		h := t.held[key]
		if h == nil {
			if len(t.held) >= statesMax {
				continue
			}
			h = &held{State: State{Since: since(f, at)}}
			t.held[key] = h
		}
		present[key] = true
		if c, ok := h.observe(at, f); ok {
			out = append(out, c)
		}
	}
	for key, h := range t.held {
		if present[key] {
			continue
		}
		h.missing++
		h.seen = 0
		if !h.told {
			delete(t.held, key)
		} else if h.missing >= holdsFor {
			out = append(out, Change{Event: Ended, At: at, Finding: h.Finding, Before: h.as, Since: h.Since})
			delete(t.held, key)
		}
	}
	slices.SortStableFunc(out, func(a, b Change) int { return diagnose.Compare(a.Finding, b.Finding) })
	return out
}

// observe takes the finding as one diagnosis has it.
func (h *held) observe(at time.Time, f diagnose.Finding) (Change, bool) {
	h.Finding = f
	h.missing = 0
	h.seen++
	c := Change{At: at, Finding: f, Before: h.as, Since: h.Since}
	switch {
	case !h.told:
		if f.Severity != diagnose.Critical && h.seen < holdsFor {
			return c, false
		}
		h.told, c.Event = true, Found
	case severities[f.Severity] < severities[h.as]:
		c.Event = Worse
	case severities[f.Severity] > severities[h.as]:
		if h.milder++; h.milder < holdsFor {
			return c, false
		}
		c.Event = Better
	default:
		h.milder = 0
		return c, false
	}
	h.as, h.milder = f.Severity, 0
	return c, true
}

// since is when a finding that is new began to hold.
func since(f diagnose.Finding, at time.Time) time.Time {
	first := at
	for _, s := range f.Windows {
		if s.From.Before(first) {
			first = s.From
		}
	}
	return first
}

// States are the findings that hold, of which there was a word, in the same order: the first cause is the one that is named where a stall begins.
func (t *Tracker) States() []State {
	var out []State
	for _, h := range t.held {
		if h.told {
			out = append(out, h.State)
		}
	}
	slices.SortFunc(out, func(a, b State) int { return diagnose.Compare(a.Finding, b.Finding) })
	return out
}
