package archtest

import (
	"fmt"
	"go/ast"
	"go/build/constraint"
	"strings"
)

// docWordsMin is the minimum length at which a package doc can teach something: the name, the purpose,
// and one thing to know.
const docWordsMin = 15

// Docs reports packages without a doc comment or with one of only a few words. This applies to
// commands too, but not to packages with only test files, or built only under a tag that is never
// set.
func Docs(t *Tree) []Problem {
	type state struct {
		words int
		main  bool
		named bool // the doc starts as godoc expects
	}

	pkgs := map[string]*state{}
	var order []string
	for _, f := range t.Go {
		if f.Test || ast.IsGenerated(f.AST) || !built(f.AST) {
			continue
		}

		s := pkgs[f.Dir()]
		if s == nil {
			s = &state{main: f.AST.Name.Name == "main"}
			pkgs[f.Dir()] = s
			order = append(order, f.Dir())
		}

		if f.AST.Doc != nil {
			text := f.AST.Doc.Text()
			// Several files may each contain a part of the doc; godoc joins them.
			s.words += len(strings.Fields(text))
			s.named = s.named || s.main || strings.HasPrefix(text, "Package "+f.AST.Name.Name+" ")
		}
	}

	var out []Problem
	for _, dir := range order {
		switch s := pkgs[dir]; {
		case s.words == 0:
			out = append(out, Problem{Path: dir,
				Text: "package without a doc comment: say which idea it holds and what to know before using it"})
		case s.words < docWordsMin:
			out = append(out, Problem{Path: dir,
				Text: fmt.Sprintf("package doc of %d words: it should teach the package's idea", s.words)})
		case !s.named:
			out = append(out, Problem{Path: dir,
				Text: "package doc should start \"Package <name> \", as go doc shows it"})
		}
	}

	return out
}

// built reports whether a file can be part of some ordinary build: its constraint, if any, does not
// depend on a private tag.
func built(f *ast.File) bool {
	for _, g := range f.Comments {
		if g.Pos() > f.Package {
			break
		}
		for _, c := range g.List {
			if !constraint.IsGoBuild(c.Text) {
				continue
			}
			x, err := constraint.Parse(c.Text)
			if err != nil {
				return true
			}
			with := x.Eval(func(string) bool { return true })
			without := x.Eval(func(tag string) bool { return !private[tag] })
			return without || !with
		}
	}

	return true
}

// private lists the build tags that no ordinary build sets.
var private = map[string]bool{"deps": true, "ignore": true, "tools": true}
