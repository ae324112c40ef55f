package text

import (
	"math"
	"slices"
	"strings"

	"plimsoll/internal/base/units"
	"plimsoll/internal/present/document"
)

// The characters of a plot, from zero to the maximum. A space means not measured.
var (
	blocks = []rune("▁▂▃▄▅▆▇█")
	ascii  = []rune("_.:-=+*#")
)

const (
	nameColumns = 25 // width of a series' name
	mostColumns = 16 // width of its highest value
	rowsMax     = 9  // rows unless verbose
	marksNamed  = 3  // marks named below the axis
	tickColumns = 6  // width of a tall plot's axis: "100 ms"

	changedHere = "changed here"
)

// timeline draws the charts on a common time axis, a row for each series with its highest value.
func (p *page) timeline(axis *document.Timeline) {
	var rows []row
	names := 0
	for _, c := range axis.Charts {
		for _, s := range c.Series {
			r := row{name: c.Title, chart: c, series: s}
			if len(c.Series) > 1 {
				r.name += ", " + s.Name
			}
			rows = append(rows, r)
			names = max(names, columns(p.clean(r.name)))
		}
	}

	for _, b := range axis.Bands {
		names = max(names, columns(p.clean(b.Name)))
	}

	// A logarithmic series needs height to be readable, so it is drawn in several rows; the
	// first such series only, because a terminal has few rows.
	tall := slices.IndexFunc(rows, func(r row) bool { return r.chart.Log && len(r.chart.Series) == 1 })
	if tall >= 0 {
		names = max(names, columns(p.clean(rows[tall].name))+1+tickColumns)
	}
	if len(axis.Marks) > 0 {
		names = max(names, len(changedHere))
	}

	// Each row is: indent, name, gap, slots, gap, highest value.
	names = min(names, nameColumns)
	slots := p.width - 2 - names - 2 - 2 - mostColumns
	if slots < 10 || !(axis.ToS > axis.FromS) {
		return // too narrow to show a shape
	}

	p.blank()
	if tall >= 0 && p.tall(axis, rows[tall], names, slots) {
		rows = slices.Delete(rows, tall, tall+1)
	}

	for _, b := range axis.Bands {
		if b.Kind != "stall" { // the series show stalls
			p.line("  ", p.pad(b.Name, names), "  ", p.paint(p.marks(axis, b, slots), cyan))
		}
	}

	for i, r := range rows {
		if i == rowsMax && !p.verbose {
			p.shortened = true
			break
		}
		drawn, most := p.draw(axis, r, slots)
		p.line("  ", p.pad(r.name, names), "  ", p.paint(drawn, cyan), "  ", most)
	}

	p.marked(axis, names, slots)
	from, to := p.clean(axis.From), p.clean(axis.To)
	// A brief page leaves out the axis.
	if gap := slots - columns(from) - columns(to); gap > 0 && from != "" {
		column := units.Seconds((axis.ToS-axis.FromS)/float64(slots)) + "/column"
		p.line(strings.Repeat(" ", names+4), p.paint(from+strings.Repeat(" ", gap)+to, dim), "  ",
			p.paint(p.fit(column, mostColumns), dim))
	}
}

// marked draws the moments at which something was changed, and names the latest ones.
func (p *page) marked(t *document.Timeline, names, slots int) {
	if len(t.Marks) == 0 {
		return
	}

	at, pointer := make([]rune, slots), '▲'
	if p.ascii {
		pointer = '^'
	}

	for i := range at {
		at[i] = ' '
	}

	for _, m := range t.Marks {
		// A mark at the very end belongs to the last slot.
		at[max(0, min(slots-1, int((m.AtS-t.FromS)/(t.ToS-t.FromS)*float64(slots))))] = pointer
	}

	p.line("  ", p.pad(changedHere, names), "  ", p.paint(string(at), yellow))
	for _, m := range t.Marks[max(0, len(t.Marks)-marksNamed):] {
		p.line(strings.Repeat(" ", names+4), p.fit(m.Clock+" "+p.clean(m.Text), slots))
	}
}

// A row is one series of a timeline.
type row struct {
	name   string
	chart  document.Chart
	series document.Series
}

// draw renders a series as one row of slots, and prints its highest value.
func (p *page) draw(t *document.Timeline, line row, slots int) (drawn, most string) {
	vals := t.Slots(line.chart, line.series, slots)
	high := math.Inf(-1)
	for _, v := range vals {
		if !math.IsNaN(v) {
			high = max(high, v)
		}
	}

	if math.IsInf(high, -1) {
		return strings.Repeat(" ", slots), "not measured"
	}

	full := high
	if line.chart.Unit == "ratio" && high > 0.5 {
		full = max(1, high) // a share is drawn against the whole
	}

	ramp := blocks
	if p.ascii {
		ramp = ascii
	}

	var b strings.Builder
	for _, v := range vals {
		switch {
		case math.IsNaN(v):
			b.WriteByte(' ')
		// Zero was measured, so it is drawn; a blank means that nothing was.
		case full <= 0 || v <= 0:
			b.WriteRune(ramp[0])
		default:
			b.WriteRune(ramp[min(len(ramp)-1, int(math.Round(v/full*float64(len(ramp)-1))))])
		}
	}

	if isFlag(line) {
		return b.String(), ""
	}

	return b.String(), p.fit("max "+units.Value(high, line.chart.Unit), mostColumns)
}

// isFlag reports whether a series is only on or off, so that its highest value is not informative.
func isFlag(r row) bool {
	if r.chart.Unit != "" {
		return false
	}
	for _, v := range r.series.Values {
		if !math.IsNaN(v) && v != 0 && v != 1 {
			return false
		}
	}
	return true
}

// clamp limits a slot number to the valid range plus one on each side, because a float may exceed
// all integers.
func clamp(x float64, slots int) int { return int(min(max(x, -1), float64(slots))) }

// Timeline draws a timeline with the given number of columns, like [Write].
func Timeline(t *document.Timeline, width int) string {
	p := &page{width: max(width, widthMin)}
	p.timeline(t)
	return p.out.String()
}
