package portable

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"
)

// The program is also released for macOS, without the lab. The test only type-checks the source, which takes
// a fraction of the time that compiling does; the release build compiles it.
func TestCompilesOnOtherSystems(t *testing.T) {
	if testing.Short() {
		t.Skip("checks types of all dependencies; not with -short")
	}

	const goos = "darwin"
	config := &packages.Config{
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports | packages.NeedDeps |
			packages.NeedTypes | packages.NeedTypesInfo | packages.NeedSyntax | packages.NeedModule,
		Dir:       root,
		Env:       append(os.Environ(), "GOOS="+goos, "GOARCH=arm64", "CGO_ENABLED=0"),
		ParseFile: withoutForeignBodies,
	}

	list, err := packages.Load(config, "./cmd/plimsoll")
	if err != nil {
		t.Fatal(err)
	}

	files := 0
	packages.Visit(list, nil, func(p *packages.Package) {
		if p.Module == nil || !p.Module.Main {
			return
		}
		files += len(p.CompiledGoFiles)
		for _, e := range p.Errors {
			t.Errorf("on %s: %s", goos, e)
		}
	})

	if files < 100 {
		t.Errorf("the program is of %d files: what was checked?", files)
	}
}

// withoutForeignBodies parses a file and drops the function bodies of other modules.
func withoutForeignBodies(fset *token.FileSet, name string, src []byte) (*ast.File, error) {
	f, err := parser.ParseFile(fset, name, src, parser.SkipObjectResolution)
	if err != nil || !strings.Contains(name, "@") { // paths in the module cache contain versions
		return f, err
	}
	for _, d := range f.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok {
			fn.Body = nil
		}
	}
	return f, nil
}
