package results

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"plimsoll/internal/advise/fit"
	"plimsoll/internal/base/units"
	"plimsoll/internal/present/document"
)

// Fit shows a scenario that was fitted to a recording: the evidence for each value, and the file.
func Fit(fitted *fit.Fitted) *document.Document {
	count := map[fit.Known]int{}
	tab := document.NewTable("Values of the scenario", "key", "value", "between", "known", "evidence")
	for i := range fitted.Values {
		v := &fitted.Values[i]
		count[v.Known]++
		value := document.Cell{Text: cmp.Or(v.Text, unknown)}

		if v.Default {
			value.Note = "default"
		}

		evidence := document.Cell{Text: document.Sentence(v.Evidence)}
		if v.Measure != "" {
			evidence.Note = "How to measure it: " + v.Measure
		}

		tab.Add([]document.Cell{{Text: v.Key, Roles: "code"}, value, {Text: bounds(v)}, {Text: string(v.Known)},
			evidence})
	}

	d := &document.Document{Kind: "Fit", Title: fitted.Name,
		Verdict: fmt.Sprintf("%s: %d values are measured, %d inferred, %d assumed.", fitted.Name, count[fit.Measured],
			count[fit.Inferred], count[fit.Assumed]),
		Lead: []string{fmt.Sprintf("Fitted to a recording of %s (%s).",
			units.Seconds(fitted.To.Sub(fitted.From).Seconds()), fitted.From.UTC().Format(time.RFC3339))}}

	for _, r := range fitted.Remarks {
		d.Lead = append(d.Lead, document.Sentence(r))
	}

	lines := strings.Split(strings.TrimRight(string(fitted.YAML()), "\n"), "\n")
	d.Sections = []document.Section{
		{ID: "values", Title: "Values", Parts: []document.Part{{Table: tab}}},
		{ID: "scenario", Title: "The scenario",
			Parts: []document.Part{{Files: []document.File{{Path: "scenario.yaml", Lines: lines}}}}},
	}

	return d
}

// bounds is a value's range, if it is known.
func bounds(v *fit.Value) string {
	switch {
	case v.Low != nil && v.High != nil:
		return units.Value(*v.Low, v.Unit) + " and " + units.Value(*v.High, v.Unit)
	case v.Low != nil:
		return units.Value(*v.Low, v.Unit) + " and more"
	case v.High != nil:
		return units.Value(*v.High, v.Unit) + " and less"
	}
	return ""
}
