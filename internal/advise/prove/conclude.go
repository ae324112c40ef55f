package prove

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/base/units"
)

// conclude combines the verdicts on the client-visible figures into one, with a sentence. If the
// recordings have no such figure, all figures count.
func (r *Report) conclude(pairs []pair) {
	felt := slices.DeleteFunc(slices.Clone(pairs), func(x pair) bool { return !x.kind.felt })
	if len(felt) == 0 {
		felt = pairs
	}

	if r.Short != nil {
		r.notYet(felt)
		return
	}

	count := map[Verdict]int{}
	for i := range felt {
		count[felt[i].figure.Verdict]++
	}

	switch {
	case count[Better] > 0 && count[Worse] > 0:
		r.Verdict = Mixed
	case count[Better] > 0:
		r.Verdict = Better
	case count[Worse] > 0:
		r.Verdict = Worse
	case count[NoChange] > 0 && count[CantTell] == 0:
		r.Verdict = NoChange
	default:
		r.Verdict = CantTell
	}

	r.Sentence = r.sentence(felt)
}

// sentence phrases the verdict with its most important figure.
func (r *Report) sentence(felt []pair) string {
	var text strings.Builder
	switch r.Verdict {
	case Better, Worse:
		fmt.Fprintf(&text, "%s: %s.", capital(string(r.Verdict)), r.strongest(felt, r.Verdict))
	case Mixed:
		fmt.Fprintf(&text, "Better and worse: %s; but %s.", r.strongest(felt, Better), r.strongest(felt, Worse))
	case NoChange:
		f := weightiest(felt, NoChange)
		fmt.Fprintf(&text, "No change: %s was %s before and %s after; any change is under %s.", f.Title,
			f.Before.Text(f.Unit), f.After.Text(f.Unit), Percent(math.Round(100*(sameRatio+f.Resolution))/100))
	default:
		f := weightiest(felt, CantTell)
		fmt.Fprintf(&text, "No change is proved: %s was %s before and %s after", f.Title, f.Before.Text(f.Unit),
			f.After.Text(f.Unit))

		switch x := pairOf(felt, f); {
		case f.Before.AtLeast && f.After.AtLeast:
			text.WriteString(", beyond the histogram's last bucket, so the two cannot be compared")
		case f.P == nil:
			text.WriteString(", and the recordings are too short to say more")
		case x.blurred(1 - r.Confidence):
			fmt.Fprintf(&text, ", which is more than chance, but the histogram's buckets are %.0f %% wide there",
				100*f.Resolution)
		default:
			text.WriteString(", which may be due to chance")
		}

		if f.Record != nil {
			fmt.Fprintf(&text, "; two recordings of %s would show %s", units.Seconds(f.Record.Seconds), f.Record.For)
		}

		text.WriteString(".")
	}

	if !r.Workload.Comparable {
		text.WriteString(" But the workload differed.")
	}

	return text.String()
}

func pairOf(of []pair, f *Figure) *pair {
	return &of[slices.IndexFunc(of, func(x pair) bool { return x.figure.Name == f.Name })]
}

// strongest describes the most important figure with a verdict.
func (r *Report) strongest(felt []pair, v Verdict) string {
	f := weightiest(felt, v)
	return fmt.Sprintf("%s %s, from %s to %s (%s sure: %s)", f.Title, f.verb(), f.Before.Text(f.Unit),
		f.After.Text(f.Unit),
		Percent(r.Confidence), f.within())
}

// order ranks figures by importance, the most harmful first.
var order = []string{"write_p99", "stalled", "wal_fsync_p99", "read_p99", "write_p999", "read_p999",
	"write_p50", "read_p50", "backend_commit_p99"}

func weightiest(of []pair, v Verdict) *Figure {
	rank := func(x *Figure) int {
		if i := slices.Index(order, x.Name); i >= 0 {
			return i
		}
		return len(order)
	}

	var best *Figure
	for i := range of {
		f := &of[i].figure
		if f.Verdict != v {
			continue
		}
		// Prefer a figure with a value to one that was zero before and after.
		if best == nil || nothing(best) && !nothing(f) || nothing(best) == nothing(f) && rank(f) < rank(best) {
			best = f
		}
	}

	return best
}

func nothing(f *Figure) bool {
	return f.Before.Value != nil && f.After.Value != nil && *f.Before.Value == 0 && *f.After.Value == 0
}

// verb describes the direction and size of a figure's change.
func (f *Figure) verb() string {
	word := "rose"
	if *f.Difference.Value < 0 {
		word = "fell"
	}
	if f.Ratio.Value == nil {
		return word
	}
	// Beyond a factor of ten, percentages are hard to read.
	if x := *f.Ratio.Value; x >= 10 || x > 0 && x <= 0.1 {
		return fmt.Sprintf("%s %s-fold", word, units.Number(max(x, 1/x)))
	}
	return fmt.Sprintf("%s by %.0f %%", word, math.Abs(100*(*f.Ratio.Value-1)))
}

// within returns the interval of the change: in percent, or as a difference if the value before was zero.
func (f *Figure) within() string {
	// There is no ratio to a value of zero.
	if f.Ratio.Low == nil && f.Ratio.High == nil {
		return fmt.Sprintf("%s to %s", Signed(f.Difference.Low, f.Unit), Signed(f.Difference.High, f.Unit))
	}
	return fmt.Sprintf("%s to %s", Change(f.Ratio.Low), Change(f.Ratio.High))
}

// Interval returns the interval of the change as text: in percent or as a factor, or as a difference if the
// value before was zero; "" if nothing changed.
func (f *Figure) Interval() string {
	switch d := f.Difference; {
	case f.P == nil:
		return "too short"
	case d.Low != nil && d.High != nil && *d.Low == 0 && *d.High == 0:
		return ""
	}
	return f.within()
}

// Change formats a ratio for people: "-67 %", "+12 %", "1/539", "x 12".
func Change(ratio *float64) string {
	if ratio == nil {
		return "?"
	}
	return units.Change(*ratio)
}

// Signed formats a difference with its sign and unit.
func Signed(x *float64, unit string) string {
	if x == nil {
		return "?"
	}
	sign := "+"
	if *x < 0 {
		sign = "-"
	}
	v := math.Abs(*x)
	return sign + value(&v, unit)
}

// value formats a figure with its unit.
func value(x *float64, unit string) string {
	if x == nil {
		return "-"
	}
	if unit == "seconds/h" {
		return units.Value(*x, "seconds")
	}
	return units.Value(*x, unit)
}

// Text formats an estimate's value; "-" if there is none.
func (e Estimate) Text(unit string) string {
	if e.AtLeast {
		return "at least " + value(e.Value, unit)
	}
	return value(e.Value, unit)
}

// Percent formats a configured share: "95 %", "99.9 %".
func Percent(x float64) string {
	return strconv.FormatFloat(math.Round(1e4*x)/1e2, 'f', -1, 64) + " %"
}

func capital(s string) string {
	if s == "" {
		return ""
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
