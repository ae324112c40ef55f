package frame

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/base/units"
)

// A section is a heading and rows. It gets at least min of its rows if there is any room, and more
// if there is more room.
type section struct {
	head Line
	rows []Line
	min  int
}

// body places everything below the title, in the given number of lines.
func (s *screen) body(m *Moment, room int) {
	all := []section{s.now(m), s.clients(m), s.devices(m), s.limits(m), s.spent(m), s.incidents(m)}
	if m.To.IsZero() {
		all = all[:1] // nothing is known yet, not even what is missing
	}

	all = slices.DeleteFunc(all, func(x section) bool { return len(x.rows) == 0 })
	given := make([]int, len(all))
	// use gives section i up to n more rows. The first row also needs a line for the heading,
	// so that no heading is shown without a row.
	use := func(i, n int) {
		for n > 0 && given[i] < len(all[i].rows) {
			need := 1
			if given[i] == 0 && all[i].head != nil {
				need = 2
			}
			if room < need {
				return
			}
			room -= need
			given[i]++
			n--
		}
	}

	for i, x := range all {
		use(i, x.min)
	}

	// First come the rows that each section must have, in order of importance. What is left is
	// then given out one row per section and round, so that one long list does not take it all.
	for grown := true; grown && room > 0; {
		grown = false
		for i := range all {
			before := room
			use(i, 1)
			grown = grown || room < before
		}
	}

	for i, x := range all {
		if given[i] == 0 {
			continue
		}
		if x.head != nil {
			s.lines = append(s.lines, x.head)
		}
		s.lines = append(s.lines, x.rows[:given[i]]...)
	}
}

var levels = map[Level]Style{Unknown: Plain, Good: Ok, Warning: Warn, Critical: Bad}

// now shows the current incident, what to do first, the newest mark, and the host.
func (s *screen) now(moment *Moment) section {
	out := section{min: 3}
	text := s.clean(moment.Now.Text)
	// The words repeat what the colour says, for terminals without colours.
	if moment.Now.Level == Critical {
		head := "ONGOING  " // the incident is between two of its stalls
		if slices.ContainsFunc(moment.Clients, func(c Client) bool { return c.Stalled }) ||
			len(moment.Clients) == 0 {
			head = "STALL  "
		}
		text = head + text
	}

	out.rows = append(out.rows, Line{{text, levels[moment.Now.Level]}})
	// These two lines belong together: which server this is means little without the state of
	// the others.
	if moment.Server != "" {
		out.min++
		out.rows = append(out.rows, Line{{"server ", Dim}, {s.clean(moment.Server), Bold},
			{"   others: " + s.clean(strings.Join(moment.Others, ", ")), Plain}})
	}

	if moment.Now.Fix != "" {
		out.rows = append(out.rows, Line{{"  fix  ", Dim}, {s.clean(moment.Now.Fix), Plain}})
	}

	if len(moment.Host) > 0 {
		var l Line
		for i, f := range moment.Host {
			if i > 0 {
				l = append(l, Part{"   ", Plain})
			}
			l = append(l, Part{s.clean(f.Label) + " ", Dim}, Part{s.clean(f.Text), Plain})
		}
		out.rows = append(out.rows, l)
	}

	// Only the newest mark: it is the change most likely to explain what happens now.
	if len(moment.Marks) > 0 {
		x := moment.Marks[0]
		out.rows = append(out.rows, Line{{"changed ", Dim},
			{x.At.In(s.Zone).Format("15:04:05") + " " + s.clean(x.Text), Accent}})
	}

	return out
}

const (
	nameColumns   = 20
	figureColumns = 9
	clockColumns  = 9
	sparkLeast    = 8
	sparkMost     = 60
)

// heads is a line of headings, the first left-aligned and the others right-aligned.
func (s *screen) heads(first string, n int, others ...string) Line {
	var b strings.Builder
	b.WriteString(s.left(first, n))
	for _, o := range others {
		b.WriteString(s.right(o, figureColumns))
	}
	return Line{{b.String(), Bold}}
}

