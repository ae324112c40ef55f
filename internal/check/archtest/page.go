package archtest

import (
	"fmt"
	"path"
	"regexp"
	"strings"
)

// architecturePage is the page with the table of packages for people.
const architecturePage = "ARCHITECTURE.md"

var (
	// packageRow is a row of it: a package, its idea, what it imports of ours.
	packageRow = regexp.MustCompile("^\\| `([a-z0-9/]+)` \\|.*\\| ([^|]*) \\|$")
	quotedWord = regexp.MustCompile("`([a-z0-9/]+)`")
)

// Page reports where the table of packages in ARCHITECTURE.md is not true: a package
// without a row, a row without a package, an import the row does not name. A
// row may say in words what it imports ("all of the above"); "-" means nothing.
// Folders under internal, and packages that only help tests (named ...test), are
// not in the table.
func Page(t *Tree) []Problem {
	rows := map[string]string{}
	var out []Problem
	present := map[string]bool{}
	for _, f := range t.Go {
		if !f.Test {
			present[f.Dir()] = true
		}
	}
	page := false
	for _, f := range t.Texts {
		if f.Path != architecturePage {
			continue
		}
		page = true
		for i, line := range strings.Split(string(f.Data), "\n") {
			m := packageRow.FindStringSubmatch(line)
			if m == nil {
				continue
			}
			rows[m[1]] = m[2]
			if !present[m[1]] {
				out = append(out, Problem{Path: f.Path, Line: i + 1, Text: fmt.Sprintf("package %s is not in the source: drop its row", m[1])})
			}
		}
	}
	if !page {
		return nil
	}
	missing := map[string]bool{}
	for _, f := range t.Go {
		cell, listed := rows[f.Dir()]
		switch {
		case f.Test || !built(f.AST) || strings.HasPrefix(f.Dir(), "internal/") || strings.HasSuffix(f.Dir(), "test"):
		case !listed && !missing[f.Dir()]:
			missing[f.Dir()] = true
			out = append(out, Problem{Path: f.Dir(), Text: "package without a row in the table of " + architecturePage})
		case listed:
			out = append(out, unnamedImports(f, cell)...)
		}
	}
	return out
}

// unnamedImports are the imports of a file that its package's row does not name.
func unnamedImports(f *GoFile, cell string) []Problem {
	named := map[string]bool{}
	for _, m := range quotedWord.FindAllStringSubmatch(cell, -1) {
		named[m[1]] = true
	}
	if len(named) == 0 && cell != "-" {
		return nil // said in words
	}
	var out []Problem
	for _, spec := range f.AST.Imports {
		target, ours := inModule(spec.Path.Value)
		if ours && !named[target] && path.Dir(target) != "internal" {
			out = append(out, Problem{
				Path: f.Path, Line: f.Fset.Position(spec.Pos()).Line,
				Text: fmt.Sprintf("%s imports %s, which its row in %s does not name", f.Dir(), target, architecturePage),
			})
		}
	}
	return out
}
