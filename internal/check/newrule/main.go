// Command newrule writes the three files that a rule consists of, for a contributor to fill in, and prints
// the lines that register it in other files: make new-rule RULE=GROUP/CLAIM. It is not part of the program:
// its users do not write rules.
package main

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"go/format"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"text/template"
)

//go:embed *.tmpl
var templates embed.FS

// ruleID matches valid rule names.
var ruleID = regexp.MustCompile(`^[a-z]+(-[a-z]+)*/[a-z0-9]+(-[a-z0-9]+)*$`)

func main() {
	if len(os.Args) != 2 {
		fail(errors.New("usage: make new-rule RULE=disk/too-warm"))
	}
	if err := write(".", os.Args[1], os.Stdout); err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "newrule:", err)
	os.Exit(2)
}

// A names holds all forms of a rule's name that the templates need.
type names struct {
	ID, Group, Claim string // "postgres/short-timeout", "postgres", "short-timeout"
	Func             string // "shortTimeout"
	Core             bool   // it belongs to no engine
	Slug             string // "postgres-short-timeout"
	Dir, Enter       string // the folder of the rule, and the file that lists the rules there
}

// namesOf derives all forms of a rule's name. A group that is not an engine's folder belongs to the core.
func namesOf(root, id string) (names, error) {
	if !ruleID.MatchString(id) {
		return names{}, fmt.Errorf("%q is not a rule's name: want GROUP/CLAIM, such as disk/too-warm", id)
	}

	group, claim, _ := strings.Cut(id, "/")
	n := names{ID: id, Group: group, Claim: claim, Slug: group + "-" + claim}
	words := strings.Split(claim, "-")
	n.Dir = filepath.Join("internal", "engine", group, "judge")
	n.Enter = filepath.Join(n.Dir, "judge.go")

	if _, err := os.Stat(filepath.Join(root, n.Dir)); errors.Is(err, fs.ErrNotExist) {
		n.Core, n.Dir = true, filepath.Join("internal", "judge", "corerules")
		n.Enter = filepath.Join(n.Dir, "pack.go")
		words = append([]string{group}, words...) // all groups of the core share a package
	}

	// Go's mixed caps; the function is not exported, so the first word stays lower-case.
	for i, w := range words {
		if i > 0 {
			w = strings.ToUpper(w[:1]) + w[1:]
		}
		n.Func += w
	}
	return n, nil
}

// write writes the files below root. It overwrites nothing.
func write(root, id string, out io.Writer) error {
	named, err := namesOf(root, id)
	if err != nil {
		return err
	}

	file := strings.ReplaceAll(named.Claim, "-", "_") + ".go"
	// Core rules of all groups share one folder, so their files begin with the group.
	if named.Core {
		file = named.Group + "_" + file
	}
	files := []struct{ path, template string }{
		{filepath.Join(named.Dir, file), "rule.go.tmpl"},
		{filepath.Join(named.Dir, "testdata", named.Slug+".test"), "rule.test.tmpl"},
		{filepath.Join("docs", "rules", named.Slug+".md"), "rule.md.tmpl"},
	}

	// All are checked before one is written: half a rule would block the next attempt.
	for _, f := range files {
		if _, err := os.Stat(filepath.Join(root, f.path)); err == nil {
			return fmt.Errorf("%s exists already", f.path)
		}
	}

	all, err := template.ParseFS(templates, "*.tmpl")
	if err != nil {
		return err
	}
	for _, f := range files {
		var text bytes.Buffer
		if err := all.ExecuteTemplate(&text, f.template, named); err != nil {
			return err
		}
		content := text.Bytes()
		if filepath.Ext(f.path) == ".go" {
			if content, err = format.Source(content); err != nil {
				return fmt.Errorf("%s: %w", f.path, err)
			}
		}
		if err := os.WriteFile(filepath.Join(root, f.path), content, 0o644); err != nil { //nolint:gosec // source code
			return err
		}
		fmt.Fprintln(out, "wrote", f.path)
	}

	fmt.Fprintf(out, `
Now:
  1. enter %s() in %s
  2. replace every TODO: git grep -n TODO -- %s docs/rules/%s.md
  3. make rule RULE=%s
  4. a row in docs/rules/coverage.md, a line in CHANGELOG.md, then make generate
CONTRIBUTING.md, "Add a rule", says what each part is for.
`, named.Func, named.Enter, named.Dir, named.Slug, named.ID)
	return nil
}
