package document

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"time"

	"plimsoll/internal/base/units"
)

// A Timeline is a set of charts that share a time axis, a cursor and a zoom, with bands behind
// them. Its JSON is what a page's script reads.
type Timeline struct {
	// FromS and ToS bound the time axis. Times of day are seconds since 1970 in the report's time
	// zone, treated as UTC, so that readers elsewhere see the report's clock instead of theirs.
	FromS float64 `json:"from"`
	ToS   float64 `json:"to"`
	// Elapsed says that times count from the start of a run instead of showing a clock.
	Elapsed bool `json:"elapsed"`
	// Cuts are the gaps that the axis leaves out, in time order.
	Cuts   []Cut   `json:"cuts,omitempty"`
	Bands  []Band  `json:"bands"`
	Charts []Chart `json:"charts"`
	// Marks are moments at which something was changed, in time order.
	Marks []Mark `json:"marks,omitempty"`

	Zone string `json:"-"`
	Note string `json:"-"`
	// From and To are the ends of the axis in words.
	From string `json:"-"`
	To   string `json:"-"`
}

// A Cut is a gap that a timeline leaves out: at AtS the clock jumps by SkippedS.
type Cut struct{ AtS, SkippedS float64 }

// MarshalJSON writes a cut as a pair.
func (c Cut) MarshalJSON() ([]byte, error) { return json.Marshal([2]float64{c.AtS, c.SkippedS}) }

// A Mark is a moment at which something was changed.
type Mark struct {
	AtS   float64 `json:"at"`
	Text  string  `json:"text"`
	Clock string  `json:"-"` // the time of day
}

// A Band is a set of stretches of time in which something held.
type Band struct {
	Kind  string       `json:"kind"` // "stall" or "checkpoint"
	Name  string       `json:"name"`
	Spans [][2]float64 `json:"spans"`
}

// A Chart is one or several series of one unit.
type Chart struct {
	ID     string   `json:"id"`
	Title  string   `json:"title"`
	Unit   string   `json:"unit"`
	Limit  float64  `json:"limit,omitempty"` // a line to compare with, in the unit
	FromS  float64  `json:"from"`
	StepS  float64  `json:"step"`
	Series []Series `json:"series"`
	// Log says that values differ by orders of magnitude, so their axis is logarithmic.
	Log bool `json:"log,omitempty"`
	// Counts, for percentiles, is the number of operations behind each point.
	Counts Points `json:"counts,omitempty"`

	About string `json:"-"` // a few words next to the title
	Href  string `json:"-"` // its query
}

// A Series has a value for each step; NaN if nothing was measured.
type Series struct {
	Name string `json:"name"`
	// Style is its colour and dash, from 1 to SeriesStyles: the same for the same thing in all
	// charts.
	Style  int    `json:"style"`
	Values Points `json:"values"`
}

// ClockSeconds converts a time in a zone to seconds on a timeline.
func ClockSeconds(t time.Time, loc *time.Location) float64 {
	t = t.In(loc)
	_, offset := t.Zone()
	return float64(t.UnixMilli())/1000 + float64(offset)
}

// High is the highest value; 0 if none is positive.
func (c Chart) High() float64 {
	high := 0.0
	for _, s := range c.Series {
		for _, v := range s.Values {
			if !math.IsNaN(v) && !math.IsInf(v, 0) {
				high = max(high, v)
			}
		}
	}
	return high
}

// Low is the lowest positive value; 0 if there is none.
func (c Chart) Low() float64 {
	low := math.Inf(1)
	for _, s := range c.Series {
		for _, v := range s.Values {
			if v > 0 && !math.IsInf(v, 0) {
				low = min(low, v)
			}
		}
	}
	if math.IsInf(low, 1) {
		return 0
	}
	return low
}

// Most prints the highest value.
func (c Chart) Most() string { return "max " + units.Value(c.High(), c.Unit) }

// SeriesStyles is how many series can be distinguished by colour and dash.
const SeriesStyles = 4

