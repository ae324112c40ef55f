package main

import (
	"fmt"
	"slices"
	"strings"
)

// An Answer is what a tool said about a case, in words that fit any tool.
type Answer struct {
	// Claims are the causes that it named, the most important first.
	Claims []Claim `yaml:"claims"`
	// Stalled reports whether it said that something is slow or waits, whatever the cause, and
	// Symptom how severe it said that is.
	Stalled bool   `yaml:"stalled"`
	Symptom string `yaml:"symptom"`
	// Unjudged reports whether it said that the inputs are not sufficient for a verdict.
	Unjudged bool `yaml:"unjudged"`
	// Criterion holds its answers to "is this storage good enough for X".
	Criterion map[string]string `yaml:"criterion"`
	// Refused is its error, if it could not read the inputs.
	Refused string `yaml:"refused"`
	// Verdict is its answer in one sentence, for readers.
	Verdict string `yaml:"verdict"`
}

// A Claim is one cause that a tool named.
type Claim struct {
	Cause    string `yaml:"cause"` // a word of vocabulary
	Subject  string `yaml:"subject"`
	Severity string `yaml:"severity"`
}

// Grades, the best first.
const (
	right  = "right"
	partly = "partly"
	wrong  = "wrong"
)

// grade compares an answer with the truth, and returns the reason if it is wrong.
func grade(t Truth, a Answer) (string, string) {
	// Not reading a capture is as bad as a wrong diagnosis: the user has no answer either way.
	if a.Refused != "" {
		return wrong, "the inputs are not read"
	}

	// A cause that must never be claimed makes the answer wrong, whatever else it says.
	if i := slices.IndexFunc(a.Claims, func(c Claim) bool {
		return serious(c) && slices.Contains(t.Never,
			c.Cause)
	}); i >= 0 {
		return wrong, "claims " + a.Claims[i].Cause
	}

	switch {
	case len(t.Criterion) > 0:
		return gradeCriterion(t, a)
	case t.Healthy:
		return gradeHealthy(t, a)
	}
	return gradeSick(t, a)
}

// serious reports whether a claim makes an operator act.
func serious(c Claim) bool { return c.Severity != "info" }

// gradeHealthy grades an answer about a system whose storage is not at fault.
func gradeHealthy(t Truth, a Answer) (string, string) {
	worst, cause := "", ""
	for _, c := range a.Claims {
		// Side effects that the truth lists are no false alarm.
		if serious(c) && !slices.Contains(t.Also, c.Cause) && severityOf(c.Severity) > severityOf(worst) {
			worst, cause = c.Severity, c.Cause
		}
	}

	switch {
	case worst == "critical":
		return wrong, "critical: " + cause
	case a.Stalled && a.Symptom == "critical" && !alsoOnly(t, a):
		return wrong, "critical: something stalled"
	case a.Stalled && !alsoOnly(t, a):
		return partly, "warns that something stalled"
	case worst != "":
		// A warning is a lesser error than a critical finding: no one is called at night for it.
		return partly, "warns: " + cause
	case a.Unjudged:
		return partly, "not judged"
	}
	return right, ""
}

// alsoOnly reports whether all serious claims are of causes that hold besides the storage.
func alsoOnly(t Truth, a Answer) bool {
	found := false
	for _, c := range a.Claims {
		if !serious(c) {
			continue
		}
		if !slices.Contains(t.Also, c.Cause) {
			return false
		}
		found = true
	}
	return found
}

// gradeSick grades an answer about a system with a known cause.
func gradeSick(t Truth, a Answer) (string, string) {
	first, at := true, -1
	for i, c := range a.Claims {
		if t.accepts(c) {
			at = i
			break
		}
		// A further true claim does not displace the cause, and a mild one is not a claim.
		if serious(c) && !slices.Contains(t.Also, c.Cause) {
			first = false
		}
	}

	least := severityOf(t.Severity)
	switch {
	case at >= 0 && first && severityOf(a.Claims[at].Severity) >= least:
		return right, ""
	case at >= 0 && first:
		return partly, fmt.Sprintf("%s is only %s", a.Claims[at].Cause, a.Claims[at].Severity)
	case at >= 0:
		return partly, fmt.Sprintf("%s is not first: %s is", a.Claims[at].Cause, a.Claims[0].Cause)
	case !first:
		i := slices.IndexFunc(a.Claims, func(c Claim) bool {
			return serious(c) && !slices.Contains(t.Also,
				c.Cause)
		})
		return wrong, strings.TrimSpace("claims " + a.Claims[i].Cause + " " + a.Claims[i].Subject)
	case a.Stalled || len(a.Claims) > 0:
		return partly, "the symptom without its cause"
	case a.Unjudged:
		return partly, "not judged"
	}
	return wrong, "says that nothing is wrong"
}

// accepts reports whether a claim is one of the case's causes, about the right subject.
func (t Truth) accepts(c Claim) bool {
	return slices.Contains(t.Causes, c.Cause) && strings.Contains(c.Subject, t.Subject)
}

// gradeCriterion grades an answer to "is this storage good enough".
func gradeCriterion(t Truth, a Answer) (string, string) {
	worst, why := right, ""
	for of, want := range t.Criterion {
		switch got := a.Criterion[of]; {
		case got == want:
		case got == "" || got == "unclear" || got == "probably" || got == "probably not":
			if worst == right {
				worst, why = partly, fmt.Sprintf("good enough for %s: %q instead of %q", of, got, want)
			}
		default:
			worst, why = wrong, fmt.Sprintf("good enough for %s: %q instead of %q", of, got, want)
		}
	}
	return worst, why
}

// severityOf orders severities; an unknown one is below all.
func severityOf(s string) int { return slices.Index(severities, s) }
