package html

import (
	"encoding/json"
	"fmt"
	"html/template"
	"math"
	"strconv"
	"time"

	"plimsoll/internal/base/units"
)

// A timeline is charts that share the time, a cursor and a zoom, with bands behind them.
type timeline struct {
	// FromS and ToS are the shared time. Times of day are seconds since 1970 as the page's zone has them, as if it
	// were UTC: readers elsewhere see the report's clock, not theirs.
	FromS float64 `json:"from"`
	ToS   float64 `json:"to"`
	// Elapsed tells that times count from a run's start, not from a clock.
	Elapsed bool    `json:"elapsed"`
	Bands   []band  `json:"bands"`
	Charts  []chart `json:"charts"`

	Zone  string `json:"-"`
	Table *table `json:"-"`
	Note  string `json:"-"`
}

// A band is stretches of time in which something held.
type band struct {
	Kind  string       `json:"kind"` // "stall" or "checkpoint"
	Name  string       `json:"name"`
	Spans [][2]float64 `json:"spans"`
}

// A chart is one or several series of one unit.
type chart struct {
	ID     string   `json:"id"`
	Title  string   `json:"title"`
	Unit   string   `json:"unit"`
	Limit  float64  `json:"limit,omitempty"` // a line to compare with, in the unit
	FromS  float64  `json:"from"`
	StepS  float64  `json:"step"`
	Series []series `json:"series"`
	// Log tells that values lie orders of magnitude apart: their axis is logarithmic.
	Log bool `json:"log,omitempty"`
	// Counts, of percentiles, is how many operations each point stands on.
	Counts points `json:"counts,omitempty"`

	About string        `json:"-"` // a few words beside the title
	Href  string        `json:"-"` // its query
	Still template.HTML `json:"-"`
}

// A series has a value for each step; NaN where nothing was measured.
type series struct {
	Name string `json:"name"`
	// Style is the colour and dash it is drawn with, from 1 to seriesStyles: the same for the same thing in all charts.
	Style  int    `json:"style"`
	Values points `json:"values"`
}

// points are written with four digits, which is more than a screen shows.
type points []float64

// MarshalJSON writes the points as an array of numbers and nulls.
func (p points) MarshalJSON() ([]byte, error) {
	out := make([]byte, 0, 6*len(p)+2)
	out = append(out, '[')
	for i, x := range p {
		if i > 0 {
			out = append(out, ',')
		}
		if math.IsNaN(x) || math.IsInf(x, 0) {
			out = append(out, "null"...)
			continue
		}
		out = append(out, shortest(x)...)
	}
	return append(out, ']'), nil
}

func shortest(x float64) string {
	if x == math.Trunc(x) && math.Abs(x) < 1e4 {
		return strconv.FormatFloat(x, 'f', -1, 64)
	}
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(x, 'e', 3, 64), 64)
	if err != nil {
		rounded = x
	}
	if math.Abs(rounded) >= 1e-4 && math.Abs(rounded) < 1e7 {
		return strconv.FormatFloat(rounded, 'f', -1, 64)
	}
	text, err := json.Marshal(rounded)
	if err != nil {
		return "null"
	}
	return string(text)
}

// clockSeconds is a time in a zone as a timeline has it.
func clockSeconds(t time.Time, loc *time.Location) float64 {
	t = t.In(loc)
	_, offset := t.Zone()
	return float64(t.UnixMilli())/1000 + float64(offset)
}

