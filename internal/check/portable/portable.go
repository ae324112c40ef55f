// Package portable finds code that would make a model produce a different result on another machine, or on
// the same machine the next day.
//
// A run is reproducible from its seed only if every processor computes the same bits. Three things
// in Go break that, and no test on one machine shows any of them:
//
//   - x*y + z may be rounded once instead of twice. On arm64 and others, the compiler fuses the
//     two, also across statements and inlined calls. float64(x*y) + z forbids it.
//   - math.Exp, Log, Pow, Sin and similar functions are written in assembly for some processors and
//     not for others. (Sqrt, Floor, Round and a few more are exact, and the same everywhere.)
//   - range over a map has a different order each time.
//
// [Source] checks packages for all three. It sees only one expression at a time, so [Fused] also checks the
// compiler's output for arm64, which is authoritative for the first.
package portable

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// A Finding is a place that is not portable.
type Finding struct {
	Path string // as printed by the compiler or the go command
	Line int
	Text string // what is there, and what to write instead
}

// String returns the finding in one line.
func (f Finding) String() string { return fmt.Sprintf("%s:%d: %s", f.Path, f.Line, f.Text) }

// A Package is a package as listed by the go command.
type Package struct {
	ImportPath string
	Dir        string
	GoFiles    []string
	Deps       []string
	Export     string // file with its types, as compiled for this machine
	DepOnly    bool   // a dependency, not requested itself
}

// List returns the packages that match patterns, and their dependencies, compiled for this machine.
// Patterns that end in /... may match nothing.
func List(dir string, patterns ...string) ([]Package, error) {
	args := append([]string{"list", "-export", "-deps", "-json=ImportPath,Dir,GoFiles,Deps,Export,DepOnly"},
		patterns...)
	out, err := run(dir, nil, args...)
	if err != nil {
		return nil, err
	}

	var packages []Package
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p Package
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return packages, nil
		} else if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		packages = append(packages, p)
	}
}

// run runs the go command and returns its output; the error contains its messages.
func run(dir string, env []string, args ...string) ([]byte, error) {
	cmd := exec.Command("go", args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go %s: %w\n%s", args[0], err, stderr.Bytes())
	}
	return out, nil
}

var (
	// fusedLine matches a fused instruction in a listing of the compiler: its place and its name.
	fusedLine = regexp.MustCompile(`\(([^()]+):(\d+)\)\s+(FN?M(?:ADD|SUB)[SD]?)\s`)
	// functionLine matches the start of a function in it.
	functionLine = regexp.MustCompile(`^(\S+) STEXT `)
)

// Fused compiles packages for arm64 and returns the products that were fused with a sum.
func Fused(dir string, importPaths ...string) ([]Finding, error) {
	// The listing goes to stderr, and comes from the build cache if nothing has changed.
	args := append([]string{"build", "-gcflags=-S"}, importPaths...)
	cmd := exec.Command("go", args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOOS=linux", "GOARCH=arm64", "CGO_ENABLED=0")
	listing, err := cmd.CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("go build for arm64: %w\n%s", err, tail(listing))
	}
	return readListing(bytes.NewReader(listing))
}

// tail returns the end of a long output.
func tail(b []byte) []byte { return b[max(0, len(b)-4096):] }

// readListing finds fused instructions in the output of the compiler's -S.
func readListing(r io.Reader) ([]Finding, error) {
	var out []Finding
	function, functions := "", 0
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 16<<20) // the data of a package's strings is on one line

	for lines.Scan() {
		if m := functionLine.FindStringSubmatch(lines.Text()); m != nil {
			function = m[1]
			functions++
			continue
		}

		m := fusedLine.FindStringSubmatch(lines.Text())
		if m == nil {
			continue
		}

		var line int
		if _, err := fmt.Sscan(m[2], &line); err != nil {
			return nil, err
		}

		f := Finding{m[1], line,
			fmt.Sprintf("%s in %s: a product is fused with a sum on arm64: write float64(a*b) + c (the product may stand in another statement, or come in by an inlined call)",
				m[3], function)}
		// An inlined function occurs in the listing of each of its callers.
		if !slices.Contains(out, f) {
			out = append(out, f)
		}
	}

	// An empty result must not pass for a clean one.
	if functions == 0 {
		return nil, errors.New("the compiler's listing has no functions: has its format changed?")
	}

	return out, lines.Err()
}

