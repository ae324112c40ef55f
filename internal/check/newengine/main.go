// Command newengine writes the folder of a new engine, for a contributor to fill in, and prints the lines
// that register it in other files: make new-engine ENGINE=NAME. What it writes compiles, simulates and passes
// the suite for engines. It is not part of the program: its users do not write engines.
package main

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"go/format"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"text/template"
)

//go:embed *.tmpl
var templates embed.FS

// engineName matches valid engine keys: a key is also a package name.
var engineName = regexp.MustCompile(`^[a-z][a-z0-9]{1,30}$`)

func main() {
	if len(os.Args) != 2 {
		fail(errors.New("usage: make new-engine ENGINE=mystore"))
	}
	if err := write(".", os.Args[1], os.Stdout); err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "newengine:", err)
	os.Exit(2)
}

// write writes the files below root. It overwrites nothing.
func write(root, name string, out io.Writer) error {
	if !engineName.MatchString(name) {
		return fmt.Errorf("%q is not an engine's name: want lower-case letters and digits, such as mystore", name)
	}

	dir := filepath.Join("internal", "engine", name)
	// An existing engine has code that no one wants to lose.
	if _, err := os.Stat(filepath.Join(root, dir)); err == nil {
		return fmt.Errorf("%s exists already", dir)
	}
	if err := os.Mkdir(filepath.Join(root, dir), 0o755); err != nil { //nolint:gosec // source code
		return err
	}

	all, err := template.ParseFS(templates, "*.tmpl")
	if err != nil {
		return err
	}

	// Scenarios contain the key; the title is for sentences.
	data := struct{ Key, Title string }{name, strings.ToUpper(name[:1]) + name[1:]}
	for _, file := range []struct{ name, template string }{
		{name + ".go", "engine.go.tmpl"},
		{"model.go", "model.go.tmpl"},
		{name + "_test.go", "engine_test.go.tmpl"},
		{"fields.json", "fields.json.tmpl"},
	} {
		var text bytes.Buffer
		if err := all.ExecuteTemplate(&text, file.template, data); err != nil {
			return err
		}

		content := text.Bytes()
		if filepath.Ext(file.name) == ".go" {
			// Names of different lengths change the alignment of fields and comments.
			if content, err = format.Source(content); err != nil {
				return fmt.Errorf("%s: %w", file.name, err)
			}
		}

		path := filepath.Join(dir, file.name)
		if err := os.WriteFile(filepath.Join(root, path), content, 0o644); err != nil { //nolint:gosec // source code
			return err
		}
		fmt.Fprintln(out, "wrote", path)
	}

	fmt.Fprintf(out, `
Now:
  1. go test ./%[2]s
  2. enter &%[1]s.Engine in All of internal/engine/engine.go, and its row in the table of
     internal/check/archtest/table_test.go; then plimsoll simulate knows the engine
  3. replace every TODO: git grep -n --untracked TODO -- %[2]s
  4. rules: a folder %[2]s/judge with their list, then make new-rule RULE=%[1]s/CLAIM
  5. a line in CHANGELOG.md, the README's table, then make generate
CONTRIBUTING.md, "Add an engine", says which other parts there are.
`, name, dir)
	return nil
}
