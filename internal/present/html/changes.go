package html

import (
	"fmt"
	"html/template"
	"math"
	"slices"
	"strings"

	"plimsoll/internal/base/units"
	"plimsoll/internal/present/document"
)

// Sizes of the drawing of changes. Ratios beyond its ends are drawn at the ends.
const (
	changesWidth = 900.0
	changesLeft  = 170.0
	changesRight = 110.0
	changesRow   = 24.0
	changesMost  = 3000.0 // largest factor, up or down
	changesTick  = 58.0   // least distance between the middles of two ticks
)

// changes draws each figure's ratio with its interval.
func changes(c document.Changes) template.HTML {
	rows := c.Rows
	reach := 1.5
	for _, f := range rows {
		for _, x := range []*float64{&f.Ratio, f.Low, f.High} {
			if x != nil && *x > 0 {
				reach = max(reach, *x, 1/(*x))
			}
		}
	}

	// Some room beyond the largest change, so that its mark is not at the very edge.
	reach = min(reach*1.15, changesMost)
	height := 14 + changesRow*float64(len(rows)) + 20
	drawing := newDrawing(changesWidth, height, fmt.Sprintf("Changes of %d figures with their intervals", len(rows)))
	x := scale{from: 1 / reach, to: reach, start: changesLeft, end: changesWidth - changesRight, change: true}
	bottom := height - 18
	// The margin is the same factor down and up, so its upper end is 1/(1-margin).
	drawing.rect("margin", x.at(1-c.Margin), 6, x.at(1/(1-c.Margin))-x.at(1-c.Margin), bottom-6)
	drawing.text("tick", "middle", x.at(1), height-4, "as before")

	// The ticks are in order of importance: each is labelled only if none before it is too
	// close.
	named := []float64{x.at(1)}
	for _, tick := range []float64{10, 0.1, 100, 0.01, 2, 0.5, 1.1, 0.9, 1000, 0.001} {
		at := x.at(tick)
		if tick > reach || tick < 1/reach ||
			slices.ContainsFunc(named, func(other float64) bool { return math.Abs(other-at) < changesTick }) {
			continue
		}
		named = append(named, at)
		drawing.line("grid", at, 6, at, bottom)
		drawing.text("tick", "middle", at, height-4, strings.TrimSuffix(units.Change(tick), ".0"))
	}

	drawing.line("axis", x.at(1), 6, x.at(1), bottom)
	for i, f := range rows {
		drawing.change(f, x, 18+changesRow*float64(i))
	}

	return drawing.done()
}

// change draws one figure's interval and mark in a row.
func (d *drawing) change(f document.RatioRow, x scale, y float64) {
	inside := func(v float64) float64 { return math.Min(math.Max(v, x.from), x.to) }
	// An end that is unknown or outside of the axis is drawn at the axis' end.
	low, high := x.from, x.to
	if f.Low != nil && *f.Low > 0 {
		low = inside(*f.Low)
	}

	if f.High != nil {
		high = inside(*f.High)
	}

	class := "certain"
	switch {
	case !f.Certain:
		class = "uncertain"
	case f.Level == document.Good:
		class = "certain-good"
	case f.Level == document.Critical:
		class = "certain-bad"
	}

	d.text("strong", "end", changesLeft-10, y+4, f.Title)
	if f.Interval {
		d.line("interval "+class, x.at(low), y, x.at(high), y)
		d.line("interval "+class, x.at(low), y-4, x.at(low), y+4)
		d.line("interval "+class, x.at(high), y-4, x.at(high), y+4)
	}

	at := x.at(inside(f.Ratio))
	fmt.Fprintf(&d.b, `<circle class="dot %s" cx="%s" cy="%s" r="4.2"/>`, class, coordinate(at), coordinate(y))
	d.text("tick", "start", changesWidth-changesRight+8, y+4, f.Verdict)
}
