package document

import (
	"fmt"

	"plimsoll/internal/base/units"
)

// A Figure is a drawing with its words and its numbers.
type Figure struct {
	ID, Title, Caption string
	TerminalCaption    string   // of a terminal's drawing, which looks different
	Keys               []string // of its series, in their order
	Plot               Plot
	Table              *Table
}

// A Plot is the content of a figure: values, which each writer draws as well as it can.
type Plot interface{ plot() }

// A HeatMap is operations by time and latency.
type HeatMap struct {
	Density Density
	Time    *Timeline // whose axis it shares
	Subject string
}

// A Distribution is the share of operations up to each latency, for all operations and for parts of
// them.
type Distribution struct {
	Density Density
	Shown   []Population // all, then the parts
	Subject string
}

// Percentiles are latencies by percentile, in seconds.
type Percentiles struct {
	Names  []string // "p50"
	Curves []Curve
}

// A Curve is percentiles of one kind of operations.
type Curve struct {
	Name    string
	Seconds []*float64 // nil where a percentile is not known
}

// A Frontier is prices against an objective.
type Frontier struct {
	Objective   string
	MostSeconds float64
	Points      []FrontierPoint // from the cheapest on
}

// A FrontierPoint is a layout: its price a month, and its figure with the model's error.
type FrontierPoint struct {
	Name                             string
	MonthlyUSD                       float64
	Seconds, LowSeconds, HighSeconds float64
	Now, Chosen                      bool
}

// Changes are ratios of after to before with their intervals.
type Changes struct {
	Margin float64 // how far from 1 a ratio is no change
	Rows   []RatioRow
}

// A RatioRow is one figure's change.
type RatioRow struct {
	Title, Verdict string
	Ratio          float64
	Low, High      *float64 // nil where an end is not known
	Interval       bool     // there is an interval
	Certain        bool     // the verdict is certain
	Level          Level    // Good, Critical or none
}

func (HeatMap) plot()      {}
func (Distribution) plot() {}
func (Percentiles) plot()  {}
func (Frontier) plot()     {}
func (Changes) plot()      {}

// HeatMap is a figure of operations by time and latency; nil if there are none.
func (h Density) HeatMap(t *Timeline, subject string) *Figure {
	_, last, most := h.Used()
	if last < 0 || len(h.BoundsS) < 2 {
		return nil
	}
	return &Figure{ID: "heat", Title: "Latency of " + subject + " over time", Plot: HeatMap{h, t, subject},
		Table: h.Tabulate(t, subject),
		Caption: fmt.Sprintf("Each field holds the operations of %s at that latency; the stronger its colour, the more, up to %s. A level is about five times the one before.",
			units.Seconds(h.StepS), Counted(most))}
}

// Distribution is a figure of the latencies of all operations and of parts of them; nil if there
// are none.
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

// quantileCell is a quantile with its class.
func (h Density) quantileCell(p Population, q float64) Cell {
	if !p.Enough(q) {
		return Cell{Text: "too few", Number: true}
	}
	out := Cell{Text: h.Told(p, q), Number: true}
	if _, class := h.Quantile(p, q); class > 0 && class < len(h.BoundsS) {
		out.Note = h.Between(class)
	}
	return out
}
