// Package accuracy counts how often verdicts are right. The truth is counterfactual, not an opinion:
// a cause is one if the same run without it does not stall, and a refutation is right if granting the
// resource changes nothing. Whoever has both runs makes a [Trial]; here trials become a table of
// precision, recall and F1 per rule and sampling.
//
// The package's tests hold the generator of labelled incidents, which needs every engine, and write
// docs/accuracy.md.
package accuracy

import (
	"cmp"
	"slices"
	"time"
)

// What the two runs have to show. Between the two shares a claim is neither true nor false, and is
// not counted.
const (
	// Ends is the part of the stalled time that has to be gone without a cause.
	Ends = 0.8
	// Stays is the part that may be gone at most when something that is not the cause is granted.
	Stays = 0.2
)

// A Truth is what the counterfactual says of a claim.
type Truth int8

// The truths.
const (
	Unclear Truth = iota // part of the stalled time is gone
	Right
	Wrong
)

// Cause is the truth of "it stalls because of X": stalled is the time with X, without the time
// without it.
func Cause(stalled, without time.Duration) Truth {
	switch gone := 1 - share(without, stalled); {
	case stalled <= 0 || gone <= Stays:
		return Wrong
	case gone >= Ends:
		return Right
	}
	return Unclear
}

// Refutation is the truth of "more of X does not help": stalled is the time as it is, granted the
// time with more of X.
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

// A Trial is one rule's answer to one incident, with the truth.
type Trial struct {
	Rule     string
	Sampling time.Duration
	Truth    Truth
	Said     bool
}

// Alarm reports whether something was said that is wrong.
func (t Trial) Alarm() bool { return t.Said && t.Truth == Wrong }

// Miss reports whether something is right that was not said.
func (t Trial) Miss() bool { return !t.Said && t.Truth == Right }

// A Row is how right a rule was at a sampling.
type Row struct {
	Rule     string // "" for all together
	Sampling time.Duration
	// Hits were said and right, Alarms said and wrong, Misses right and not said.
	Hits, Alarms, Misses int
}

// Precision is the part of what was said that is right; false if nothing was said.
func (r Row) Precision() (float64, bool) { return ratio(r.Hits, r.Hits+r.Alarms) }

// Recall is the part of what is right that was said; false if nothing was right.
func (r Row) Recall() (float64, bool) { return ratio(r.Hits, r.Hits+r.Misses) }

// F1 is the harmonic mean of both; false if there was nothing to say and nothing was said.
func (r Row) F1() (float64, bool) { return ratio(2*r.Hits, 2*r.Hits+r.Alarms+r.Misses) }

func ratio(part, of int) (float64, bool) {
	if of == 0 {
		return 0, false
	}
	return float64(part) / float64(of), true
}

// Tabulate counts trials: for each sampling a row of all rules together, then one per rule. Unclear
// trials are left out.
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