func (s *screen) clients(m *Moment) section {
	out := section{min: 3, head: s.heads("CLIENTS", nameColumns, "ops/s", "mean", "worst", "usual", "stalled")}
	// The name and five figures come first; the spark line gets what is left, or is omitted.
	spark := min(sparkMost, s.Width-nameColumns-5*figureColumns-2)
	if spark >= sparkLeast {
		out.head = append(out.head, Part{"  " + s.left("last minute", spark), Bold})
	}

	for _, c := range m.Clients {
		style := Plain
		if c.Stalled {
			style = Bad
		}

		l := Line{{s.left(c.Name, nameColumns), style},
			{s.right(number(c.Rate, ""), figureColumns) + s.right(number(c.Mean, "seconds"), figureColumns), style},
			{s.right(number(c.Worst, "seconds"), figureColumns) + s.right(number(c.Usual, "seconds"), figureColumns) +
				s.right(units.Seconds(c.StalledS), figureColumns), Plain}}

		if spark >= sparkLeast {
			l = append(l, Part{"  " + s.spark(c.Recent, c.Threshold, spark), Accent})
		}

		out.rows = append(out.rows, l)
	}

	// The section keeps its place, so that missing latencies are not mistaken for calm.
	if len(out.rows) == 0 {
		out.head = nil
		out.rows = []Line{{{"clients: not measured; no source reports how long operations take", Dim}}}
	}

	return out
}

var (
	blocks = []rune("▁▂▃▄▅▆▇█")
	ramp   = []rune("_.:-=+*#")
)

// spark draws values as a row of blocks, with the maximum for each column, scaled to their maximum
// or the threshold, whichever is higher.
func (s *screen) spark(values []float64, threshold float64, width int) string {
	// Below the threshold the bars stay low, so that noise does not look like a stall.
	full := threshold
	for _, v := range values {
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			full = max(full, v)
		}
	}

	chars := blocks
	if s.ASCII {
		chars = ramp
	}

	// Values are right-aligned: the newest is always in the last column.
	n := min(width, len(values))
	out := []rune(strings.Repeat(" ", width-n))
	for i := range n {
		high := math.NaN()
		for _, v := range values[i*len(values)/n : (i+1)*len(values)/n] {
			// The negated comparison also holds for the first value, while high is NaN.
			if !math.IsNaN(v) && !(high >= v) {
				high = v
			}
		}

		switch {
		case math.IsNaN(high):
			out = append(out, ' ')
		// A measured zero is a low bar; only what was not measured is blank.
		case full <= 0 || high <= 0:
			out = append(out, chars[0])
		default:
			out = append(out, chars[min(len(chars)-1, int(math.Round(min(high, full)/full*float64(len(chars)-1))))])
		}
	}

	return string(out)
}

// bar draws a share as a bar.
func (s *screen) bar(part float64, width int) string {
	if !(part >= 0) {
		return strings.Repeat(" ", width)
	}
	n := int(math.Round(min(part, 1) * float64(width)))
	return strings.Repeat("|", n) + strings.Repeat(" ", width-n)
}

const (
	deviceColumns = 11
	busyColumns   = 10
)

// order returns the value that devices are sorted by, highest first.
func order(d Device, by Sort) float64 {
	v := [...]float64{d.Busy, d.IOPS, d.BytesS, d.AwaitS, 0}[by]
	if math.IsNaN(v) {
		return -1
	}
	return v
}

func (s *screen) devices(m *Moment) section {
	head := s.left("DEVICES", deviceColumns) + s.left("["+s.left("busy", busyColumns)+"]", busyColumns+8)
	for _, h := range []struct {
		text string
		n    int
	}{{"IOPS", 7}, {"of limit", 9}, {"moved", 10}, {"of limit", 9}, {"queue", 7}, {"await", 9}} {
		head += s.right(h.text, h.n)
	}

	out := section{min: 3, head: Line{{head, Bold}}}
	all := slices.Clone(m.Devices)
	slices.SortStableFunc(all, func(a, b Device) int {
		return cmp.Or(cmp.Compare(order(b, s.Sort), order(a, s.Sort)), strings.Compare(a.Name, b.Name))
	})

	// Idle devices only take up space, unless the idle device is the only one.
	idle := 0
	for _, d := range all {
		if d.Idle && len(all) > 1 {
			idle++
			continue
		}

		style := Plain
		// A device that is busy all the time may still serve more requests in parallel, so only
		// a limit that is reached is red.
		switch most := max(known(d.Busy), known(d.SharedIOPS), known(d.SharedBytesS)); {
		case known(d.SharedIOPS) >= full, known(d.SharedBytesS) >= full:
			style = Bad
		case most >= nearly:
			style = Warn
		}

		out.rows = append(out.rows, Line{{s.left(d.Name, deviceColumns), Plain},
			{"[" + s.bar(d.Busy, busyColumns) + "]", style}, {s.right(share(d.Busy), 6), style},
			{s.right(number(d.IOPS, ""), 7), Plain}, {s.right(ofLimit(d.SharedIOPS), 9), style},
			{s.right(number(d.BytesS, "bytes/s"), 10), Plain},
			{s.right(ofLimit(d.SharedBytesS), 9), style},
			{s.right(number(d.Queue, ""), 7) + s.right(number(d.AwaitS, "seconds"), 9), Plain}})
	}

	if len(all) == 0 {
		out.head, out.rows = nil,
			[]Line{{{"devices: not measured; add host if the database runs on this machine", Dim}}}
	}

	if idle > 0 {
		out.rows = append(out.rows, Line{{fmt.Sprintf("and %d idle", idle), Dim}})
	}

	return out
}

