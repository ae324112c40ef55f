// Package archtest keeps the shape of the source tree: who may import whom, how
// long a file or a function may grow, what a package must say of itself.
//
// A rule that only people keep erodes one exception at a time; a rule that a
// test keeps is discussed when it changes. The test holds one table of the
// packages and what each imports, engines.go keeps each storage engine in its
// folder, size.go has the bounds on size, and the test of this package holds the
// whole repository to them on every `go test ./...`. It reads sources only: it
// builds nothing, needs no network, and takes any [io/fs.FS], which is how its
// own tests show each check failing.
//
// What third-party and standard packages may be used where is another matter, kept by
// the linters (.golangci.yml).
package archtest

import (
	"bytes"
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

// Module is the import path of the module the checks are about.
const Module = "plimsoll"

// A Problem is one place where the tree breaks a rule.
type Problem struct {
	Path string // slash-separated, relative to the root of the tree
	Line int    // 0 when the whole file or folder is meant
	Text string // what is wrong and what to do
}

// String gives the problem as file:line: text.
func (p Problem) String() string {
	if p.Line == 0 {
		return p.Path + ": " + p.Text
	}
	return fmt.Sprintf("%s:%d: %s", p.Path, p.Line, p.Text)
}

// A GoFile is one parsed Go source file of the main module.
type GoFile struct {
	Path  string // relative to the root of the tree
	Lines int
	Test  bool // a _test.go file
	AST   *ast.File
	Fset  *token.FileSet
}

// Dir is the folder the file lies in, which is its package's path within the
// module ("." for the root).
func (f *GoFile) Dir() string { return path.Dir(f.Path) }

// A Tree is what the checks look at.
type Tree struct {
	Go    []*GoFile // Go files of the main module, without testdata
	Texts []Text    // every file, nested modules and testdata included
}

// A Text is a file's bytes.
type Text struct {
	Path  string
	Bytes int64  // the file's whole size
	Data  []byte // nil when it is larger than any file should be
}

// skipped are folders that are not part of the source: built things, and what the version
// control system keeps.
var skipped = []string{".git", "bin", "build", "dist", "tmp"}

// Load reads a source tree. Symbolic links are not followed. It fails on a
// file that cannot be read or is not Go where it should be.
func Load(fsys fs.FS) (*Tree, error) {
	var t Tree
	nested := map[string]bool{} // folders that are modules of their own
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
		if !d.Type().IsRegular() {
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if info.Size() > fileBytesMax {
			t.Texts = append(t.Texts, Text{Path: name, Bytes: info.Size()})
			return nil
		}
		src, err := fs.ReadFile(fsys, name)
		if err != nil {
			return err
		}
		t.Texts = append(t.Texts, Text{Path: name, Bytes: info.Size(), Data: src})
		if path.Ext(name) != ".go" || below(name, nested) || inTestdata(name) {
			return nil
		}
		f, err := parseGo(name, src)
		if err != nil {
			return err
		}
		t.Go = append(t.Go, f)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read source tree: %w", err)
	}
	return &t, nil
}

func parseGo(name string, src []byte) (*GoFile, error) {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, name, src, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	return &GoFile{
		Path:  name,
		Lines: bytes.Count(src, []byte("\n")),
		Test:  strings.HasSuffix(name, "_test.go"),
		AST:   f,
		Fset:  fset,
	}, nil
}

// below reports whether name lies in one of the folders.
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

// Rules are what differs from one tree to another.
type Rules struct {
	Layers  []Layer
	Engines []EngineName
}

// Check runs every check and gives the problems sorted by place.
func Check(t *Tree, r Rules) []Problem {
	all := slices.Concat(imports(t, r.Layers), engineNames(t, r.Engines), page(t, r.Layers))
	for _, check := range []func(*Tree) []Problem{Sizes, Names, Docs, Paths, Links, Bounds} {
		all = append(all, check(t)...)
	}
	slices.SortFunc(all, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Text, b.Text))
	})
	return all
}
