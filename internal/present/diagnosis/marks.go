package diagnosis

import (
	"plimsoll/internal/base/units"
	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/present/document"
)

// marks compares the time before each mark with the time after it.
func (d *diagnosed) marks() document.Section {
	if len(d.Marks) == 0 {
		return document.Section{}
	}

	t := &document.Table{Caption: "Marks, with the time before and after each",
		Columns: []document.Column{
			{Text: "change"}, {Text: "at"}, {Text: "stalled before", Number: true},
			{Text: "after", Number: true},
			{Text: "mean before", Number: true, Drop: 1}, {Text: "after", Number: true, Drop: 1},
			{Text: "completed before", Number: true, Drop: 2}, {Text: "after", Number: true, Drop: 2}}}

	for _, m := range d.Marks {
		row := []document.Cell{{Text: m.Text}, {Text: d.clock.At(m.At)}}
		for _, of := range []func(s diagnose.Side) string{stalledOf, meanOf, rateOf} {
			row = append(row, document.Cell{Text: of(m.Before), Number: true},
				document.Cell{Text: of(m.After), Number: true})
		}
		t.Add(row)
	}

	t.Notes = []string{"Figures are of " + d.Stalls.Signal +
		", between adjacent marks. To test whether a change helped: plimsoll prove SOURCE --at-mark."}
	return document.Section{ID: "marks", Title: "Marks", Screen: document.IfItFits,
		Parts: []document.Part{{Table: t}}}
}

func stalledOf(s diagnose.Side) string {
	if s.WatchedS <= 0 {
		return "–"
	}
	return units.Percent(s.StalledS / s.WatchedS)
}

func meanOf(s diagnose.Side) string {
	if s.MeanS == nil {
		return "–"
	}
	return units.Seconds(*s.MeanS)
}

func rateOf(s diagnose.Side) string {
	if s.Rate == nil {
		return "–"
	}
	return units.Value(*s.Rate, "1/s")
}
