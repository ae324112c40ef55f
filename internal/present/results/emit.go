package results

import (
	"cmp"
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"plimsoll/internal/advise/emit"
	"plimsoll/internal/present/document"
)

// elsewhere are the media that are read rather than piped.
const elsewhere = document.Page | document.Markdown

// Emit shows the files of a layout. A terminal lists their paths, one per line; other media also
// show what they change, and their text.
func Emit(r *emit.Report) *document.Document {
	d := &document.Document{Kind: "Layout", Title: "Files of a layout"}
	var written, files []document.File
	// A terminal gets paths of the operating system, to copy; a page gets slashes, the same
	// everywhere.
	for _, f := range r.Files {
		written = append(written, document.File{Path: filepath.Join(r.Dir, filepath.FromSlash(f.Path))})
		files = append(files, document.File{Path: path.Join(filepath.ToSlash(r.Dir), f.Path),
			Lines: strings.Split(strings.TrimRight(f.Text, "\n"), "\n")})
	}

	if r.Written {
		d.Add(document.Section{ID: "written", Only: document.Terminal, Parts: []document.Part{{Files: written}}})
	}

	if len(r.Changes) > 0 {
		tab := document.NewTable("What the layout changes", "change", "from", "to", "applied by")
		for _, c := range r.Changes {
			tab.Add([]document.Cell{{Text: c.Path, Roles: "code"}, {Text: cmp.Or(c.From, unknown)}, {Text: c.To},
				{Text: cmp.Or(strings.Join(c.By, ", "), unknown)}})
		}

		s := document.Section{ID: "changes", Title: "Changes", Only: elsewhere,
			Parts: []document.Part{{Table: tab}}}
		for _, name := range r.Idle {
			s.Parts = append(s.Parts,
				document.Part{Text: fmt.Sprintf("The layout changes nothing that %s could apply.", name)})
		}

		d.Add(s)
	}

	d.Add(document.Section{ID: "files", Title: "Files", Only: elsewhere, Parts: []document.Part{{Files: files}}})
	return d
}

// EmitDiff shows how a folder would change.
func EmitDiff(r *emit.Report) *document.Document {
	d := &document.Document{Kind: "Layout", Title: "How " + r.Dir + " would change"}
	if r.Diff != "" {
		d.Sections = []document.Section{{ID: "diff",
			Parts: []document.Part{{Files: []document.File{{Path: r.Dir,
				Lines: strings.Split(strings.TrimRight(r.Diff, "\n"), "\n")}}}}}}
	}
	return d
}
