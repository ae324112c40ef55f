package fleet

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"plimsoll/internal/base/units"
	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/recording"
)

// notesMax bounds the notes about individual databases.
const notesMax = 8

// newReport counts what databases have in common. A group that was not read is empty.
func newReport(server *recording.Server, census *Census, groupsRead [][]Database, opt Options) *Report {
	var dbs []Database
	unread := 0
	for _, of := range groupsRead {
		if len(of) == 0 {
			unread++
		}
		dbs = append(dbs, of...)
	}

	from, to := server.Span()
	report := &Report{Version: Version, Server: server.Name(), Selector: selectorText(server), By: census.By,
		Chosen: census.Chosen,
		Span:   diagnose.Span{From: from, To: to}, Found: len(dbs) + unread, Databases: []Database{},
		Groups: []Group{}, Missing: []Missing{},
		Notes: slices.Clone(census.Notes)}

	var notes []string
	several := map[string]bool{}
	for _, d := range dbs {
		notes = append(notes, d.notes...)
		if d.group != "" {
			several[d.group] = true
		}

		report.Databases = append(report.Databases, d)
		if d.Problem != "" {
			continue
		}

		report.Read++
		report.Samples += d.Samples
		report.StalledS += d.StalledS
		report.WatchedS += d.WatchedS

		if d.StalledS > 0 {
			report.Stalled++
		}
	}

	if note := storeNote(dbs); note != "" {
		report.Notes = append(report.Notes, note)
	}

	if len(several) > 0 {
		report.Notes = append(report.Notes,
			fmt.Sprintf("%s by %s with several servers (%s): each server is judged separately",
				counted(len(several), "group"),
				strings.Join(census.By, ", "), strings.Join(first(slices.Sorted(maps.Keys(several)), fixesMax), ", ")))
	}

	report.Notes = append(report.Notes, first(notes, notesMax)...)
	for _, n := range server.Notes() {
		report.Notes = append(report.Notes, n.Text)
	}

	slices.SortStableFunc(report.Databases, func(a, b Database) int {
		// If two stalled equally long, or not at all, the one with the more severe findings comes
		// first.
		return cmp.Or(cmp.Compare(b.StalledS, a.StalledS), cmp.Compare(a.Severity.Rank(), b.Severity.Rank()),
			cmp.Compare(heaviest(b), heaviest(a)), strings.Compare(a.Name, b.Name))
	})

	report.Groups = groups(report.Databases)
	rank(report.Groups, opt.Rank)
	report.Missing = missing(report.Databases)
	report.Verdict = verdict(report)

	return report
}

// first returns the first texts, followed by the number of the others.
func first(texts []string, most int) []string {
	if len(texts) <= most {
		return texts
	}
	return append(slices.Clone(texts[:most]), fmt.Sprintf("%d more", len(texts)-most))
}

// heaviest is the highest weight of a cause of the database's severity.
func heaviest(d Database) (w float64) {
	for _, f := range d.Findings {
		if f.Kind == diagnose.Cause && f.Severity == d.Severity {
			w = max(w, f.Weight)
		}
	}
	return w
}

// storeNote says which labels were treated as storage labels.
func storeNote(dbs []Database) string {
	var which []string
	n := 0
	for _, d := range dbs {
		if len(d.store) > 0 {
			n++
		}
		for _, l := range d.store {
			if !slices.Contains(which, l) {
				which = append(which, l)
			}
		}
	}

	if n == 0 {
		return ""
	}

	slices.Sort(which)
	return fmt.Sprintf("series of one exporter differ in %s (%s): treated as replica labels and ignored, as with Thanos' --query.replica-label",
		strings.Join(which, ", "), counted(n, "database"))
}

// groups joins findings of the same rule, with the most stalled databases first.
func groups(dbs []Database) []Group {
	at := map[string]int{}
	var out []Group
	for _, d := range dbs {
		if d.report == nil {
			continue
		}
		for _, f := range d.report.Findings {
			key := string(f.Kind) + f.Rule
			i, ok := at[key]
			if !ok {
				i = len(out)
				at[key] = i
				out = append(out, Group{Rule: f.Rule, Title: f.Title, Kind: f.Kind, Severity: f.Severity,
					Example: f.Summary, Docs: f.Docs, Fixes: []FleetFix{}})
			}
			out[i].add(d, f)
		}
	}

	for i := range out {
		slices.SortStableFunc(out[i].Fixes,
			func(a, b FleetFix) int { return cmp.Compare(b.Databases, a.Databases) })
		out[i].Fixes = out[i].Fixes[:min(len(out[i].Fixes), fixesMax)]
		out[i].Price = price(out[i], dbs)
	}

	return out
}

// fixesMax bounds the fixes listed for a group.
const fixesMax = 4

