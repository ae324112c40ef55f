package text

import (
	"math"
	"strings"

	"plimsoll/internal/base/units"
	"plimsoll/internal/present/document"
)

// The plot of changes has a row for each figure. Equal factors up and down are equally far from the
// middle, and small changes get more room than large ones: the axis is the square root of the
// ratio's logarithm. It shows whether an interval contains "no change".
const (
	changesName  = 18
	changesLeast = 21 // with fewer columns, intervals cannot be distinguished
	changesMost  = 81
)

// changesReaches are the possible ends of the axis, as factors up and down.
var changesReaches = []float64{1.5, 2, 3, 5, 10, 30, 100, 300, 1000, 3000}

// changesTicks are the changes that the axis labels if there is room, in order of priority.
var changesTicks = [][2]float64{{0.1, 10}, {0.5, 2}, {0.9, 1.1}, {0.01, 100}}

// changeMarks are the characters that draw a change: its value, certain or not, its interval, and
// the axis of no change.
type changeMarks struct{ certain, uncertain, line, from, to, axis rune }

// changes draws each figure's change with its interval. It reports whether there was room.
func (p *page) changes(c document.Changes) bool {
	wide := min(p.width-len(indent3)-changesName-1, changesMost)
	wide -= 1 - wide%2 // an odd width has a middle column
	// The caller falls back to the table.
	if wide < changesLeast || len(c.Rows) == 0 {
		return false
	}

	a := changesAxis{columns: wide, reach: reachOf(c.Rows)}
	marks := changeMarks{certain: '●', uncertain: '○', line: '─', from: '├', to: '┤', axis: '│'}
	if p.ascii {
		marks = changeMarks{certain: '*', uncertain: 'o', line: '-', from: '[', to: ']', axis: '|'}
	}

	for _, r := range c.Rows {
		st := plain
		switch r.Level {
		case document.Good, document.Critical:
			st = styleOf(r.Level)
		}
		p.line(indent3, p.pad(r.Title, changesName), " ", p.paint(marks.row(r, a), st))
	}

	p.line(indent3, strings.Repeat(" ", changesName+1), p.paint(a.ticks(), dim))
	return true
}

// reachOf returns the end of the axis that fits all changes, or the largest possible one.
func reachOf(rows []document.RatioRow) (reach float64) {
	far := 1.0
	for _, r := range rows {
		for _, x := range []*float64{&r.Ratio, r.Low, r.High} {
			if x != nil && *x > 0 && !math.IsInf(*x, 0) {
				// A factor of 0.1 is as far from "no change" as a factor of 10.
				far = max(far, *x, 1/(*x))
			}
		}
	}
	for _, reach = range changesReaches {
		if reach >= far {
			break
		}
	}
	return reach
}

// A changesAxis goes from 1/reach to reach.
type changesAxis struct {
	columns int
	reach   float64
}

// column returns a ratio's column; -1 is beyond the left end, and a.columns beyond the right end.
func (a changesAxis) column(ratio float64) int {
	if !(ratio > 0) {
		return -1
	}
	far := math.Copysign(math.Sqrt(math.Abs(math.Log(ratio))/math.Log(a.reach)), ratio-1)
	half := float64(a.columns / 2)
	return int(min(max(half+math.Round(far*half), -1), float64(a.columns)))
}

// ticks labels the axis: no change, the ends, and values between them if there is room.
func (a changesAxis) ticks() string {
	out := []rune(strings.Repeat(" ", a.columns))
	put := func(ratio float64, text string) {
		start := min(max(a.column(ratio)-len(text)/2, 0), a.columns-len(text))
		// A label needs two free columns on each side. The order of the calls decides which
		// labels win.
		for _, c := range out[max(start-2, 0):min(start+len(text)+2, a.columns)] {
			if c != ' ' {
				return
			}
		}
		copy(out[start:], []rune(text))
	}

	put(1, "as before")
	for _, pair := range append([][2]float64{{1 / a.reach, a.reach}}, changesTicks...) {
		if pair[1] > a.reach {
			continue
		}
		for _, x := range pair {
			put(x, strings.TrimSuffix(units.Change(x), ".0")) // a tick is exact
		}
	}

	return strings.TrimRight(string(out), " ")
}

// row draws one change. An end that is beyond the axis or unknown is an arrow at the edge.
func (m changeMarks) row(ratioRow document.RatioRow, a changesAxis) string {
	out := []rune(strings.Repeat(" ", a.columns))
	out[a.columns/2] = m.axis
	last, value := a.columns-1, a.column(ratioRow.Ratio)
	low, high := value, value

	// An end that is nil is unknown, so the interval is drawn up to the edge.
	if ratioRow.Interval {
		low, high = -1, a.columns
		if ratioRow.Low != nil {
			low = a.column(*ratioRow.Low)
		}

		if ratioRow.High != nil {
			high = a.column(*ratioRow.High)
		}

		for i := max(low, 0); i <= min(high, last); i++ {
			out[i] = m.line
		}

		if low >= 0 && low <= last {
			out[low] = m.from
		}

		if high >= 0 && high <= last {
			out[high] = m.to
		}
	}

	mark := m.certain
	if !ratioRow.Certain {
		mark = m.uncertain
	}

	// The mark is drawn over the interval and the axis. An arrow at the edge is drawn over the
	// mark: that the end is not visible matters more.
	out[min(max(value, 0), last)] = mark
	if low < 0 {
		out[0] = '<'
	}

	if high > last {
		out[last] = '>'
	}

	return strings.TrimRight(string(out), " ")
}
