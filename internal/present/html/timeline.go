package html

import (
	"encoding/json"
	"html/template"
	"math"
	"strconv"

	"plimsoll/internal/base/units"
	"plimsoll/internal/present/document"
)

// sharedTime is a timeline in the form that the page's script reads.
type sharedTime struct {
	FromS   float64      `json:"from"`
	ToS     float64      `json:"to"`
	Elapsed bool         `json:"elapsed"`
	Cuts    [][2]float64 `json:"cuts,omitempty"` // at, skipped
	Bands   []bandData   `json:"bands"`
	Charts  []chartData  `json:"charts"`
	Marks   []markData   `json:"marks,omitempty"`
}

type bandData struct {
	Kind  string       `json:"kind"`
	Name  string       `json:"name"`
	Spans [][2]float64 `json:"spans"`
}

type markData struct {
	AtS  float64 `json:"at"`
	Text string  `json:"text"`
}

type chartData struct {
	ID     string       `json:"id"`
	Title  string       `json:"title"`
	Unit   string       `json:"unit"`
	Limit  float64      `json:"limit,omitempty"`
	FromS  float64      `json:"from"`
	StepS  float64      `json:"step"`
	Series []seriesData `json:"series"`
	Log    bool         `json:"log,omitempty"`
	Counts points       `json:"counts,omitempty"`
}

type seriesData struct {
	Name   string `json:"name"`
	Style  int    `json:"style"`
	Values points `json:"values"`
}

// dataOf converts a timeline for the page's script.
func dataOf(t *document.Timeline) sharedTime {
	out := sharedTime{FromS: t.FromS, ToS: t.ToS, Elapsed: t.Elapsed}
	for _, c := range t.Cuts {
		out.Cuts = append(out.Cuts, [2]float64{c.AtS, c.SkippedS})
	}

	for _, b := range t.Bands {
		out.Bands = append(out.Bands, bandData(b))
	}

	for _, m := range t.Marks {
		out.Marks = append(out.Marks, markData{m.AtS, document.Visible(m.Text)})
	}

	for _, c := range t.Charts {
		data := chartData{ID: c.ID, Title: c.Title, Unit: c.Unit, Limit: c.Limit, FromS: c.FromS, StepS: c.StepS,
			Log: c.Log, Counts: c.Counts}
		for _, s := range c.Series {
			data.Series = append(data.Series, seriesData{s.Name, s.Style, s.Values})
		}
		out.Charts = append(out.Charts, data)
	}

	return out
}

// points are written with four digits, which is more precise than a screen.
type points []float64

// MarshalJSON writes the points as an array of numbers and nulls.
func (p points) MarshalJSON() ([]byte, error) {
	out := make([]byte, 0, 6*len(p)+2)
	out = append(out, '[')
	for i, x := range p {
		if i > 0 {
			out = append(out, ',')
		}
		// JSON has neither; null is a gap on the page.
		if math.IsNaN(x) || math.IsInf(x, 0) {
			out = append(out, "null"...)
			continue
		}
		out = append(out, shortest(x)...)
	}
	return append(out, ']'), nil
}

func shortest(x float64) string {
	// Counts up to four digits are exact anyway.
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

// Sizes of the static drawing of a chart, in SVG units.
const (
	stillWidth  = 760.0
	stillHeight = 104.0
	stillLeft   = 66.0
	stillBottom = 18.0
	stillTop    = 8.0
	stillSlots  = 380 // a series is reduced to this many columns, half the width in units
)

// still draws a chart as static SVG.
func still(axis *document.Timeline, chart document.Chart) template.HTML {
	drawing := newDrawing(stillWidth, stillHeight, chart.Title+" over time, "+chart.Most())
	steps, top := niceSteps(max(chart.High(), 0), 3)

	// A share is read against the whole, so its axis ends at 100 %.
	if chart.Unit == "ratio" && chart.High() > 0.5 && chart.High() <= 1 {
		steps, top = []float64{0, 0.5, 1}, 1
	}

	x := scale{from: axis.FromS, to: axis.ToS, start: stillLeft, end: stillWidth - 4}
	y := scale{from: 0, to: top, start: stillHeight - stillBottom, end: stillTop}
	if low := chart.Low(); chart.Log && low > 0 {
		y.log = true
		y.from, y.to = decadesAround(low, chart.High())
		steps, top = y.decades(16), y.to
	}

	// Bands come first, so that lines are drawn over them.
	for _, b := range axis.Bands {
		for _, s := range b.Spans {
			from, to := x.at(s[0]), x.at(s[1])
			if b.Kind == "stall" {
				drawing.rect("band-stall", from, y.end, max(1, to-from), y.start-y.end)
				drawing.rect("band-stall-edge", from, y.end-4, max(1, to-from), 3)
			} else {
				drawing.rect("band-checkpoint", from, y.start+1, max(1, to-from), 4)
			}
		}
	}

	for _, v := range steps {
		drawing.line("grid", x.start, y.at(v), x.end, y.at(v))
		drawing.text("tick", "end", stillLeft-6, y.at(v)+4, units.Tick(v, chart.Unit))
	}

	// A limit far above the values would flatten their curve, so it does not extend the axis.
	if chart.Limit > y.from && chart.Limit < top {
		drawing.line("limit", x.start, y.at(chart.Limit), x.end, y.at(chart.Limit))
	}

	for _, cut := range axis.Cuts {
		drawing.line("grid", x.at(cut.AtS), y.start, x.at(cut.AtS), y.end)
	}

	for _, m := range axis.Marks {
		drawing.line("moment", x.at(m.AtS), y.start, x.at(m.AtS), y.end)
	}

	for _, s := range chart.Series {
		drawing.path("series series"+number(s.Style), trace(axis, chart, s, x, y))
	}

	drawing.text("tick", "start", stillLeft, stillHeight-3, axis.Clock(axis.FromS))
	drawing.text("tick", "end", stillWidth-4, stillHeight-3, axis.Clock(axis.ToS))
	return drawing.done()
}

// decadesAround returns the ends of a logarithmic axis: a power of ten, or 3 times one.
func decadesAround(low, high float64) (from, to float64) {
	from, to = math.Pow(10, math.Floor(math.Log10(low)+1e-9)), math.Pow(10, math.Ceil(math.Log10(high)-1e-9))
	switch {
	case low >= 3.06*from:
		from *= 3
	case low < 1.02*from: // a line at the very edge would be invisible
		from *= 0.3
	}
	// As at the lower end: less empty room.
	if high <= 0.3*to {
		to *= 0.3
	}
	if to <= from {
		to = 10 * from
	}
	return from, to
}

// trace returns the path of a series, with the maximum of each column.
func trace(t *document.Timeline, c document.Chart, s document.Series, x, y scale) string {
	columns := make([]float64, stillSlots)

	// A column without a value breaks the line, so that a gap stays a gap.
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
		// A value covers every column that its interval touches, at least one. The slack is for
		// the precision of seconds since 1970.
		for i := max(0, int(from+1e-9)); i <= min(stillSlots-1,
			max(int(from+1e-9), int(math.Ceil(to-1e-9))-1)); i++ {
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
