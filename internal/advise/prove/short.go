package prove

import (
	"errors"
	"fmt"
)

// A Short says why recordings are too short for a verdict, and how long to record.
type Short struct {
	Text string `json:"text"` // of the first recording that is too short
	Hint string `json:"hint"`
	// Before and After say which recordings are too short.
	Before bool `json:"before"`
	After  bool `json:"after"`
}

// short returns why the sides are too short for a verdict; nil if they are long enough. It is an error
// unless a partial report is wanted.
func short(a, b *side, opt Options) (*Short, error) {
	err := longEnough(a, b)
	why := (*refusal)(nil)
	if err == nil || !opt.Partial || !errors.As(err, &why) {
		return nil, err
	}

	out := &Short{Text: why.text, Hint: why.hint, Before: a.tooShort(b) != nil, After: b.tooShort(a) != nil}

	// A side without a whole cycle is one unit: enough for its values.
	for _, s := range []*side{a, b} {
		if s.cut.n == 0 {
			s.cut.n, s.cut.unit = 1, make([]int32, s.c.Grid.N)
		}
	}

	return out, nil
}

// withoutVerdicts keeps the values of figures and removes what too few units cannot support: intervals,
// tests and verdicts.
func withoutVerdicts(pairs []pair) {
	for i := range pairs {
		x := &pairs[i]
		f := &x.figure
		f.Verdict, f.P, f.PAdjusted, f.Record = CantTell, nil, nil, nil
		for _, e := range []*Estimate{&f.Before, &f.After, &f.Difference, &f.Ratio} {
			e.Low, e.High = nil, nil
		}
		x.blocks, x.varies = 0, false
		x.difference, x.ratio, x.afterSpan = span{}, span{}, span{}
	}
}

// notYet is the summary of a report without a verdict.
func (r *Report) notYet(felt []pair) {
	r.Verdict = CantTell
	f := weightiest(felt, CantTell)
	r.Sentence = fmt.Sprintf("Not proved yet: %s. So far, %s was %s before and %s after.", r.Short.Text, f.Title,
		f.Before.Text(f.Unit), f.After.Text(f.Unit))
}
