package main

import (
	"strings"
	"testing"

	"plimsoll/internal/advise/prove"
	"plimsoll/internal/present/text"
)

// changed is a figure whose ratio is known with an interval; an end of 0 is none.
func changed(title string, verdict prove.Verdict, value, low, high float64) prove.Figure {
	f := prove.Figure{Title: title, Verdict: verdict, P: new(float64), Ratio: prove.Estimate{Value: &value, Low: &low}}
	if high != 0 {
		f.Ratio.High = &high
	}
	return f
}

// A reader sees whether an interval holds no change, however small the one change and large the other; what lies beyond the axis is an arrow.
func TestPlotOfChanges(t *testing.T) {
	r := &prove.Report{Confidence: 0.95, Figures: []prove.Figure{
		changed("write p99", prove.Better, 1.0/495, 1.0/600, 1.0/322),
		changed("write p99.9", prove.CantTell, 0.9, 0, 0),
		changed("operations", prove.NoChange, 0.997, 0.981, 1.014),
		changed("await", prove.Worse, 22, 19.7, 24.9),
		{Title: "too short", Verdict: prove.CantTell, Ratio: prove.Estimate{Value: new(float64)}},
	}}
	for _, c := range []struct {
		opt  text.Options
		want string
	}{
		{text.Options{Width: 80}, `
write p99           ├●┤                          │
write p99.9        <─────────────────────────○─────────────────────────────────>
operations                                     ├●─┤
await                                            │                   ●
                   1/1,000    1/10   -50 %   as before  +100 %  x 10     x 1,000
`}, {text.Options{Width: 50, ASCII: true}, `
write p99           *             |
write p99.9        <------------o---------------->
operations                       [*]
await                             |         *
                   1/1,000    as before    x 1,000
`},
	} {
		p := &provePage{r: r, opt: c.opt}
		p.changes()
		_, got, _ := strings.Cut(p.b.String(), "\nwrite")
		if want := strings.TrimPrefix(c.want, "\n"); "write"+got != want {
			t.Errorf("%d columns:\n%s\nwant\n%s", c.opt.Width, "write"+got, want)
		}
	}
	narrow := &provePage{r: r, opt: text.Options{Width: 39}}
	if narrow.changes(); narrow.b.Len() > 0 {
		t.Errorf("too narrow to show anything:\n%s", narrow.b.String())
	}
}
