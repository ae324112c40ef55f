package results

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"plimsoll/internal/base/units"
	"plimsoll/internal/present/document"
	"plimsoll/internal/record/query"
	"plimsoll/internal/record/recording"
)

// shortRows is how many rows of a long list a terminal shows.
const shortRows = 40

// Query shows the result of a PromQL expression: a row per series, with the value at one moment, or
// the minimum, mean, maximum and last value of many.
func Query(r *query.Result, zone *time.Location) *document.Document {
	d := &document.Document{Kind: "Query", Title: r.Expr,
		Verdict: document.Sentence(fmt.Sprintf("%s series %s", units.Count(int64(len(r.Series))),
			momentsOf(r, zone)))}
	if len(r.Series) == 0 {
		d.Lead = []string{"The metrics exist, but the expression has no value in this time range: check its labels and comparisons."}
		return d
	}
	if !r.From.Equal(r.To) {
		d.Next = "-o csv writes every value, -o json uses Prometheus' format"
	}
	d.Sections = []document.Section{{ID: "series", Title: "Series",
		Parts: []document.Part{{Table: seriesTable(r)}}}}
	return d
}

// momentsOf says when the values are from.
func momentsOf(r *query.Result, zone *time.Location) string {
	const layout = "2006-01-02 15:04:05 MST"
	if r.From.Equal(r.To) {
		return "at " + r.From.In(zone).Format(layout)
	}
	return fmt.Sprintf("from %s to %s, every %s", r.From.In(zone).Format(layout), r.To.In(zone).Format(layout),
		units.Seconds(r.Step.Seconds()))
}

func seriesTable(r *query.Result) *document.Table {
	tab := &document.Table{Caption: "Values of each series", Short: shortRows, Repeat: 1,
		Columns: []document.Column{{Text: "series"}}}
	moment := r.From.Equal(r.To)
	heads := []string{"min", "mean", "max", "last"}

	if moment {
		heads = []string{"value"}
	}

	for _, h := range heads {
		tab.Columns = append(tab.Columns, document.Column{Text: h, Number: true})
	}

	for _, s := range r.Series {
		last := s.Points[len(s.Points)-1].F
		// At one moment all four would be the same value.
		values := []float64{last}
		if !moment {
			least, mean, most := extent(s)
			values = []float64{least, mean, most, last}
		}
		row := []document.Cell{{Text: s.Labels.String(), Roles: "code long"}}
		for _, v := range values {
			row = append(row, document.Cell{Text: plain(v), Number: true})
		}
		tab.Add(row)
	}

	return tab
}

// plain prints a value of unknown unit. A PromQL value may be infinite or NaN.
func plain(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return fmt.Sprint(v)
	}
	return units.Number(v)
}

// extent returns the minimum, mean and maximum of a series' values. It ignores NaN, and returns NaN
// if there is no other value.
func extent(s recording.Series) (least, mean, most float64) {
	least, most = math.Inf(1), math.Inf(-1)
	sum, n := 0.0, 0
	for _, p := range s.Points {
		if math.IsNaN(p.F) {
			continue
		}
		least, most, sum, n = min(least, p.F), max(most, p.F), sum+p.F, n+1
	}
	if n == 0 {
		return math.NaN(), math.NaN(), math.NaN()
	}
	return least, sum / float64(n), most
}

// Metrics lists a recording's metrics.
func Metrics(all []recording.Metric, zone *time.Location) *document.Document {
	series := 0
	for _, m := range all {
		series += m.Series
	}

	d := &document.Document{Kind: "Metrics",
		Verdict: fmt.Sprintf("%s metrics, %s series.", units.Count(int64(len(all))), units.Count(int64(series)))}
	tab := &document.Table{Caption: "Metrics", Columns: []document.Column{{Text: "metric"}, {Text: "unit"},
		{Text: "series", Number: true}, {Text: "period", Number: true}, {Text: "first sample", Drop: 2},
		{Text: "last sample", Drop: 1}}}

	const layout = "2006-01-02 15:04:05"
	for _, m := range slices.SortedFunc(slices.Values(all),
		func(a, b recording.Metric) int { return cmp.Compare(a.Name, b.Name) }) {
		period := "–"
		if m.Period > 0 {
			period = units.Seconds(m.Period.Seconds())
		}
		tab.Add([]document.Cell{{Text: m.Name, Roles: "code long"}, {Text: cmp.Or(query.Unit(m.Name), "–")},
			{Text: units.Count(int64(m.Series))}, {Text: period}, {Text: m.From.In(zone).Format(layout)},
			{Text: m.To.In(zone).Format(layout)}})
	}

	if len(tab.Rows) > 0 {
		d.Sections = []document.Section{{ID: "metrics", Title: "Metrics", Parts: []document.Part{{Table: tab}}}}
		d.Next = "plimsoll query SOURCE 'METRIC' shows the values of a metric"
	}

	return d
}
