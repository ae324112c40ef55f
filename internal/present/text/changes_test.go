package text

import (
	"testing"

	"pgregory.net/rapid"

	"plimsoll/internal/present/document"
)

// changed returns a change with an interval; a high of 0 means an unknown upper end.
func changed(title string, certain bool, value, low, high float64) document.RatioRow {
	r := document.RatioRow{Title: title, Certain: certain, Ratio: value, Interval: true, Low: &low}
	if high != 0 {
		r.High = &high
	}
	return r
}

// A reader sees whether an interval includes 1 (no change), however different the changes are. Anything
// beyond the axis is an arrow.
func TestPlotOfChanges(t *testing.T) {
	c := document.Changes{Margin: 0.05, Rows: []document.RatioRow{
		changed("write p99", true, 1.0/495, 1.0/600, 1.0/322),
		changed("write p99.9", false, 0.9, 0, 0),
		changed("operations", true, 0.997, 0.981, 1.014),
		changed("await", true, 22, 19.7, 24.9),
	}}

	for _, x := range []struct {
		page page
		want string
	}{
		{page{width: 83}, `
   write p99           ├●┤                          │
   write p99.9        <─────────────────────────○─────────────────────────────────>
   operations                                     ├●─┤
   await                                            │                   ●
                      1/1,000    1/10   -50 %   as before  +100 %  x 10     x 1,000
`}, {page{width: 53, ascii: true}, `
   write p99           *             |
   write p99.9        <------------o---------------->
   operations                       [*]
   await                             |         *
                      1/1,000    as before    x 1,000
`},
	} {
		if !x.page.changes(c) || "\n"+x.page.out.String() != x.want {
			t.Errorf("%d columns:\n%s\nwant%s", x.page.width, x.page.out.String(), x.want)
		}
	}

	narrow := page{width: 42}
	if narrow.changes(c) || narrow.out.Len() > 0 {
		t.Errorf("too narrow to show anything:\n%s", narrow.out.String())
	}
}

// A change entirely beyond the axis is only an arrow.
func TestPlotOfChangesBeyondTheAxis(t *testing.T) {
	for _, x := range []struct {
		row  document.RatioRow
		want string
	}{
		{changed("more", true, 5e4, 4e4, 6e4), "                    │                   >"},
		{changed("less", true, 1/5e4, 1/6e4, 1/4e4), "<                   │"},
		{changed("up to much more", true, 5e4, 2, 6e4), "                    │     ├─────────────>"},
	} {
		a := changesAxis{columns: 41, reach: reachOf([]document.RatioRow{x.row})}
		marks := changeMarks{certain: '●', uncertain: '○', line: '─', from: '├', to: '┤', axis: '│'}
		if got := marks.row(x.row, a); got != x.want {
			t.Errorf("%s: %q, want %q", x.row.Title, got, x.want)
		}
	}
}

// Whatever a change and its interval are, a row has as many columns as the axis.
func TestPlotOfChangesFits(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		any := rapid.Float64()
		x := document.RatioRow{Ratio: any.Draw(r, "ratio"), Interval: rapid.Bool().Draw(r, "interval"), Certain: true}
		for _, end := range []**float64{&x.Low, &x.High} {
			if rapid.Bool().Draw(r, "known") {
				v := any.Draw(r, "end")
				*end = &v
			}
		}
		p := &page{width: 83}
		if !p.changes(document.Changes{Rows: []document.RatioRow{x}}) {
			r.Fatal("there is room")
		}
	})
}
