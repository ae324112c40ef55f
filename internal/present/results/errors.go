package results

import (
	"fmt"

	"plimsoll/internal/base/units"
	"plimsoll/internal/lab/table"
	"plimsoll/internal/present/document"
)

// ErrorTable shows how far the model is off compared with real engines, and the results of testing
// published advice.
func ErrorTable(rows []table.Row, advice []table.Verdict) *document.Document {
	const none = "Nothing was compared."
	d := &document.Document{Kind: "Error table", Title: "The model compared with real engines", Verdict: none}

	summary := table.Summarise(rows)
	for _, s := range summary {
		text := fmt.Sprintf("Half of the model's %s figures are off by less than %s, the worst by %s.", s.Kind,
			table.FactorText(s.Off), table.FactorText(s.Worst))
		// The headline is p99, which clients feel, if it was compared.
		if s.Kind == table.P99 || d.Verdict == none {
			d.Verdict = text
		}
	}

	d.Sections = []document.Section{
		{ID: "kinds", Title: "By kind of figure", Parts: []document.Part{{Table: ErrorSummary(summary)}}},
		{ID: "rows", Title: "The model compared with real engines",
			Parts: []document.Part{{Table: ErrorRows(rows)}}},
	}

	if len(advice) > 0 {
		d.Add(AdviceTable(advice).Section("advice", "Published advice, tested"))
	}

	return d
}

// ErrorRows lists the figures of each scenario, in the lab and in the model.
func ErrorRows(rows []table.Row) *document.Table {
	tab := document.NewTable("Figures in the lab and in the model", "scenario", "figure", "#lab", "#model",
		"#error")
	last := ""
	for i := range rows {
		r := &rows[i]
		name := r.Scenario
		// The name is written once for its rows.
		if name == last {
			name = ""
		}

		last = r.Scenario
		doubt := ""
		if r.Doubtful {
			doubt = "saturated: not counted"
		}

		tab.Add([]document.Cell{{Text: name}, {Text: r.Figure, Note: doubt}, {Text: r.LabText()},
			{Text: r.ModelText()}, {Text: r.ErrorText()}})
	}

	return tab
}

// ErrorSummary shows how far each kind of figure is off.
func ErrorSummary(all []table.Summary) *document.Table {
	tab := document.NewTable("How far each kind of figure is off", "figures", "#rows",
		"#half are off by less than", "#worst")
	for _, s := range all {
		tab.Line(string(s.Kind), units.Count(int64(s.Rows)), table.FactorText(s.Off), table.FactorText(s.Worst))
	}
	return tab
}

// AdviceTable shows the results of testing advice.
func AdviceTable(all []table.Verdict) *document.Table {
	tab := document.NewTable("Published advice, tested", "advice", "figure", "#lab before", "#lab after",
		"#model before", "#model after", "result")

	for _, v := range all {
		var before, after table.Row
		if v.Before != nil {
			before = *v.Before
		}
		if v.After != nil {
			after = *v.After
		}
		tab.Add([]document.Cell{{Text: v.Says}, {Text: v.Figure}, {Text: before.LabText()}, {Text: after.LabText()},
			{Text: before.ModelText()}, {Text: after.ModelText()}, {Text: string(v.Holds), Roles: "strong"}})
	}

	return tab
}
