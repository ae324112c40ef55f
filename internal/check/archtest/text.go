package archtest

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"iter"
	"path"
	"regexp"
	"strings"
)

// Text that names a place on one machine is wrong on every other one. The patterns are assembled
// from parts so that this file does not match itself.
var machinePath = regexp.MustCompile(`(^|[\s"'` + "`" + `(=:,])/` + `(work/|root/|home/[a-z]|Users/[A-Za-z])`)

// Paths reports text that contains a path of the machine it was written on: a home directory or a
// checkout. It skips files that are not text.
func Paths(t *Tree) []Problem {
	var out []Problem
	for _, f := range t.Texts {
		if bytes.IndexByte(f.Data, 0) >= 0 {
			continue
		}
		for i, line := range bytes.Split(f.Data, []byte("\n")) {
			if m := machinePath.Find(line); m != nil {
				out = append(out, Problem{Path: f.Path, Line: i + 1,
					Text: fmt.Sprintf("%q is a path on one machine: use a relative path, or take it from an argument",
						strings.TrimSpace(string(m)))})
			}
		}
	}
	return out
}

var (
	link    = regexp.MustCompile(`\]\(([^()\s]+)\)`)
	scheme  = regexp.MustCompile(`^[a-z]+:`)
	heading = regexp.MustCompile(`^#{1,6} +(.*)$`)
	// notInAnchor are the characters of a heading that its anchor lacks on GitHub.
	notInAnchor = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// Links reports links in Markdown pages to files that are not in the tree, and to headings that their
// page does not have. It does not follow links to other sites: a test that needs the network fails for
// unrelated reasons.
func Links(t *Tree) []Problem {
	there := map[string]bool{".": true}
	anchors := map[string]map[string]bool{}
	for _, f := range t.Texts {
		// Folders can be linked to, so every parent of a file exists as well.
		for name := f.Path; !there[name]; name = path.Dir(name) {
			there[name] = true
		}
		if path.Ext(f.Path) == ".md" {
			anchors[f.Path] = anchorsOf(string(f.Data))
		}
	}

	var out []Problem
	for _, f := range t.Texts {
		// Samples of broken pages are inputs of tests.
		if path.Ext(f.Path) != ".md" || inTestdata(f.Path) {
			continue
		}
		code := false
		for i, line := range strings.Split(string(f.Data), "\n") {
			if strings.HasPrefix(strings.TrimSpace(line), "```") {
				code = !code
			}
			if code {
				continue // commands contain brackets, too
			}
			for _, m := range link.FindAllStringSubmatch(line, -1) {
				if text := linkProblem(f.Path, m[1], there, anchors); text != "" {
					out = append(out, Problem{Path: f.Path, Line: i + 1, Text: text})
				}
			}
		}
	}

	return out
}

// linkProblem reports why a link of a page leads nowhere; "" if it does lead somewhere.
func linkProblem(page, to string, there map[string]bool, anchors map[string]map[string]bool) string {
	if scheme.MatchString(to) {
		return ""
	}

	file, anchor, _ := strings.Cut(to, "#")
	target := page
	if file != "" {
		target = path.Join(path.Dir(page), file)
	}

	switch {
	case !there[target]:
		return fmt.Sprintf("link to %s, which is not in the repository", to)
	case anchor != "" && anchors[target] != nil && !anchors[target][anchor]:
		return fmt.Sprintf("link to %s: %s has no such heading", to, target)
	}

	return ""
}

// anchorsOf returns the anchors of a page's headings as GitHub makes them.
func anchorsOf(page string) map[string]bool {
	out := map[string]bool{}
	fenced := false
	for line := range strings.Lines(page) {
		line = strings.TrimRight(line, "\r\n")
		if strings.HasPrefix(line, "```") {
			fenced = !fenced
		}

		m := heading.FindStringSubmatch(line)
		if m == nil || fenced {
			continue
		}

		text := strings.ToLower(strings.TrimSpace(m[1]))
		anchor := strings.ReplaceAll(notInAnchor.ReplaceAllString(text, ""), " ", "-")

		name := anchor
		// A heading that repeats gets a number, as on GitHub.
		for n := 1; out[name]; n++ {
			name = fmt.Sprintf("%s-%d", anchor, n)
		}

		out[name] = true
	}

	return out
}

// boundsPage has the table of bounds.
const boundsPage = "docs/internals/bounds.txt"

// boundsRow is a row of that table: a constant and its value as a reader writes it.
var boundsRow = regexp.MustCompile("^\\| `([a-z0-9/]+)\\.([A-Za-z0-9]+)` \\| ([^|]+) \\|")

// Bounds reports rows of the table in docs/internals/bounds.txt that differ from the code, so that
// readers can rely on the table.
func Bounds(t *Tree) []Problem {
	var out []Problem
	for _, f := range t.Texts {
		if f.Path != boundsPage {
			continue
		}
		for i, line := range strings.Split(string(f.Data), "\n") {
			m := boundsRow.FindStringSubmatch(line)
			if m == nil {
				continue
			}
			if text := boundProblem(t, m[1], m[2], strings.TrimSpace(m[3])); text != "" {
				out = append(out, Problem{Path: f.Path, Line: i + 1, Text: text})
			}
		}
	}

	return out
}

// boundProblem compares the documented value of a constant with the code; "" if they agree.
func boundProblem(t *Tree, pkg, name, said string) string {
	expr := constantExpr(t, pkg, name)
	if expr == nil {
		return fmt.Sprintf("%s.%s is not a constant of the source: change the row", pkg, name)
	}
	is, err := types.Eval(token.NewFileSet(), nil, token.NoPos, types.ExprString(expr))
	if err != nil || is.Value == nil {
		return fmt.Sprintf("%s.%s is %s, not a number by itself: leave it out of the table", pkg, name,
			types.ExprString(expr))
	}
	want := constant.ToFloat(plainNumber(said))
	if want.Kind() != constant.Float || !constant.Compare(constant.ToFloat(is.Value), token.EQL, want) {
		return fmt.Sprintf("%s.%s is %s, not %s: change the row", pkg, name, is.Value.ExactString(), said)
	}
	return ""
}

// constantExpr returns the expression that a package assigns to a constant, nil if there is no such
// constant.
func constantExpr(t *Tree, pkg, name string) ast.Expr {
	for _, f := range t.Go {
		if within(f.Dir()) != pkg || f.Test {
			continue
		}
		for n, expr := range constants(f.AST) {
			if n == name {
				return expr
			}
		}
	}
	return nil
}

// constants yields the names and expressions of the constants that a file declares with one.
func constants(f *ast.File) iter.Seq2[string, ast.Expr] {
	return func(yield func(string, ast.Expr) bool) {
		for _, d := range f.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok || g.Tok != token.CONST {
				continue
			}

			for _, s := range g.Specs {
				v := s.(*ast.ValueSpec)
				for i, n := range v.Names {
					if i < len(v.Values) && !yield(n.Name, v.Values[i]) {
						return
					}
				}
			}
		}
	}
}

// plainNumber parses a number written for people: "11,000", "64 KiB".
func plainNumber(s string) constant.Value {
	digits, unit, _ := strings.Cut(s, " ")
	v := constant.MakeFromLiteral(strings.ReplaceAll(digits, ",", ""), token.INT, 0)
	shift, ok := map[string]uint{"": 0, "KiB": 10, "MiB": 20, "GiB": 30}[unit]
	if !ok || v.Kind() != constant.Int {
		return constant.MakeUnknown()
	}
	return constant.Shift(v, token.SHL, shift)
}