// inexact lists the functions of package math whose results differ between machines. Functions not
// listed are exact (Sqrt, Floor, Round), or take bits apart.
var inexact = strings.Fields(`Acos Acosh Asin Asinh Atan Atan2 Atanh Cbrt Cos Cosh Erf Erfc Erfcinv Erfinv Exp Exp2 Expm1
	Gamma Hypot J0 J1 Jn Lgamma Log Log10 Log1p Log2 Pow Sin Sincos Sinh Tan Tanh Y0 Y1 Yn`)

// Source checks the requested packages of a list, without their tests.
func Source(packages []Package) ([]Finding, error) {
	exports := map[string]string{}
	for _, p := range packages {
		exports[p.ImportPath] = p.Export
	}

	// Types come from the compiler's export data, so dependencies are not checked again.
	fset := token.NewFileSet()
	imports := importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) {
		if exports[path] == "" {
			return nil, fmt.Errorf("%s is not in the list", path)
		}
		return os.Open(exports[path])
	})

	var out []Finding
	for _, p := range packages {
		if p.DepOnly {
			continue
		}

		var files []*ast.File
		for _, name := range p.GoFiles {
			f, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil,
				parser.ParseComments|parser.SkipObjectResolution)
			if err != nil {
				return nil, err
			}
			files = append(files, f)
		}

		found, err := check(fset, p.ImportPath, files, imports)
		if err != nil {
			return nil, err
		}

		out = append(out, found...)
	}

	return out, nil
}

// check checks one package.
func check(fset *token.FileSet, path string, files []*ast.File, imports types.Importer) ([]Finding, error) {
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}}
	if _, err := (&types.Config{Importer: imports}).Check(path, fset, files, info); err != nil {
		return nil, err
	}

	var out []Finding
	for _, f := range files {
		excused := excuses(fset, f)
		ast.Inspect(f, func(n ast.Node) bool {
			if n == nil {
				return false
			}
			at := fset.Position(n.Pos())
			if text := judge(info, n, excused[at.Line]); text != "" {
				out = append(out, Finding{at.Filename, at.Line, text})
			}
			return true
		})
	}

	return out, nil
}

// excuses returns the lines for which a comment says why the order of a map does not matter: its
// own line and the next.
func excuses(fset *token.FileSet, f *ast.File) map[int]bool {
	const words = "order does not matter: "
	out := map[int]bool{}
	for _, g := range f.Comments {
		for _, c := range g.List {
			if i := strings.Index(c.Text, words); i >= 0 && len(c.Text) > i+len(words) {
				out[fset.Position(c.Pos()).Line] = true
				out[fset.Position(g.End()).Line+1] = true
			}
		}
	}
	return out
}

// judge describes what is wrong with a node, "" if nothing is.
func judge(info *types.Info, n ast.Node, excused bool) string {
	switch n := n.(type) {
	case *ast.SelectorExpr:
		if f, ok := info.Uses[n.Sel].(*types.Func); ok && f.Pkg() != nil && f.Pkg().Path() == "math" &&
			slices.Contains(inexact, f.Name()) {
			return "math." + f.Name() +
				" differs between processors: use whole numbers, a table made of them, or square roots"
		}
	case *ast.RangeStmt:
		if _, ok := info.TypeOf(n.X).Underlying().(*types.Map); ok && !excused {
			return "range over a map: sort its keys, or keep a slice next to it, or say \"// order does not matter: why\""
		}
	case *ast.BinaryExpr:
		if (n.Op == token.ADD || n.Op == token.SUB) && (product(info, n.X) || product(info, n.Y)) {
			return "a product may be fused with the sum: write float64(a*b) + c"
		}
	case *ast.AssignStmt:
		if (n.Tok == token.ADD_ASSIGN || n.Tok == token.SUB_ASSIGN) && product(info, n.Rhs[0]) {
			return "a product may be fused with the sum: write c += float64(a*b)"
		}
	}

	return ""
}

// product reports whether an expression is a product of floats that is computed at run time.
func product(info *types.Info, e ast.Expr) bool {
	for {
		switch x := e.(type) {
		case *ast.ParenExpr:
			e = x.X
		case *ast.UnaryExpr:
			e = x.X
		case *ast.BinaryExpr:
			t, ok := info.TypeOf(x).Underlying().(*types.Basic)
			return ok && t.Info()&types.IsFloat != 0 && x.Op == token.MUL && info.Types[x].Value == nil
		default:
			return false
		}
	}
}
