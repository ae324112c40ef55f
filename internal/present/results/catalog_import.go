package results

import (
	"fmt"

	"plimsoll/internal/model/catalog"
	"plimsoll/internal/present/document"
)

// changesShown is how many changes of each kind are listed; the JSON has all.
const changesShown = 20

// Import shows what the imported files of prices and limits changed in a catalogue, file by file.
func Import(all []catalog.ImportReport) *document.Document {
	d := &document.Document{Kind: "Import", Title: "Import into the catalogue"}
	for i := range all {
		r := &all[i]
		n := map[string]int{}

		tab := document.NewTable("Changes from "+r.File, "", "of", "now", "before")
		for _, kind := range []string{"added", "changed"} {
			for _, c := range r.Changes {
				if c.Kind != kind {
					continue
				}
				if n[kind]++; n[kind] <= changesShown {
					tab.Line(kind, c.Of, c.IsNow, c.Was)
				}
			}
			if more := n[kind] - changesShown; more > 0 {
				tab.Notes = append(tab.Notes, fmt.Sprintf("and %d more %s", more, kind))
			}
		}

		s := document.Section{ID: fmt.Sprintf("file%d", i+1),
			Parts: []document.Part{{Text: fmt.Sprintf("%s: %d added, %d changed, %d unchanged; %d entries skipped",
				r.File, n["added"], n["changed"], len(r.Changes)-n["added"]-n["changed"], r.Skipped)}}}
		if len(tab.Rows) > 0 {
			s.Parts = append(s.Parts, document.Part{Table: tab})
		}

		d.Add(s)
	}

	return d
}
