package diagnosis

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/base/units"
	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/present/document"
)

// headlineIncidents is how many incidents are listed before everything else.
const headlineIncidents = 3

// minExplained is the share of an incident below which a cause does not explain it.
const minExplained = 0.25

// several reports whether the report has several incidents, none of which was selected.
func (d *diagnosed) several() bool {
	return len(d.Incidents) > 1 && d.Verdict != d.Incidents[d.Incident-1].Verdict
}

// verdict splits the verdict into a line with the number of incidents, a line for each incident,
// and what findings say about the whole recording.
func (d *diagnosed) verdict() (verdict string, lead []string) {
	if !d.several() {
		verdict = d.Verdict
		// A separate line gives the headroom with its date, so do not repeat it.
		if len(d.Headroom) > 0 && d.Headroom[0].Ends != nil {
			verdict = strings.TrimSuffix(verdict, " "+d.Headroom[0].Sentence(""))
		}
		return verdict, nil
	}

	lead, closing := d.Added()
	rest := d.Verdict
	// Sentences from Added start a new line.
	for _, text := range lead {
		rest = strings.TrimPrefix(rest, text+" ")
	}

	for _, x := range d.Incidents[:min(len(d.Incidents), headlineIncidents)] {
		lead = append(lead, strconv.Itoa(x.ID)+": "+x.Verdict)
	}

	if more := len(d.Incidents) + d.MoreIncidents - headlineIncidents; more > 0 {
		lead = append(lead, fmt.Sprintf("And %d more.", more))
	}

	return document.FirstSentence(rest), append(lead, closing...)
}

// incidents lists the incidents if there are several.
func (d *diagnosed) incidents() document.Section {
	if len(d.Incidents) < 2 {
		return document.Section{}
	}

	tab := &document.Table{Caption: "Incidents, most harmful first", Columns: []document.Column{
		{Text: "no."}, {Text: "when"}, {Text: "affected"}, {Text: "stalled", Number: true},
		{Text: "worst", Number: true},
		{Text: "operations", Number: true, Drop: 2}, {Text: "every", Number: true, Drop: 1}, {Text: "why"}}}

	seen := map[string]bool{} // addresses: incidents may begin in the same second
	for _, x := range d.Incidents {
		row := []document.Cell{{Text: strconv.Itoa(x.ID), Number: true},
			d.when(diagnose.Span{From: x.From, To: x.To}), {Text: hurtNames(x)},
			{Text: units.Seconds(x.Stalls.Seconds), Number: true}, {Text: worst(x), Number: true},
			{Text: operations(x), Number: true}, {Number: true}, {Text: whyOf(x)}}

		if !x.From.IsZero() {
			if at := x.From.UTC().Format(time.RFC3339); !seen[at] {
				row[1].Anchor, seen[at] = at, true
			}
		}

		// These operations were slower than usual but did not stall, so their stalled time
		// means nothing.
		if x.Kind == diagnose.Worse {
			row[3].Text = "slower"
		}

		if x.Stalls.PeriodS > 0 {
			row[6].Text = units.Seconds(x.Stalls.PeriodS)
		}

		if d.Live {
			row[1].Text = nowOrEarlier(x) + ", " + row[1].Text
		}

		tab.Add(row)
	}

	note := "The following sections describe incident " + strconv.Itoa(d.Incident) +
		". --incident N shows another one in full."
	if d.MoreIncidents > 0 {
		note += fmt.Sprintf(" %d less harmful ones were not judged.", d.MoreIncidents)
	}

	tab.Notes = []string{note}
	return document.Section{ID: "incidents", Title: "Incidents", Note: "Most harmful first.",
		Parts: []document.Part{{Table: tab}}}
}

func hurtNames(x diagnose.Incident) string {
	names := make([]string, len(x.Hurt))
	for i, h := range x.Hurt {
		names[i] = h.Signal
	}
	return strings.Join(names, ", ")
}

func worst(x diagnose.Incident) string {
	high := 0.0
	for _, h := range x.Hurt {
		if h.WorstS != nil {
			high = max(high, *h.WorstS)
		}
	}
	if high == 0 {
		return "–"
	}
	return units.Seconds(high)
}

func operations(x diagnose.Incident) string {
	sum := 0.0
	for _, h := range x.Hurt {
		sum += h.Operations
	}
	return document.Counted(sum)
}

// whyOf returns the first cause and the first refutation.
func whyOf(x diagnose.Incident) string {
	why, not := "no cause found", ""
	for _, f := range x.Findings {
		switch {
		case f.Kind == diagnose.Cause && f.Severity != diagnose.Info && why == "no cause found":
			why = f.Title + " (" + f.Subject + ")"
			if x.Kind == diagnose.Stalled && f.Weight < minExplained {
				why = "mostly unexplained; " + why
			}
		case f.Kind == diagnose.Refutation && not == "":
			not = f.Title
		}
	}

	if not != "" {
		why += ". " + not
	}

	return why
}
