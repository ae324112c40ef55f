package diagnosis

import (
	"time"

	"plimsoll/internal/base/units"
	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/present/document"
)

const (
	hourLayout   = "01-02 15:04"
	minutesShort = 5  // of the worst minutes in a short text
	periodsShort = 24 // of hours or days
)

// periods lists the hours or days of a long recording, and its worst minutes.
func (d *diagnosed) periods() []document.Section {
	var out []document.Section
	if len(d.Periods) > 0 {
		title, layout := "By the hour", hourLayout
		if d.Periods[0].To.Sub(d.Periods[0].From) > time.Hour {
			title, layout = "By the day", time.DateOnly
		}

		tab := &document.Table{Caption: title, Fold: title, Short: periodsShort,
			Columns: []document.Column{{Text: "from"}, {Text: "watched", Number: true, Drop: 2},
				{Text: "stalled", Number: true}, {Text: "share", Number: true}, {Text: "worst", Number: true},
				{Text: "operations", Number: true, Drop: 1}}}

		for _, p := range d.Periods {
			part := p.StalledS / p.WatchedS
			at := d.when(diagnose.Span{From: p.From, To: p.To})
			at.Text = p.From.UTC().Format(layout) // as the aside says: a day of UTC has another date elsewhere
			row := []document.Cell{at, {Text: units.Seconds(p.WatchedS), Number: true}, {Text: "–", Number: true},
				{Number: true, Bar: &part}, {Text: "–", Number: true},
				{Text: document.Counted(p.Operations), Number: true}}

			if p.StalledS > 0 {
				row[2].Text, row[3].Text = units.Seconds(p.StalledS), units.Percent(part)
			}

			if p.WorstS != nil {
				row[4].Text = units.Seconds(*p.WorstS)
			}

			tab.Add(row)
		}

		out = append(out, document.Section{ID: "periods", Title: title,
			Aside: "in UTC; worst is the highest mean of an interval", Parts: []document.Part{{Table: tab}}})
	}

	if len(d.WorstMinutes) > 0 {
		t := document.NewTable("Worst minutes", "minute", "operations", "#total wait", "#worst mean")
		t.Short = minutesShort
		for _, m := range d.WorstMinutes {
			row := []document.Cell{d.when(diagnose.Span{From: m.From, To: m.From.Add(time.Minute)}), {Text: m.Signal},
				{Text: units.Value(m.WaitedS, units.OpSeconds), Number: true}, {Text: "–", Number: true}}
			if m.WorstS != nil {
				row[3].Text = units.Seconds(*m.WorstS)
			}
			t.Add(row)
		}

		out = append(out, t.Section("minutes", "Worst minutes"))
	}

	return out
}
