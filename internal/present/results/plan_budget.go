package results

import (
	"plimsoll/internal/advise/plan"
	"plimsoll/internal/base/units"
	"plimsoll/internal/present/document"
)

// budgetSection shows the sustained limits of the volumes of the layout shown, which its engine
// should be configured with. It is omitted if nothing bounds them.
func budgetSection(p *plan.Plan, g *ledger) document.Section {
	shown, _ := shownLayout(p)
	if shown == nil || len(shown.Budget) == 0 {
		return document.Section{}
	}

	made := g.page("This plan")
	tab := document.NewTable("I/O budget", "volume", "#IOPS", "limited by", "#throughput", "limited by")
	tab.Notes = []string{"Each figure is the lowest of the sustained limits of the volume and the machine. Pace checkpoints and cleaning by it."}

	for _, b := range shown.Budget {
		iops, bytes := "–", "–"
		if b.IOPS > 0 {
			iops = units.Count(int64(b.IOPS))
		}

		if b.BytesPerSec > 0 {
			bytes = units.Value(b.BytesPerSec, "bytes/s")
		}

		tab.Add([]document.Cell{{Text: "volumes." + b.Volume, Roles: "code"}, {Text: iops, Href: made},
			{Text: limitedBy(b.IOPSBy, iops)}, {Text: bytes, Href: made}, {Text: limitedBy(b.BytesBy, bytes)}})
	}

	return document.Section{ID: "budget", Title: "Sustained I/O budget", Parts: []document.Part{
		{Table: tab}, {Text: "As settings of the engine and of the kernel:",
			Commands: []string{g.called() + " -o json > plan.json", "plimsoll emit plan.json --target budget"}},
	}}
}

// limitedBy says which limit determines a figure of a budget.
func limitedBy(by, figure string) string {
	switch {
	case figure == "–":
		return ""
	case by == "machine":
		return "the machine, all volumes together"
	case by == "burst":
		return "the volume, after its burst"
	}
	return "the volume"
}
