// Package archtest checks the shape of the source tree: which package may import which, how long a
// file or a function may grow, what a package must document.
//
// A rule that only people enforce erodes one exception at a time. A rule that a test enforces is
// discussed when it changes. The test has one table of the packages and their imports, engines.go
// keeps each storage engine in its folder, size.go has the size limits, and this package's test
// checks the whole repository on every `go test ./...`. It only reads sources: it builds nothing,
// needs no network, and takes any [io/fs.FS], which its own tests use to show that each check can
// fail.
//
// The linters (.golangci.yml) decide which third-party and standard packages may be used where.
package archtest

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// Module is the import path of the checked module.
const Module = "plimsoll"

// A Problem is one place where the tree breaks a rule.
type Problem struct {
	Path string // slash-separated, relative to the root of the tree
	Line int    // 0 when the whole file or folder is meant
	Text string // what is wrong and what to do
}

// String returns the problem as file:line: text.
func (p Problem) String() string {
	if p.Line == 0 {
		return p.Path + ": " + p.Text
	}
	return fmt.Sprintf("%s:%d: %s", p.Path, p.Line, p.Text)
}

// A GoFile is one parsed Go source file of the main module.
type GoFile struct {
	Path string // relative to the root of the tree
	Test bool   // a _test.go file
	AST  *ast.File
	Fset *token.FileSet
	// codeLines counts the lines with code up to each line: blank lines and comments are free.
	codeLines []int
}

// Dir returns the folder of the file, which is its package's path within the module ("." for the
// root).
func (f *GoFile) Dir() string { return path.Dir(f.Path) }

// A Tree is the input of the checks.
type Tree struct {
	Go    []*GoFile // Go files of the main module, without testdata
	Texts []Text    // every file, including nested modules and testdata
}

// A Text is a file's bytes.
type Text struct {
	Path  string
	Bytes int64  // the file's whole size
	Data  []byte // nil if it is larger than any file should be
}

// skipped lists folders that are not part of the source: build output, and the version control
// system's folder.
var skipped = []string{".git", "bin", "build", "dist", "tmp"}

// Load reads a source tree. It does not follow symbolic links. It fails if a file cannot be read,
// or is not Go where it should be.
func Load(fsys fs.FS) (*Tree, error) {
	var tree Tree
	ignored := ignoredFiles(fsys)
	nested := map[string]bool{} // folders that are separate modules

	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}

		if d.IsDir() {
			if slices.Contains(skipped, name) {
				return fs.SkipDir
			}
			if _, err := fs.Stat(fsys, path.Join(name, "go.mod")); err == nil && name != "." {
				nested[name] = true
			}
			return nil
		}

		// a linked checkout has a file there
		if !d.Type().IsRegular() || name == ".git" || isIgnored(ignored, name) {
			return nil
		}

		info, err := d.Info()
		if err != nil {
			return err
		}

		if info.Size() > fileBytesMax {
			tree.Texts = append(tree.Texts, Text{Path: name, Bytes: info.Size()})
			return nil
		}

		src, err := fs.ReadFile(fsys, name)
		if err != nil {
			return err
		}

		tree.Texts = append(tree.Texts, Text{Path: name, Bytes: info.Size(), Data: src})
		if path.Ext(name) != ".go" || below(name, nested) || inTestdata(name) {
			return nil
		}

		f, err := parseGo(name, src)
		if err != nil {
			return err
		}

		tree.Go = append(tree.Go, f)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read source tree: %w", err)
	}

	return &tree, nil
}

// ignoredFiles are the patterns of files in .gitignore: files left by builds and measurements are not part of
// the source. Patterns of folders (see skipped) and exceptions are not read.
func ignoredFiles(fsys fs.FS) []string {
	text, _ := fs.ReadFile(fsys, ".gitignore") // without it nothing is ignored
	var out []string
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "#") && !strings.HasPrefix(line, "!") &&
			!strings.HasSuffix(line, "/") {
			out = append(out, line)
		}
	}
	return out
}

// isIgnored reports whether a file matches a pattern. A pattern with a slash matches the path from the
// root, another one only the file's name.
func isIgnored(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		at := path.Base(name)
		if strings.Contains(p, "/") {
			p, at = strings.TrimPrefix(p, "/"), name
		}
		match, err := path.Match(p, at)
		return err == nil && match
	})
}

func parseGo(name string, src []byte) (*GoFile, error) {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, name, src, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	return &GoFile{
		Path:      name,
		Test:      strings.HasSuffix(name, "_test.go"),
		AST:       f,
		Fset:      fset,
		codeLines: countCode(src),
	}, nil
}

func below(name string, folders map[string]bool) bool {
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if folders[dir] {
			return true
		}
	}
	return false
}

func inTestdata(name string) bool {
	return slices.Contains(strings.Split(path.Dir(name), "/"), "testdata")
}

// Rules holds the parts of the checks that differ between trees.
type Rules struct {
	Layers  []Layer
	Engines []EngineName
}

// Check runs all checks and returns the problems sorted by place.
func Check(t *Tree, r Rules) []Problem {
	all := slices.Concat(imports(t, r.Layers), engineNames(t, r.Engines), page(t, r.Layers))
	for _, check := range []func(*Tree) []Problem{Sizes, Names, Docs, TestFlags, Paths, Links, Bounds} {
		all = append(all, check(t)...)
	}
	slices.SortFunc(all, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Text, b.Text))
	})
	return all
}
