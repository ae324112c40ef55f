package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/base/units"
	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/judge/fleet"
	"plimsoll/internal/present/document"
	"plimsoll/internal/present/text"
)

// How much of a fleet a page shows unless all is asked for: what one acts upon first.
const (
	fleetDatabases = 20
	fleetNames     = 6
	fleetMissing   = 8
)

// fleetText writes a fleet's diagnosis for a person.
type fleetText struct {
	r    *fleet.Report
	opt  text.Options
	zone *time.Location
	b    strings.Builder
}

func (t *fleetText) String() string {
	t.head()
	t.groups("WHY", diagnose.Cause)
	t.groups("WHAT HURTS", diagnose.Symptom)
	t.groups("WHAT IT IS NOT", diagnose.Refutation)
	t.databases()
	t.missing()
	t.next()
	return t.b.String()
}

func (t *fleetText) line(format string, args ...any) {
	fmt.Fprintln(&t.b, strings.TrimRight(fmt.Sprintf(format, args...), " "))
}

// para writes text under a lead, wrapped to the page.
func (t *fleetText) para(lead, text string) {
	indent := strings.Repeat(" ", len(lead))
	for i, l := range wrapped(document.Visible(text), t.opt.Width-len(lead)) {
		if i == 0 {
			t.line("%s%s", lead, l)
		} else {
			t.line("%s%s", indent, l)
		}
	}
}

func (t *fleetText) title(text string) {
	t.line("")
	t.line("%s", text)
	bar := "─"
	if t.opt.ASCII {
		bar = "-"
	}
	t.line("%s", strings.Repeat(bar, t.opt.Width))
}

func (t *fleetText) head() {
	r := t.r
	t.para("", r.Verdict)
	t.line("")
	what := r.Server
	if r.Selector != "" {
		what += " " + r.Selector
	}
	t.para("  server     ", what)
	by := strings.Join(r.By, ", ")
	if r.Chosen {
		by += " (found; --by takes others)"
	}
	t.para("  databases  ", fmt.Sprintf("%d, told apart by %s; %s samples", r.Found, by, units.Number(float64(r.Samples))))
	t.para("  span       ", fmt.Sprintf("%s to %s (%s)", t.moment(r.Span.From), t.moment(r.Span.To), units.Seconds(r.Span.Seconds())))
	for _, n := range r.Notes {
		t.para("  note       ", n)
	}
}

func (t *fleetText) moment(at time.Time) string {
	zone := t.zone
	if zone == nil {
		zone = time.Local
	}
	return at.In(zone).Format("2006-01-02 15:04:05 MST")
}

// groups writes the rules' findings of one kind.
func (t *fleetText) groups(title string, kind diagnose.Kind) {
	n := 0
	for _, g := range t.r.Groups {
		if g.Kind != kind || g.Severity == diagnose.Info && kind != diagnose.Refutation && !t.opt.Verbose {
			continue
		}
		if n++; n == 1 {
			t.title(title)
		}
		t.group(n, g)
	}
}

func (t *fleetText) group(n int, g fleet.Group) {
	word := strings.ToUpper(string(g.Severity))
	if g.Kind == diagnose.Refutation {
		word = "NO"
	}
	t.para(fmt.Sprintf("%-3d%-9s ", n, word), fmt.Sprintf("%s (%s)", g.Title, g.Rule))
	share := ""
	if t.r.StalledS > 0 && g.Kind == diagnose.Cause {
		share = fmt.Sprintf(", explains %s of stalls (%s of all)", units.Seconds(g.ExplainedS), units.Percent(g.ExplainedS/t.r.StalledS))
	}
	critical := ""
	if g.Critical > 0 && g.Critical < len(g.Names) {
		critical = fmt.Sprintf(", critical in %d", g.Critical)
	}
	t.para("   ", fmt.Sprintf("%s%s%s: %s", databases(len(g.Names)), critical, share, t.some(g.Names)))
	if g.Kind != diagnose.Refutation || t.opt.Verbose {
		t.para("   for example ", g.Example)
	}
	for i, f := range g.Fixes {
		if i >= 2 && !t.opt.Verbose {
			break
		}
		t.para("   fix         ", fmt.Sprintf("%s (%s)", f.Summary, databases(f.Databases)))
	}
	if g.Price != nil {
		t.para("   price       ", fmt.Sprintf("+%s a month: %s", dollars(g.Price.MonthlyUSD), g.Price.Of))
	}
	t.line("")
}

func databases(n int) string {
	if n == 1 {
		return "1 database"
	}
	return fmt.Sprintf("%d databases", n)
}

func (t *fleetText) some(names []string) string {
	if t.opt.Verbose || len(names) <= fleetNames {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:fleetNames], ", "), len(names)-fleetNames)
}

// databases lists those that stalled, the most first, and those that could not be judged.
func (t *fleetText) databases() {
	t.title("DATABASES, THE MOST STALLED FIRST")
	shown, calm := 0, 0
	for _, d := range t.r.Databases {
		switch {
		case d.Problem != "":
			continue
		case d.StalledS == 0:
			calm++
			continue
		}
		if shown++; shown > fleetDatabases && !t.opt.Verbose {
			continue
		}
		var why []string
		for _, f := range d.Findings {
			if f.Kind == diagnose.Cause && f.Severity != diagnose.Info && !slices.Contains(why, f.Rule) && len(why) < 3 {
				why = append(why, f.Rule)
			}
		}
		text := fmt.Sprintf("%s of %s", units.Seconds(d.StalledS), units.Seconds(d.WatchedS))
		if d.PeriodS > 0 {
			text += ", every " + units.Seconds(d.PeriodS)
		}
		if len(why) > 0 {
			text += ": " + strings.Join(why, ", ")
		} else {
			text += ": no cause found in what is measured"
		}
		t.para(fmt.Sprintf("%-20s ", document.Visible(d.Name)), text)
	}
	if over := shown - fleetDatabases; over > 0 && !t.opt.Verbose {
		t.line("and %d more (--verbose)", over)
	}
	if calm > 0 {
		t.line("%s without a stall", databases(calm))
	}
	problems := 0
	for _, d := range t.r.Databases {
		if d.Problem == "" {
			continue
		}
		if problems++; problems <= fleetDatabases || t.opt.Verbose {
			t.para(fmt.Sprintf("%-20s ", document.Visible(d.Name)), "not judged: "+d.Problem)
		}
	}
	if over := problems - fleetDatabases; over > 0 && !t.opt.Verbose {
		t.line("and %d more that could not be judged (--verbose)", over)
	}
}

func (t *fleetText) missing() {
	if len(t.r.Missing) == 0 {
		return
	}
	t.title("NOT MEASURABLE")
	for i, m := range t.r.Missing {
		if i >= fleetMissing && !t.opt.Verbose {
			t.line("and %d more rules (--verbose)", len(t.r.Missing)-fleetMissing)
			return
		}
		lead := fmt.Sprintf("%-34s ", m.Rule)
		what := ""
		if len(m.Metrics) > 0 {
			what = ": " + m.Metrics[0]
		}
		t.para(lead, fmt.Sprintf("%s%s", databases(m.Databases), what))
	}
}

func (t *fleetText) next() {
	if len(t.r.Databases) == 0 || t.r.Databases[0].Problem != "" {
		return
	}
	t.line("")
	t.para("", fmt.Sprintf("One of them in full: plimsoll diagnose --prometheus ... --cluster %s", t.r.Databases[0].Name))
}
