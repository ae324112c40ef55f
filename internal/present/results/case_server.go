package results

import (
	"plimsoll/internal/advise/casebook"
	"plimsoll/internal/present/document"
)

// serverSection lists the published advice with its effect on the storage engine alone and on a
// whole server.
func serverSection(all []casebook.Advised) document.Section {
	out := document.Section{ID: "server", Title: "The advice on a whole server"}
	for _, a := range all {
		out.Parts = append(out.Parts, document.Part{Quote: a.Advice},
			document.Part{Text: "The storage engine alone: " + a.Engine},
			document.Part{Text: "A whole server: " + a.Server})
	}
	return out
}