func (c chart) high() float64 {
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

// low is the lowest value over zero; 0 if there is none.
func (c chart) low() float64 {
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

// Most is the highest value in words.
func (c chart) Most() string { return "max " + units.Value(c.high(), c.Unit) }

// The drawing of a chart on paper, in its own units.
const (
	stillWidth  = 760.0
	stillHeight = 104.0
	stillLeft   = 66.0
	stillBottom = 18.0
	stillTop    = 8.0
	stillSlots  = 380 // columns that a series is reduced to: every second unit of the width
)

// still draws a chart as SVG.
func (t *timeline) still(c chart) template.HTML {
	d := newDrawing(stillWidth, stillHeight, c.Title+" over time, "+c.Most())
	steps, top := niceSteps(max(c.high(), 0), 3)
	if c.Unit == "ratio" && c.high() > 0.5 && c.high() <= 1 {
		steps, top = []float64{0, 0.5, 1}, 1
	}
	x := scale{from: t.FromS, to: t.ToS, start: stillLeft, end: stillWidth - 4}
	y := scale{from: 0, to: top, start: stillHeight - stillBottom, end: stillTop}
	if low := c.low(); c.Log && low > 0 {
		y.log = true
		y.from, y.to = decadesAround(low, c.high())
		steps, top = y.decades(16), y.to
	}
	for _, b := range t.Bands {
		for _, s := range b.Spans {
			from, to := x.at(s[0]), x.at(s[1])
			if b.Kind == "stall" {
				d.rect("band-stall", from, y.end, max(1, to-from), y.start-y.end)
				d.rect("band-stall-edge", from, y.end-4, max(1, to-from), 3)
			} else {
				d.rect("band-checkpoint", from, y.start+1, max(1, to-from), 4)
			}
		}
	}
	for _, v := range steps {
		d.line("grid", x.start, y.at(v), x.end, y.at(v))
		d.text("tick", "end", stillLeft-6, y.at(v)+4, axisText(v, c.Unit))
	}
	if c.Limit > y.from && c.Limit < top {
		d.line("limit", x.start, y.at(c.Limit), x.end, y.at(c.Limit))
	}
	for _, s := range c.Series {
		d.path("series series"+number(s.Style), t.trace(c, s, x, y))
	}
	d.text("tick", "start", stillLeft, stillHeight-3, t.clock(t.FromS))
	d.text("tick", "end", stillWidth-4, stillHeight-3, t.clock(t.ToS))
	return d.done()
}

// decadesAround are the ends of a logarithmic axis: a power of ten, or 3 times one.
func decadesAround(low, high float64) (from, to float64) {
	from, to = math.Pow(10, math.Floor(math.Log10(low)+1e-9)), math.Pow(10, math.Ceil(math.Log10(high)-1e-9))
	switch {
	case low >= 3.06*from:
		from *= 3
	case low < 1.02*from: // a line on the very edge is not seen
		from *= 0.3
	}
	if high <= 0.3*to {
		to *= 0.3
	}
	if to <= from {
		to = 10 * from
	}
	return from, to
}

// seriesStyles is how many series are told apart by colour and dash.
const seriesStyles = 4

// trace is the path of a series, the highest value of each column.
func (t *timeline) trace(c chart, s series, x, y scale) string {
	columns := make([]float64, stillSlots)
	for i := range columns {
		columns[i] = math.NaN()
	}
	whole := t.ToS - t.FromS
	if !(whole > 0) {
		return ""
	}
	for k, v := range s.Values {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			continue
		}
		from := (c.FromS + float64(k)*c.StepS - t.FromS) / whole * stillSlots
		to := from + c.StepS/whole*stillSlots
		for i := max(0, int(from+1e-9)); i <= min(stillSlots-1, max(int(from+1e-9), int(math.Ceil(to-1e-9))-1)); i++ {
			if math.IsNaN(columns[i]) || v > columns[i] {
				columns[i] = v
			}
		}
	}
	var out []byte
	pen := false
	for i, v := range columns {
		if math.IsNaN(v) {
			pen = false
			continue
		}
		at := x.start + (float64(i)+0.5)/stillSlots*(x.end-x.start)
		if pen {
			out = append(out, 'L')
		} else {
			out = append(out, 'M')
		}
		out = append(append(append(out, coordinate(at)...), ' '), coordinate(y.at(v))...)
		pen = true
	}
	return string(out)
}

// clock prints a time of a timeline.
func (t *timeline) clock(s float64) string {
	if t.Elapsed {
		return elapsed(s)
	}
	at := time.UnixMilli(int64(math.Round(s * 1000))).UTC()
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

// tableRows is how many rows the table behind the charts has at most.
const tableRows = 48

// tabulate is the charts' values as a table: the highest of each stretch.
func (t *timeline) tabulate() *table {
	out := &table{Caption: "The charts' values, the highest of each stretch of time", Fold: "Data as a table", Columns: []column{{Text: "from"}}}
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
			out.Columns = append(out.Columns, column{Text: name, Number: true})
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
			out.Columns = append(out.Columns, column{Text: "operations", Number: true})
		}
	}
	for i, values := range grid {
		from := t.FromS + float64(i)*whole/tableRows
		row := []cell{{Text: t.clock(from), Href: "#timeline", Zoom: &window{from, from + whole/tableRows}}}
		k := 0
		for _, c := range t.Charts {
			for range c.Series {
				text := "–"
				if !math.IsNaN(values[k]) {
					text = units.Value(values[k], c.Unit)
				}
				row = append(row, cell{Text: text, Number: true})
				k++
			}
			if c.Counts != nil {
				row = append(row, cell{Text: counted(t.operations(c, from, from+whole/tableRows)), Number: true})
			}
		}
		out.Rows = append(out.Rows, row)
	}
	return out
}

// operations are those that a chart's points of a stretch of time stand on.
func (t *timeline) operations(c chart, from, to float64) (sum float64) {
	for k, n := range c.Counts {
		if at := c.FromS + float64(k)*c.StepS; at >= from && at < to && !math.IsNaN(n) {
			sum += n
		}
	}
	return sum
}
