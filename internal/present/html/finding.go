package html

import (
	"maps"
	"slices"
	"strings"

	"plimsoll/internal/base/units"
	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/present/report"
)

// A finding is one thing a diagnosis says, with what it rests on.
type finding struct {
	ID       string // "f1"
	Number   int
	Level    string // "critical", "warning", "info"; "not" of a refutation
	Word     string // the severity as it is read
	Title    string
	About    []string
	Summary  string
	Cause    string
	When     []cell
	Period   string
	Evidence *table
	Fixes    []diagnose.Fix
	Rule     string
	Promql   string
	Signals  []cell // those of the condition, with their queries
}

// findings are a section of findings that are counted from before+1 on; nothing if there are none.
func (d *diagnosed) findings(id, title, note string, all []diagnose.Finding, before int) []section {
	if len(all) == 0 {
		return nil
	}
	out := make([]finding, len(all))
	for i, f := range all {
		out[i] = d.finding(f, before+i+1)
	}
	return []section{{ID: id, Title: title, Note: note, Parts: []part{{Findings: out}}}}
}

func (d *diagnosed) finding(f diagnose.Finding, n int) finding {
	out := finding{ID: "f" + number(n), Number: n, Level: level(f.Severity), Word: string(f.Severity), Title: f.Title,
		Summary: f.Summary, Cause: f.Cause, Fixes: f.Fixes, Rule: f.Rule, Promql: condition(f.Rule)}
	if f.Kind == diagnose.Refutation {
		out.Level, out.Word = "not", "not this"
	}
	if f.Subject != "" {
		out.About = append(out.About, f.Subject)
	}
	if f.Kind == diagnose.Cause && f.Weight > 0 && d.Stalls.Seconds > 0 {
		out.About = append(out.About, "in "+units.Percent(f.Weight)+" of the stall")
	}
	for _, w := range f.Windows {
		out.When = append(out.When, d.when(w))
	}
	if f.PeriodS > 0 {
		out.Period = "every " + units.Seconds(f.PeriodS)
	}
	if out.Promql != "" {
		if e, err := rules.Parse(out.Promql); err == nil {
			for _, name := range rules.Names(e) {
				out.Signals = append(out.Signals, cell{Text: name, Href: d.queries.link(name)})
			}
		}
	}
	out.Evidence = d.evidence(f)
	return out
}

// when is a stretch of time that leads to the charts.
func (d *diagnosed) when(s diagnose.Span) cell {
	out := cell{Text: d.clock.Window(s.From, s.To)}
	if d.charts != nil && !s.From.IsZero() && !s.To.IsZero() {
		out.Href = "#timeline"
		out.Zoom = &window{clockSeconds(s.From, d.loc), clockSeconds(s.To, d.loc)}
	}
	return out
}

// evidence is the numbers that a finding rests on, each with its query.
func (d *diagnosed) evidence(f diagnose.Finding) *table {
	if len(f.Evidence) == 0 {
		return nil
	}
	tab := &table{Caption: "Evidence of: " + f.Title, Columns: []column{{Text: "figure", Number: true}, {Text: "what it is"}, {Text: "when"}, {Text: "read from"}}}
	for _, e := range f.Evidence {
		link := d.queries.link(e.Metric)
		when := cell{Text: "throughout"}
		if !d.throughout(e) {
			when = d.when(diagnose.Span{From: e.From, To: e.To})
		}
		tab.Rows = append(tab.Rows, []cell{
			{Text: report.Figure(e), Number: true, Class: "figure", Href: link},
			{Text: e.Text},
			when,
			{Text: strings.TrimPrefix(e.Metric, rules.SignalPrefix), Class: "code long", Href: link},
		})
	}
	return tab
}

// throughout tells evidence of as good as the whole span: its window would be no news.
func (d *diagnosed) throughout(e diagnose.Evidence) bool {
	slack := d.Span.To.Sub(d.Span.From) / 50
	return e.From.Sub(d.Span.From).Abs() <= slack && e.To.Sub(d.Span.To).Abs() <= slack
}

// facts are a source's settings as one line, in order of their names.
func facts(all map[string]string) string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		out = append(out, name+"="+all[name])
	}
	return strings.Join(out, ", ")
}
