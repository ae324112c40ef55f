package archtest

import (
	"fmt"
	"strings"
)

const (
	// tableFile holds the table of layers.
	tableFile = "internal/check/archtest/table_test.go"
	// packagesPage presents it to people.
	packagesPage = "docs/internals/packages.txt"
	tableBegin   = "---- packages: make generate\n"
	tableEnd     = "---- end of packages\n"
)

// PageTable returns the table of layers for packagesPage: a package, its idea, its imports.
func PageTable(layers []Layer) string {
	var b strings.Builder
	for _, l := range layers {
		fmt.Fprintf(&b, "\n%s\n    %s\n", l.Package, l.Idea)
		if len(l.Imports) > 0 {
			fmt.Fprintf(&b, "    imports %s\n", strings.Join(l.Imports, ", "))
		}
	}
	return b.String() + "\n"
}

// WithTable returns packagesPage with the table of layers replaced. It fails if the page lacks the marks.
func WithTable(page string, layers []Layer) (string, error) {
	head, rest, begun := strings.Cut(page, tableBegin)
	_, tail, ended := strings.Cut(rest, tableEnd)
	if !begun || !ended {
		return "", fmt.Errorf("%s has no lines %q and %q to mark the table of packages",
			packagesPage, tableBegin, tableEnd)
	}
	return head + tableBegin + PageTable(layers) + tableEnd + tail, nil
}

// page reports whether packagesPage has a different table.
func page(t *Tree, layers []Layer) []Problem {
	for _, f := range t.Texts {
		if f.Path != packagesPage {
			continue
		}
		want, err := WithTable(string(f.Data), layers)
		switch {
		case err != nil:
			return []Problem{{Path: f.Path, Text: err.Error()}}
		case want != string(f.Data):
			return []Problem{{Path: f.Path, Text: "the table of packages is not that of " + tableFile +
				": make generate"}}
		}
	}
	return nil
}