// add counts one finding of a database. If a rule has several findings, for several devices, the
// one with the largest weight counts.
func (g *Group) add(database Database, finding diagnose.Finding) {
	if finding.Severity.Rank() < g.Severity.Rank() {
		g.Severity = finding.Severity
	}

	// Findings arrive one database after the other, so the last name shows whether it was counted.
	if len(g.Names) > 0 && g.Names[len(g.Names)-1] == database.Name {
		return
	}

	g.Names = append(g.Names, database.Name)
	heaviest := 0.0

	critical := false
	for _, o := range database.report.Findings {
		if o.Rule == finding.Rule && o.Kind == finding.Kind {
			heaviest = max(heaviest, o.Weight)
			critical = critical || o.Severity == diagnose.Critical
		}
	}

	if critical {
		g.Critical++
	}

	switch finding.Kind {
	case diagnose.Cause:
		g.ExplainedS += float64(min(1, heaviest) * database.StalledS)
	default:
		g.ExplainedS += database.StalledS
	}

	for _, x := range finding.Fixes {
		i := slices.IndexFunc(g.Fixes, func(o FleetFix) bool { return o.Summary == x.Summary })
		if i < 0 {
			i = len(g.Fixes)
			g.Fixes = append(g.Fixes, FleetFix{Fix: x})
		}
		g.Fixes[i].Databases++
	}
}

var kinds = []diagnose.Kind{diagnose.Cause, diagnose.Symptom, diagnose.Refutation}

// rank orders groups: causes, symptoms, refutations; within each, groups with only info findings
// last; then as requested.
func rank(gs []Group, by string) {
	remark := func(g Group) int {
		if g.Severity == diagnose.Info {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(gs, func(a, b Group) int {
		asked := 0
		switch by {
		case "databases":
			asked = cmp.Compare(len(b.Names), len(a.Names))
		case "money":
			asked = byMoney(a, b)
		}

		return cmp.Or(
			cmp.Compare(slices.Index(kinds, a.Kind), slices.Index(kinds, b.Kind)),
			cmp.Compare(remark(a), remark(b)),
			asked,
			cmp.Compare(b.ExplainedS, a.ExplainedS),
			cmp.Compare(len(b.Names), len(a.Names)),
			strings.Compare(a.Rule, b.Rule),
		)
	})
}

// byMoney sorts by stalled time explained per dollar. Groups with an unknown price come last:
// unknown is not free.
func byMoney(a, b Group) int {
	switch {
	case a.Price == nil && b.Price == nil:
		return 0
	case a.Price == nil:
		return 1
	case b.Price == nil:
		return -1
	}
	// a before b if a.hours/a.usd is larger; multiplied out, because a price may be 0.
	return cmp.Compare(float64(b.ExplainedS*a.Price.MonthlyUSD), float64(a.ExplainedS*b.Price.MonthlyUSD))
}

func missing(dbs []Database) []Missing {
	at := map[string]int{}
	out := []Missing{}
	for _, d := range dbs {
		if d.report == nil {
			continue
		}
		for _, m := range d.report.Missing {
			i, ok := at[m.Rule]
			if !ok {
				i = len(out)
				at[m.Rule] = i
				out = append(out, Missing{Rule: m.Rule, Metrics: m.Missing})
			}
			out[i].Databases++
		}
	}

	slices.SortStableFunc(out, func(a, b Missing) int {
		return cmp.Or(cmp.Compare(b.Databases, a.Databases), strings.Compare(a.Rule, b.Rule))
	})
	return out
}

// verdict is what users read first.
func verdict(report *Report) string {
	var text strings.Builder
	watched := 0
	for _, d := range report.Databases {
		if d.WatchedS > 0 {
			watched++
		}
	}

	switch {
	case watched == 0:
		fmt.Fprintf(
			&text, "No source reports how long operations of %s took, so a stall can be neither detected nor ruled out.",
			counted(report.Read, "database"))
	case report.Stalled == 0:
		fmt.Fprintf(&text, "No stall in %s, watched for %s in total.",
			counted(watched, "database"), units.Seconds(report.WatchedS))
	default:
		fmt.Fprintf(&text, "%d of %s stalled, for %s of %s in total.", report.Stalled, counted(report.Read, "database"),
			units.Seconds(report.StalledS), units.Seconds(report.WatchedS))
	}

	var why []string
	for _, g := range report.Groups {
		// A sentence has room for three causes; the table below has all.
		if g.Kind == diagnose.Cause && g.Severity != diagnose.Info && g.ExplainedS > 0 && len(why) < 3 {
			why = append(why, fmt.Sprintf("%s (%s)", rules.LowerFirst(g.Title),
				counted(len(g.Names), "database")))
		}
	}

	if len(why) > 0 && report.Stalled > 0 {
		fmt.Fprintf(&text, " Why: %s.", strings.Join(why, "; "))
	}

	// Databases that were not read may have stalled, so the verdict must mention them.
	if report.Read < report.Found {
		fmt.Fprintf(&text, " %d of %s are not included.", report.Found-report.Read, counted(report.Found, "database"))
	}

	return text.String()
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
