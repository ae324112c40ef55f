package results

import (
	"slices"
	"strings"

	"plimsoll/internal/advise/plan"
	"plimsoll/internal/base/units"
	"plimsoll/internal/model/catalog"
	"plimsoll/internal/present/document"
)

// newHeadline says in a sentence what to buy, what it costs and what it achieves.
func newHeadline(p *plan.Plan, c *plan.Layout) string {
	text := "Buy " + orderedText(c)
	if c.Platform != "" {
		text = "Buy on " + orderedText(c)
	}
	if !p.Unpriced {
		text += ", " + units.Dollars(c.MonthlyUSD) + " a month"
	}
	return withEffects(p, c, text)
}

// orderedText lists the machines and volumes of a layout, and its other settings, on one line.
func orderedText(l *plan.Layout) string {
	sc := l.Scenario
	if sc == nil {
		return setsText(l)
	}

	var parts []string
	if t := sc.Instance(); t != nil {
		machine := t.Name
		if n := sc.MemberCount(); n > 1 {
			machine = units.Count(int64(n)) + " x " + machine
		}
		parts = append(parts, machine)
	}
	for _, v := range sc.Volumes {
		parts = append(parts, volumeText(&v.Value)+" for "+v.Name)
	}
	for _, c := range l.Changes {
		if !strings.HasPrefix(c.Path, "volumes.") && c.Path != "host.instance" && c.Path != "host.cores" {
			parts = append(parts, c.Path+"="+c.To)
		}
	}

	text := strings.Join(parts, " + ")
	if l.Platform != "" {
		text = l.Platform + ": " + text
	}
	return text
}

// volumeText describes a volume: "500 GiB gp3 with 6,000 IOPS".
func volumeText(o *catalog.Order) string {
	text := o.Size.Exact()
	if number, unit, ok := strings.Cut(o.Size.Exact(), "GiB"); ok && unit == "" {
		text = number + " GiB"
	}
	text += " " + o.Type
	if n := o.Members(); n > 1 {
		text = units.Count(int64(n)) + " x " + text
	}

	var with []string
	if o.IOPS > 0 {
		with = append(with, units.Count(int64(o.IOPS))+" IOPS")
	}
	if o.Throughput > 0 {
		rate, _ := o.Throughput.MarshalText() // never fails
		with = append(with, string(rate))
	}
	if len(with) > 0 {
		text += " with " + strings.Join(with, " and ")
	}
	return text
}

// platformsSection compares the platforms of a plan for several.
func platformsSection(planned *plan.Plan, sources *ledger) document.Section {
	if len(planned.Platforms) < 2 || len(planned.Objectives) == 0 {
		return document.Section{}
	}

	name := planned.Objectives[0].Name + "_seconds"
	tab := document.NewTable("Platforms", "platform", "#a month", "#"+plainName(planned.Objectives[0].Name),
		"layout")
	rows := slices.Clone(planned.Platforms)
	slices.SortStableFunc(rows, func(a, b plan.PlatformPlan) int {
		switch {
		case a.Chosen == nil && b.Chosen == nil:
			return 0
		case a.Chosen == nil:
			return 1
		case b.Chosen == nil:
			return -1
		}
		return int(a.Chosen.MonthlyUSD*100) - int(b.Chosen.MonthlyUSD*100)
	})

	for _, x := range rows {
		where := x.Platform
		if x.Region != "" {
			where += ", " + x.Region
		}

		row := []document.Cell{{Text: where}, {Text: "–", Number: true}, {Text: "–", Number: true},
			{Text: x.Problem}}
		l, note := x.Chosen, ""
		if l == nil {
			l, note = x.Nearest, "not enough: "
		}
		if l != nil {
			run := sources.layout(l)
			row[1] = priceCell(planned, units.Dollars(l.MonthlyUSD), sources)
			if f, ok := l.Predicted[name]; ok {
				row[2] = document.Cell{Text: units.Seconds(f.Value), Number: true, Href: run}
			}
			row[3] = document.Cell{Text: note + withoutPlatform(l, x.Platform), Roles: "long", Ref: run}
			if x.Present {
				row[3].Note = "now there"
			}
		}
		tab.Add(row)
	}

	return document.Section{ID: "platforms", Title: "By platform", Screen: document.Always,
		Parts: []document.Part{{Table: tab}}}
}

func withoutPlatform(l *plan.Layout, platform string) string {
	return strings.TrimPrefix(orderedText(l), platform+": ")
}
