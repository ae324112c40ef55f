package results

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/base/units"
	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/judge/fleet"
	"plimsoll/internal/present/document"
)

// Limits of a short text: it shows what to act on first.
const (
	fleetDatabases = 20
	fleetMissing   = 8
	fleetCauses    = 3 // of one database
)

// Fleet shows the diagnosis of many databases: what they have in common, and the state of each.
// Times are in the given zone; nil means the machine's local zone.
func Fleet(r *fleet.Report, zone *time.Location) *document.Document {
	if zone == nil {
		zone = time.Local
	}

	p := &document.Document{Kind: "Fleet", Title: document.FirstSentence(r.Verdict), Verdict: r.Verdict,
		Facts: fleetFacts(r), Summary: fleetSummary(r, zone)}
	n := 0
	for _, kind := range []struct {
		id, title, note string
		of              diagnose.Kind
	}{{"why", "Causes", "", diagnose.Cause}, {"hurts", "Symptoms", "", diagnose.Symptom},
		{"not", "Ruled out", "What not to spend money on.", diagnose.Refutation}} {
		var all []document.Finding
		for i := range r.Groups {
			if g := &r.Groups[i]; g.Kind == kind.of {
				n++
				all = append(all, fleetFinding(r, g, n))
			}
		}

		if len(all) > 0 {
			p.Add(document.Section{ID: kind.id, Title: kind.title, Note: kind.note,
				Parts: []document.Part{{Findings: all}}})
		}
	}

	p.Add(fleetSection(r))
	if len(r.Missing) > 0 {
		p.Add(missingSection(r))
	}

	if len(r.Databases) > 0 && r.Databases[0].Problem == "" {
		p.Next = "To see one in full: plimsoll diagnose --prometheus ... --cluster " + r.Databases[0].Name
	}

	return p
}

func fleetFacts(r *fleet.Report) []document.Fact {
	level := document.Good
	if r.Stalled > 0 {
		level = document.Critical
	}

	out := []document.Fact{
		{Label: "Databases", Value: units.Count(int64(r.Found)),
			Note: fmt.Sprintf("%s judged", units.Count(int64(r.Read))), Href: "#databases"},
		{Label: "Stalled", Value: units.Count(int64(r.Stalled)), Note: "at least once", Level: level,
			Href: "#databases"},
	}

	if r.WatchedS > 0 {
		out = append(out, document.Fact{Label: "Stalled time", Value: units.Seconds(r.StalledS), Level: level,
			Note: units.Percent(r.StalledS/r.WatchedS) + " of " + units.Seconds(r.WatchedS) +
				", summed over databases", Href: "#databases"})
	}

	return out
}

func fleetSummary(r *fleet.Report, zone *time.Location) []document.Term {
	by := strings.Join(r.By, ", ")
	if r.Chosen {
		by += " (detected; --by overrides them)"
	}

	moment := func(at time.Time) string { return at.In(zone).Format("2006-01-02 15:04:05 MST") }
	out := []document.Term{
		document.NewTerm("server", strings.TrimSpace(r.Server+" "+r.Selector)),
		document.NewTerm("databases", fmt.Sprintf("%s, grouped by %s; %s samples", units.Count(int64(r.Found)), by,
			units.Number(float64(r.Samples)))),
		document.NewTerm("span", fmt.Sprintf("%s to %s (%s)", moment(r.Span.From), moment(r.Span.To),
			units.Seconds(r.Span.Seconds()))),
	}

	if len(r.Notes) > 0 {
		out = append(out, document.NewTerm("note", r.Notes...))
	}

	return out
}

