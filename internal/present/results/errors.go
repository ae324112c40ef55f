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
		d.Sections = append(d.Sections,
			document.Section{ID: "advice", Title: "Published advice, tested",
				Parts: []document.Part{{Table: AdviceTable(advice)}}})
	}

	return d
}

// ErrorRows lists the figures of each scenario, in the lab and in the model.
func ErrorRows(rows []table.Row) *document.Table {
	tab := &document.Table{Caption: "Figures in the lab and in the model",
		Columns: []document.Column{{Text: "scenario"}, {Text: "figure"}, {Text: "lab", Number: true},
			{Text: "model", Number: true}, {Text: "error", Number: true}}}
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

		tab.Rows = append(tab.Rows, []document.Cell{{Text: name}, {Text: r.Figure, Note: doubt},
			{Text: r.LabText(), Number: true}, {Text: r.ModelText(), Number: true},
			{Text: r.ErrorText(), Number: true}})
	}

	return tab
}

// ErrorSummary shows how far each kind of figure is off.
func ErrorSummary(all []table.Summary) *document.Table {
	tab := &document.Table{Caption: "How far each kind of figure is off",
		Columns: []document.Column{{Text: "figures"}, {Text: "rows", Number: true},
			{Text: "half are off by less than", Number: true}, {Text: "worst", Number: true}}}
	for _, s := range all {
		tab.Rows = append(tab.Rows, []document.Cell{{Text: string(s.Kind)},
			{Text: units.Count(int64(s.Rows)), Number: true}, {Text: table.FactorText(s.Off), Number: true},
			{Text: table.FactorText(s.Worst), Number: true}})
	}
	return tab
}

// AdviceTable shows the results of testing advice.
func AdviceTable(all []table.Verdict) *document.Table {
	tab := &document.Table{Caption: "Published advice, tested",
		Columns: []document.Column{{Text: "advice"}, {Text: "figure"}, {Text: "lab before", Number: true},
			{Text: "lab after", Number: true},
			{Text: "model before", Number: true}, {Text: "model after", Number: true}, {Text: "result"}}}

	for _, v := range all {
		var before, after table.Row
		if v.Before != nil {
			before = *v.Before
		}
		if v.After != nil {
			after = *v.After
		}
		tab.Rows = append(tab.Rows, []document.Cell{{Text: v.Says}, {Text: v.Figure},
			{Text: before.LabText(), Number: true}, {Text: after.LabText(), Number: true},
			{Text: before.ModelText(), Number: true}, {Text: after.ModelText(), Number: true},
			{Text: string(v.Holds), Roles: "strong"}})
	}

	return tab
}