// full is the share above which a limit binds, nearly the share from which it is close.
const (
	full   = 0.97
	nearly = 0.8
)

func known(x float64) float64 {
	if math.IsNaN(x) {
		return 0
	}
	return x
}

func share(x float64) string {
	if !(x >= 0) {
		return "–"
	}
	return strconv.Itoa(int(math.Round(100*x))) + " %"
}

// ofLimit prints a share of a limit.
func ofLimit(x float64) string {
	if !(x >= 0) {
		return "unknown"
	}
	return share(x)
}

// limits shows the limits from headroom, and when they will be reached.
func (s *screen) limits(m *Moment) section {
	out := section{min: 1, head: Line{{s.left("LIMITS, peak use", spentColumns), Bold}}}
	names := min(spentColumns, s.Width/2)

	bars := max(8, min(20, s.Width-names-9))
	for _, x := range m.Limits {
		style := Accent
		if x.Part >= nearly {
			style = Warn
		}
		l := Line{{s.left(x.Subject+": "+x.Title, names), Plain}, {"[" + s.bar(x.Part, bars) + "]", style},
			{s.right(share(x.Part), 6), style}}
		// Only a limit that is approached over time has an end, such as credits or space.
		if !math.IsNaN(x.EndsS) {
			l = append(l, Part{"  ends in " + units.Seconds(x.EndsS), Warn})
		}
		out.rows = append(out.rows, l)
	}

	return out
}

// spentColumns is the width of a share's name.
const spentColumns = 34

func (s *screen) spent(m *Moment) section {
	out := section{min: 3}
	if m.Spent.Incident == 0 {
		return out
	}

	out.head = Line{{fmt.Sprintf("WHERE THE STALLED TIME OF INCIDENT %d WENT", m.Spent.Incident), Bold}}
	names := min(spentColumns, s.Width/2)

	bars := max(8, min(40, s.Width-names-9))
	for _, x := range m.Spent.Rows {
		name := x.Name
		if x.Overlaps {
			name += " *"
		}
		out.rows = append(out.rows, Line{{s.left(name, names), Plain}, {"[" + s.bar(x.Part, bars) + "]", Accent},
			{s.right(share(x.Part), 6), Plain}})
	}

	return out
}

func (s *screen) incidents(m *Moment) section {
	out := section{min: 2, head: Line{{s.left("INCIDENT", clockColumns) + s.left("from", clockColumns) +
		s.left("to", clockColumns) +
		s.right("stalled", figureColumns) + s.right("worst", figureColumns) + "  operations and cause", Bold}}}
	skip := max(0, min(s.Skip, len(m.Incidents)-1))
	if skip > 0 {
		out.head = append(out.head, Part{fmt.Sprintf("  (%d newer)", skip), Dim})
	}

	for _, x := range m.Incidents[min(skip, len(m.Incidents)):] {
		until, style := x.To.In(s.Zone).Format(time.TimeOnly), Plain
		if x.Now {
			until, style = "now", Bad
		}
		out.rows = append(out.rows, Line{{s.left(strconv.Itoa(x.ID), clockColumns) +
			s.left(x.From.In(s.Zone).Format(time.TimeOnly), clockColumns), Plain},
			{s.left(until, clockColumns), style},
			{s.right(units.Seconds(x.StalledS), figureColumns) + s.right(number(x.WorstS, "seconds"), figureColumns) +
				"  ", Plain}, {s.clean(x.Who + ": " + x.Why), Plain}})
	}

	return out
}
