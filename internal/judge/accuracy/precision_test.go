// Package accuracy measures how often verdicts are right. The ground truth is counterfactual, not
// an opinion: a claimed cause is right if the same run without it does not stall, and a refutation
// is right if adding the resource changes nothing. Both runs make a [Trial], and trials become a table of
// precision, recall and F1 per rule and sampling.
//
// All of it is tests, because labelled incidents need every engine and no program reads the result. They
// write docs/accuracy.md and docs/research/accuracy-rules.md.
package accuracy

import (
	"cmp"
	"slices"
	"time"
)

// Thresholds for the comparison of two runs. Between them a claim is neither right nor wrong, and
// is not counted.
const (
	// Ends is the least share of the stalled time that must disappear when a cause is removed.
	Ends = 0.8
	// Stays is the largest share of the stall that may disappear when something other than the cause is
	// removed.
	Stays = 0.2
)

// A Truth is the counterfactual's verdict on a claim.
type Truth int8

// The truths.
const (
	Unclear Truth = iota // part of the stalled time disappeared
	Right
	Wrong
)

// Cause is the truth of "it stalls because of X". stalled is the stalled time with X, without the
// stalled time without X.
func Cause(stalled, without time.Duration) Truth {
	switch gone := 1 - share(without, stalled); {
	case stalled <= 0 || gone <= Stays:
		return Wrong
	case gone >= Ends:
		return Right
	}
	return Unclear
}

// Refutation is the truth of "more of X does not help". stalled is the actual stalled time, granted the
// stalled time with more of X.
func Refutation(stalled, granted time.Duration) Truth {
	switch Cause(stalled, granted) {
	case Wrong:
		return Right
	case Right:
		return Wrong
	}
	return Unclear
}

func share(part, of time.Duration) float64 {
	if of <= 0 {
		return 1
	}
	return float64(part) / float64(of)
}

// A Trial is one rule's claim about one incident, with the truth.
type Trial struct {
	Rule     string
	Sampling time.Duration
	Truth    Truth
	Said     bool
}

// Alarm reports whether a wrong claim was made (false positive).
func (t Trial) Alarm() bool { return t.Said && t.Truth == Wrong }

// Miss reports whether a right claim was not made (false negative).
func (t Trial) Miss() bool { return !t.Said && t.Truth == Right }

// A Row counts how often a rule was right at one sampling.
type Row struct {
	Rule     string // "" for all rules together
	Sampling time.Duration
	// Hits are right claims made, Alarms wrong claims made, Misses right claims not made.
	Hits, Alarms, Misses int
}

// F1 is the harmonic mean of precision and recall; false if no claim was right and none was made.
func (r Row) F1() (float64, bool) { return ratio(2*r.Hits, 2*r.Hits+r.Alarms+r.Misses) }

func ratio(part, of int) (float64, bool) {
	if of == 0 {
		return 0, false
	}
	return float64(part) / float64(of), true
}

// Tabulate counts trials: for each sampling a row for all rules together, then one per rule.
// Unclear trials are excluded.
func Tabulate(trials []Trial) []Row {
	type key struct {
		rule     string
		sampling time.Duration
	}

	rows := map[key]*Row{}
	for _, t := range trials {
		if t.Truth == Unclear {
			continue
		}
		// The empty name is the row of all rules together.
		for _, rule := range []string{"", t.Rule} {
			k := key{rule, t.Sampling}
			if rows[k] == nil {
				rows[k] = &Row{Rule: rule, Sampling: t.Sampling}
			}

			switch r := rows[k]; {
			case t.Said && t.Truth == Right:
				r.Hits++
			case t.Alarm():
				r.Alarms++
			case t.Miss():
				r.Misses++
			}
		}
	}

	out := make([]Row, 0, len(rows))
	for _, r := range rows {
		out = append(out, *r)
	}

	slices.SortFunc(out,
		func(a, b Row) int { return cmp.Or(cmp.Compare(a.Sampling, b.Sampling), cmp.Compare(a.Rule, b.Rule)) })
	return out
}
