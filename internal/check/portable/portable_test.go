package portable

import (
	"go/ast"
	"go/build"
	"go/importer"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// root is the repository's root, relative to this package's folder.
const root = "../../.."

// models lists the packages whose results depend only on a seed.
var models = []string{
	"./internal/base/random/...", "./internal/base/vtime/...", "./internal/model/volume/...", "./internal/model/catalog", "./internal/model/workload/...",
	"./internal/model/kernel/...", "./internal/model/database/...", "./internal/engine/mongodb/model", "./internal/engine/etcd/model", "./internal/engine/postgres/model",
	"./internal/engine/iris/model", "./internal/engine/streams/model", "./internal/model/simulate/...",
}

const module = "plimsoll"

func list(t *testing.T) []Package {
	t.Helper()
	packages, err := List(root, models...)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"/internal/base/random", "/internal/base/vtime", "/internal/model/volume", "/internal/model/workload"} {
		if !slices.ContainsFunc(packages, func(p Package) bool { return p.ImportPath == module+name && !p.DepOnly }) {
			t.Errorf("%s is not among the packages: what is checked?", name)
		}
	}
	// Conformance suites and similar packages only help tests.
	return slices.DeleteFunc(packages, func(p Package) bool { return !p.DepOnly && strings.HasSuffix(p.ImportPath, "test") })
}

func TestModelsSource(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles packages; not with -short")
	}
	found, err := Source(list(t))
	if err != nil {
		t.Fatal(err)
	}
	report(t, found)
}

func TestModelsCompiled(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles for another machine; not with -short")
	}

	var paths []string
	for _, p := range list(t) {
		switch {
		case p.DepOnly:
		case slices.Contains(p.Deps, module+"/internal/record/recording") && os.Getenv("CI_FULL") == "":
			// With all dependencies, this takes a minute the first time.
			t.Logf("%s is left out, it needs package recording: CI_FULL=1 go test ./internal/check/portable", p.ImportPath)
		default:
			paths = append(paths, p.ImportPath)
		}
	}

	found, err := Fused(root, paths...)
	if err != nil {
		t.Fatal(err)
	}

	report(t, found)
}

func report(t *testing.T, found []Finding) {
	t.Helper()
	absolute, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range found {
		if path, err := filepath.Rel(absolute, f.Path); err == nil && !strings.HasPrefix(path, "..") {
			f.Path = path
		}
		t.Error(f)
	}
}

// The compiler does fuse, and the listing shows it, also through an inlined call. Without this
// test, a change of the listing's format would let everything pass.
func TestFusedIsFound(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles for another machine; not with -short")
	}

	found, err := Fused(".", "./testdata/fused")
	if err != nil {
		t.Fatal(err)
	}

	var got []string
	for _, f := range found {
		got = append(got, strings.TrimPrefix(filepath.Base(f.Path), "fused.go"))
		if !strings.Contains(f.Text, "plimsoll/internal/check/portable/testdata/fused.") {
			t.Errorf("%s: which function?", f)
		}
	}

	functions := map[string]bool{}
	for _, f := range found {
		functions[f.Text[strings.Index(f.Text, "fused.")+6:strings.Index(f.Text, ": ")]] = true
	}

	for _, want := range []string{"Sum", "Difference", "Inlined", "Statements"} {
		if !functions[want] {
			t.Errorf("%s is fused, but not found: %v", want, found)
		}
	}

	for _, portable := range []string{"Converted", "Whole"} {
		if functions[portable] {
			t.Errorf("%s is portable, but found: %v", portable, found)
		}
	}

	if len(got) == 0 {
		t.Error("nothing is found")
	}
}

func TestSourceFindings(t *testing.T) {
	const text = `package p

import "math"

func f(a, b, c float64, n, m int, s map[string]int, l []int) (float64, int) {
	x := a*b + c
	x = c - (a * b)
	x = float64(a*b) + c
	x += a * b
	x -= -a * b
	x += float64(a * b)
	x = a*b/c + 1
	x = c + 2*3
	x += math.Exp(x)
	x += math.Sqrt(x) + math.Round(x)
	n = n*m + n
	for k := range s {
		n += len(k)
	}
	for range s { // order does not matter: it counts
		n++
	}
	// order does not matter: whole numbers
	// are added.
	for _, v := range s {
		n += v
	}
	// order does not matter:
	for range s {
		n++
	}
	for range l {
		n++
	}
	log := math.Log
	return log(x), n
}
`

	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "p.go", text, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}

	if build.Default.GOROOT == "" { // empty in a test that is built with -trimpath
		root, err := exec.Command("go", "env", "GOROOT").Output()
		if err != nil {
			t.Fatal(err)
		}
		build.Default.GOROOT = strings.TrimSpace(string(root))
	}

	found, err := check(fset, "p", []*ast.File{f}, importer.ForCompiler(fset, "source", nil))
	if err != nil {
		t.Fatal(err)
	}

	var got []int
	for _, f := range found {
		got = append(got, f.Line)
	}

	slices.Sort(got)
	if want := []int{6, 7, 9, 10, 14, 17, 29, 35}; !slices.Equal(got, want) {
		t.Errorf("lines %v, want %v:\n%v", got, want, found)
	}
}

func TestListingMustHaveFunctions(t *testing.T) {
	if found, err := readListing(strings.NewReader("# plimsoll/random\nsomething else\n")); err == nil {
		t.Errorf("a listing without functions is fine: %v", found)
	}
}
