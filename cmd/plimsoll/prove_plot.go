package main

import (
	"fmt"
	"math"
	"strings"

	"plimsoll/internal/advise/prove"
)

// Of the plot of changes: a row for each figure. As far to the left as to the right is as much less as more, and small changes have more
// room than large ones (an axis of the root of the ratio's logarithm): whether an interval holds no change is what is to be seen.
const (
	provePlotLeast = 21 // columns, under which intervals are not told apart
	provePlotMost  = 81
)

// provePlotReaches are the ends that the axis may have, times more and times less.
var provePlotReaches = []float64{1.5, 2, 3, 5, 10, 30, 100, 300, 1000, 3000}

// provePlotTicks are changes that the axis names where there is room, the first of them first: less and more.
var provePlotTicks = [][2]float64{{0.1, 10}, {0.5, 2}, {0.9, 1.1}, {0.01, 100}}

// provePlotMarks are what a change is drawn with: told, not told, its interval with its ends, and no change.
type provePlotMarks struct{ told, untold, line, from, to, axis rune }

// changes draws each figure's change with its interval against no change.
func (p *provePage) changes() {
	columns := min(p.opt.Width-proveName-1, provePlotMost)
	columns -= 1 - columns%2 // a middle is wanted
	rows, reach := p.plotted()
	if columns < provePlotLeast || len(rows) == 0 {
		return
	}
	marks := provePlotMarks{told: '●', untold: '○', line: '─', from: '├', to: '┤', axis: '│'}
	if p.opt.ASCII {
		marks = provePlotMarks{told: '*', untold: 'o', line: '-', from: '[', to: ']', axis: '|'}
	}
	p.line("")
	p.para("CHANGES  ", fmt.Sprintf("after over before, each with its %s interval; %c is told, %c cannot be told",
		prove.Percent(p.r.Confidence), marks.told, marks.untold), "")
	for _, f := range rows {
		style := map[prove.Verdict]string{prove.Better: "32", prove.Worse: "1;31"}[f.Verdict]
		p.line(fmt.Sprintf("%-*s ", proveName, clipName(f.Title, proveName)) + p.paint(marks.row(f, columns, reach), style))
	}
	p.line(strings.Repeat(" ", proveName+1) + p.paint(proveTicks(columns, reach), "2"))
}

// proveColumn is where a ratio stands; -1 if it is none, or less than the axis has.
func proveColumn(ratio float64, columns int, reach float64) int {
	if !(ratio > 0) {
		return -1
	}
	far := math.Sqrt(math.Abs(math.Log(ratio)) / math.Log(reach))
	return max(-1, columns/2+int(math.Round(math.Copysign(far, ratio-1)*float64(columns/2))))
}

// proveTicks names changes below the plot: none, its ends, and between them as there is room.
func proveTicks(columns int, reach float64) string {
	out := []rune(strings.Repeat(" ", columns))
	put := func(ratio float64, text string) {
		start := min(max(proveColumn(ratio, columns, reach)-len(text)/2, 0), columns-len(text))
		for _, c := range out[max(start-2, 0):min(start+len(text)+2, columns)] {
			if c != ' ' {
				return
			}
		}
		copy(out[start:], []rune(text))
	}
	put(1, "as before")
	for _, pair := range append([][2]float64{{1 / reach, reach}}, provePlotTicks...) {
		if pair[1] > reach {
			continue
		}
		for _, x := range pair {
			put(x, strings.TrimSuffix(prove.Change(&x), ".0")) // a tick is exact
		}
	}
	return strings.TrimRight(string(out), " ")
}

// plotted are the figures that have a change with an interval, and how far the axis has to go for them.
func (p *provePage) plotted() (rows []*prove.Figure, reach float64) {
	far := 1.0
	for i := range p.r.Figures {
		f := &p.r.Figures[i]
		if f.Ratio.Value == nil || f.P == nil {
			continue
		}
		rows = append(rows, f)
		for _, x := range []*float64{f.Ratio.Value, f.Ratio.Low, f.Ratio.High} {
			if x != nil && *x > 0 && !math.IsInf(*x, 0) {
				far = max(far, *x, 1/(*x))
			}
		}
	}
	for _, reach = range provePlotReaches {
		if reach >= far {
			break
		}
	}
	return rows, reach
}

// row draws one change. What lies beyond the axis, or has no end, is an arrow at its edge.
func (m provePlotMarks) row(f *prove.Figure, columns int, reach float64) string {
	out := []rune(strings.Repeat(" ", columns))
	out[columns/2] = m.axis
	at := func(ratio float64) int { return proveColumn(ratio, columns, reach) }
	low, high := -1, columns
	if f.Ratio.Low != nil {
		low = at(*f.Ratio.Low)
	}
	if f.Ratio.High != nil {
		high = at(*f.Ratio.High)
	}
	for i := max(low, 0); i <= min(high, columns-1); i++ {
		out[i] = m.line
	}
	if low >= 0 {
		out[low] = m.from
	}
	if high < columns && high >= 0 {
		out[high] = m.to
	}
	mark := m.told
	if f.Verdict == prove.CantTell {
		mark = m.untold
	}
	value := at(*f.Ratio.Value)
	out[min(max(value, 0), columns-1)] = mark
	if low < 0 {
		out[0] = '<'
	}
	if high >= columns {
		out[columns-1] = '>'
	}
	return strings.TrimRight(string(out), " ")
}