// fleetFinding shows a finding that databases have in common.
func fleetFinding(r *fleet.Report, g *fleet.Group, n int) document.Finding {
	out := document.Finding{ID: "f" + strconv.Itoa(n), Number: n, Level: document.Level(g.Severity),
		Word: string(g.Severity), Title: g.Title, Subject: databases(len(g.Names)),
		Rule: g.Rule, Among: g.Names, Full: g.Severity != diagnose.Info}
	if g.Kind == diagnose.Refutation {
		out.Level, out.Word = document.Not, "ruled out"
	}

	// The group has the worst severity of its databases; this says how many have it.
	if g.Critical > 0 && g.Critical < len(g.Names) {
		out.Subject += fmt.Sprintf(", critical in %d", g.Critical)
	}

	if r.StalledS > 0 && g.Kind == diagnose.Cause {
		out.Weight = fmt.Sprintf("explains %s of stalls (%s of all)", units.Seconds(g.ExplainedS),
			units.Percent(g.ExplainedS/r.StalledS))
	}

	if g.Example != "" {
		out.Summary = "For example: " + g.Example
	}

	for _, f := range g.Fixes {
		out.Fixes = append(out.Fixes, document.Fix{Summary: fmt.Sprintf("%s (%s)", f.Summary,
			databases(f.Databases)), Expect: f.Expect, Cost: f.TradeOff})
	}

	if g.Price != nil {
		out.Observations = append(out.Observations,
			document.Observation{Value: "+" + units.Dollars(g.Price.MonthlyUSD), Text: "a month: " + g.Price.Of})
	}

	return out
}

func databases(n int) string {
	if n == 1 {
		return "1 database"
	}
	return units.Count(int64(n)) + " databases"
}

// fleetSection lists the databases that stalled, worst first, and those that could not be judged.
func fleetSection(r *fleet.Report) document.Section {
	stalled := &document.Table{Caption: "Databases that stalled", Short: fleetDatabases,
		Columns: []document.Column{{Text: "database"}, {Text: "stalled", Number: true}, {Text: "of", Number: true},
			{Text: "longest", Number: true, Drop: 1}, {Text: "every", Number: true}, {Text: "why"}}}
	unjudged := &document.Table{Caption: "Databases that could not be judged", Short: fleetDatabases,
		Columns: []document.Column{{Text: "not judged"}, {Text: "why"}}}

	calm := 0
	for i := range r.Databases {
		switch d := &r.Databases[i]; {
		case d.Problem != "":
			unjudged.Line(d.Name, d.Problem)
		case d.StalledS == 0:
			calm++
		default:
			stalled.Add(databaseRow(d))
		}
	}

	out := document.Section{ID: "databases", Title: "Databases, most stalled first"}
	if len(stalled.Rows) > 0 {
		out.Parts = append(out.Parts, document.Part{Table: stalled})
	}

	if calm > 0 {
		out.Parts = append(out.Parts, document.Part{Text: databases(calm) + " without a stall."})
	}

	if len(unjudged.Rows) > 0 {
		out.Parts = append(out.Parts, document.Part{Table: unjudged})
	}

	return out
}

func databaseRow(d *fleet.Database) []document.Cell {
	var why []string
	for _, f := range d.Findings {
		if f.Kind == diagnose.Cause && f.Severity != diagnose.Info && !slices.Contains(why, f.Rule) &&
			len(why) < fleetCauses {
			why = append(why, f.Rule)
		}
	}

	if len(why) == 0 {
		why = []string{"no cause found in the data"}
	}

	row := []document.Cell{{Text: d.Name}, {Text: units.Seconds(d.StalledS), Number: true},
		{Text: units.Seconds(d.WatchedS), Number: true}, {Text: units.Seconds(d.LongestS), Number: true},
		{Number: true},
		{Text: strings.Join(why, ", ")}}

	if d.PeriodS > 0 {
		row[4].Text = units.Seconds(d.PeriodS)
	}

	return row
}

func missingSection(r *fleet.Report) document.Section {
	tab := &document.Table{Caption: "Rules that could not be judged", Short: fleetMissing,
		Columns: []document.Column{{Text: "rule"}, {Text: "of", Number: true}, {Text: "missing"}}}
	for _, m := range r.Missing {
		tab.Add([]document.Cell{{Text: m.Rule, Roles: "code"}, {Text: databases(m.Databases)},
			{Text: strings.Join(m.Metrics, "; "), Roles: "code long"}})
	}
	return tab.Section("gaps", "Not measurable")
}
