package document

import (
	"fmt"

	"plimsoll/internal/base/units"
)

// A Figure is a drawing with its text and its numbers.
type Figure struct {
	ID, Title, Caption string
	TerminalCaption    string   // caption of the terminal's drawing, which looks different
	Keys               []string // names of its series, in order
	Plot               Plot
	Table              *Table
}

// A Plot is the content of a figure: values, which each writer draws as best it can.
type Plot interface{ plot() }

// A HeatMap shows operations by time and latency.
type HeatMap struct {
	Density Density
	Time    *Timeline // whose axis it shares
	Subject string
}

// A Distribution shows the share of operations up to each latency, for all operations and for parts
// of them.
type Distribution struct {
	Density Density
	Shown   []Population // all, then the parts
	Subject string
}

// Percentiles shows latencies by percentile, in seconds.
type Percentiles struct {
	Names  []string // "p50"
	Curves []Curve
}

// A Curve is the percentiles of one kind of operation.
type Curve struct {
	Name    string
	Seconds []*float64 // nil if a percentile is unknown
}

// A Frontier shows prices against an objective.
type Frontier struct {
	Objective   string
	MostSeconds float64
	Points      []FrontierPoint // cheapest first
}

// A FrontierPoint is a layout: its monthly price, and its figure with the model's error.
type FrontierPoint struct {
	Name                             string
	MonthlyUSD                       float64
	Seconds, LowSeconds, HighSeconds float64
	Now, Chosen                      bool
}

// Changes shows ratios of after to before, with their intervals.
type Changes struct {
	Margin float64 // how far from 1 a ratio may be and still count as no change
	Rows   []RatioRow
}

// A RatioRow is one figure's change.
type RatioRow struct {
	Title, Verdict string
	Ratio          float64
	Low, High      *float64 // nil if an end is unknown
	Interval       bool     // there is an interval
	Certain        bool     // the verdict is certain
	Level          Level    // Good, Critical or none
}

func (HeatMap) plot()      {}
func (Distribution) plot() {}
func (Percentiles) plot()  {}
func (Frontier) plot()     {}
func (Changes) plot()      {}

// HeatMap returns a figure of operations by time and latency; nil if there are none.
func (h Density) HeatMap(t *Timeline, subject string) *Figure {
	_, last, most := h.Used()
	if last < 0 || len(h.BoundsS) < 2 {
		return nil
	}
	return &Figure{ID: "heat", Title: "Latency of " + subject + " over time", Plot: HeatMap{h, t, subject},
		Table: h.Tabulate(t, subject),
		Caption: fmt.Sprintf("Each cell counts the operations of %s at that latency; a stronger colour means more, up to %s. Each colour level is about five times the previous one.",
			units.Seconds(h.StepS), Counted(most))}
}

// Distribution returns a figure of the latencies of all operations and of parts of them; nil if
// there are none.
func (h Density) Distribution(subject string, parts ...Population) *Figure {
	if _, last, _ := h.Used(); last < 0 || len(h.BoundsS) < 2 {
		return nil
	}

	all := h.Everything("all")
	shown := append([]Population{all}, parts...)
	tab := &Table{Caption: "Latency by share of operations: " + subject,
		Columns: []Column{{Text: "share of operations"}}}
	row := []Cell{{Text: "operations"}}

	var names []string
	for _, p := range shown {
		names = append(names, p.Name)
		tab.Columns = append(tab.Columns, Column{Text: p.Name, Number: true})
		row = append(row, Cell{Text: Counted(p.Total()), Number: true})
	}

	tab.Rows = append(tab.Rows, row)
	for _, q := range Quantiles {
		row := []Cell{{Text: q.Name}}
		for _, p := range shown {
			row = append(row, h.quantileCell(p, q.Q))
		}
		tab.Rows = append(tab.Rows, row)
	}

	if len(names) == 1 {
		names = nil // one curve needs no key
	}

	return &Figure{ID: "cdf", Title: "Distribution of the latency of " + subject,
		Plot: Distribution{h, shown, subject}, Table: tab, Keys: names, Caption: h.Describe(all)}
}

// quantileCell shows a quantile with its class.
func (h Density) quantileCell(p Population, q float64) Cell {
	if !p.Enough(q) {
		return Cell{Text: "too few", Number: true}
	}
	out := Cell{Text: h.QuantileText(p, q), Number: true}
	if _, class := h.Quantile(p, q); class > 0 && class < len(h.BoundsS) {
		out.Note = h.Between(class)
	}
	return out
}