// Clock prints a time of a timeline.
func (t *Timeline) Clock(s float64) string {
	if t.Elapsed {
		return elapsed(s)
	}

	// The axis leaves gaps out; the clock must not.
	skipped := 0.0
	for _, c := range t.Cuts {
		if s >= c.AtS {
			skipped += c.SkippedS
		}
	}

	at := time.UnixMilli(int64(math.Round((s + skipped) * 1000))).UTC()
	// Runs may be months apart, so that only the full date is unambiguous.
	if len(t.Cuts) > 0 {
		return at.Format("2006-01-02 15:04")
	}
	if t.ToS-t.FromS >= 86400 {
		return at.Format("01-02 15:04")
	}

	return at.Format("15:04:05")
}

// elapsed prints a time since a run's start: "1:05", or "1:00:05" from an hour on.
func elapsed(s float64) string {
	whole := int(math.Round(s))
	if whole < 3600 {
		return fmt.Sprintf("%d:%02d", whole/60, whole%60)
	}
	return fmt.Sprintf("%d:%02d:%02d", whole/3600, whole/60%60, whole%60)
}

// slack is the tolerance, in slots, for the floating-point precision of seconds since 1970.
const slack = 1e-6

// Slots divides the axis into n equal slots and returns a series' maximum in each, because averaging
// could hide a stall; NaN if nothing was measured.
func (t *Timeline) Slots(c Chart, s Series, n int) []float64 {
	out := slices.Repeat([]float64{math.NaN()}, n)

	// A float may exceed all integers.
	slot := func(x float64) int { return int(min(max(x, -1), float64(n))) }
	at := func(s float64) float64 { return (s - t.FromS) / (t.ToS - t.FromS) * float64(n) }
	for k, v := range s.Values {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			continue
		}
		from := c.FromS + float64(k)*c.StepS
		// A value covers every slot that its interval touches. If the interval is shorter than
		// a slot, last may be before first.
		first, last := slot(math.Floor(at(from)+slack)), slot(math.Ceil(at(from+c.StepS)-slack)-1)
		for i := max(0, first); i <= min(n-1, max(first, last)); i++ {
			if math.IsNaN(out[i]) || v > out[i] {
				out[i] = v
			}
		}
	}

	return out
}

// tableRows is the maximum number of rows of the table behind the charts.
const tableRows = 48

// Tabulate returns the charts' values as a table: the maximum of each stretch of time.
func (t *Timeline) Tabulate() *Table {
	out := &Table{Caption: "Chart values, maximum of each stretch of time", Fold: "Data as a table",
		Columns: []Column{{Text: "from"}}}
	whole := t.ToS - t.FromS
	if !(whole > 0) {
		return nil
	}

	grid := make([][]float64, tableRows)
	for _, c := range t.Charts {
		for _, s := range c.Series {
			name := c.Title
			if len(c.Series) > 1 {
				name += " " + s.Name
			}

			out.Columns = append(out.Columns, Column{Text: name, Number: true})
			for i := range grid {
				grid[i] = append(grid[i], math.NaN())
			}

			for k, v := range s.Values {
				i := int((c.FromS + float64(k)*c.StepS - t.FromS) / whole * tableRows)
				if i < 0 || i >= tableRows || math.IsNaN(v) {
					continue
				}
				if at := &grid[i][len(grid[i])-1]; math.IsNaN(*at) || v > *at {
					*at = v
				}
			}
		}
		if c.Counts != nil {
			out.Columns = append(out.Columns, Column{Text: "operations", Number: true})
		}
	}

	for i, values := range grid {
		from := t.FromS + float64(i)*whole/tableRows
		row := []Cell{{Text: t.Clock(from), Href: "#timeline", Zoom: &Window{from, from + whole/tableRows}}}

		// Columns of values are in the order in which they were added above.
		k := 0
		for _, c := range t.Charts {
			for range c.Series {
				text := "–"
				if !math.IsNaN(values[k]) {
					text = units.Value(values[k], c.Unit)
				}
				row = append(row, Cell{Text: text, Number: true})
				k++
			}
			if c.Counts != nil {
				row = append(row, Cell{Text: Counted(t.operations(c, from, from+whole/tableRows)), Number: true})
			}
		}

		out.Rows = append(out.Rows, row)
	}

	return out
}

// operations counts the operations behind a chart's points in a stretch of time.
func (t *Timeline) operations(c Chart, from, to float64) (sum float64) {
	for k, n := range c.Counts {
		if at := c.FromS + float64(k)*c.StepS; at >= from && at < to && !math.IsNaN(n) {
			sum += n
		}
	}
	return sum
}
