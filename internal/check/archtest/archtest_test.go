package archtest

import (
	"flag"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// root is the repository's root, relative to this package's folder.
const root = "../../.."

var update = flag.Bool("update", false, "write the table of packages anew")

// engines lists the words that identify an engine in code. Whatever is specific to one engine
// belongs in its folder.
var engines = []EngineName{
	{Folder: "mongodb", Within: "mongo"}, {Folder: "mongodb", Within: "wiredtiger"}, {Folder: "mongodb", Exactly: "wt"}, {Folder: "mongodb", Within: "oplog"},
	{Folder: "etcd", Within: "etcd"},
	{Folder: "postgres", Within: "postgres"}, {Folder: "postgres", Exactly: "pg"},
	{Folder: "iris", Within: "intersystems"}, {Folder: "iris", Exactly: "iris"}, {Folder: "iris", Exactly: "IRIS"},
	{Folder: "applog", Within: "applog"},
	{Folder: "others", Within: "innodb"}, {Folder: "others", Within: "mysql"}, {Folder: "others", Within: "mariadb"},
	{Folder: "others", Within: "cockroach"},
	// "Streams" is also a term of a probe, so the word alone does not mean the engine.
	{Folder: "streams", Within: "engine/streams"},
}

// writePage writes the table into the page, in the repository and in the checked tree.
func writePage(t *testing.T, tree *Tree) {
	for i, f := range tree.Texts {
		if f.Path != packagesPage {
			continue
		}
		text, err := WithTable(string(f.Data), layers)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path.Join(root, packagesPage), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		tree.Texts[i].Data = []byte(text)
	}
}

// TestTree checks the repository.
func TestTree(t *testing.T) {
	tree, err := Load(os.DirFS(root))
	if err != nil {
		t.Fatal(err)
	}
	// A check of an empty tree would pass; this package alone has more.
	if len(tree.Go) < 5 || len(tree.Texts) < len(tree.Go) {
		t.Fatalf("found %d Go files and %d files in all: is %q the repository's root?", len(tree.Go), len(tree.Texts), root)
	}
	if *update {
		writePage(t, tree)
	}
	for _, p := range Check(tree, Rules{Layers: layers, Engines: engines}) {
		t.Error(p)
	}
}

// TestLayersAreOrdered checks the table's own rule: a row names only rows above it.
func TestLayersAreOrdered(t *testing.T) {
	for _, p := range disorder(layers) {
		t.Error(p)
	}
	if got := disorder([]Layer{{"a", "", []string{"b"}}, {"b", "", nil}, {"b", "", []string{"nowhere"}}}); len(got) != 3 {
		t.Errorf("an upward import, a double row and an unknown one: %d problems, want 3: %q", len(got), got)
	}
	for _, l := range layers {
		if l.Idea == "" {
			t.Errorf("row %s has no idea", l.Package)
		}
	}
}

func disorder(layers []Layer) []string {
	var out []string
	for i, l := range layers {
		above := layers[:i]
		for _, p := range l.Imports {
			if layerOf(above, p) < 0 {
				out = append(out, fmt.Sprintf("row %s names %s, which is no row above it", l.Package, p))
			}
		}
		if slices.ContainsFunc(above, func(a Layer) bool { return a.Package == l.Package }) {
			out = append(out, "two rows for "+l.Package)
		}
	}
	return out
}

// doc returns a package clause with a doc comment that Docs accepts.
func doc(name string) string {
	return "// Package " + name + " is here so that a check has something to look at, with words enough to teach it.\npackage " + name + "\n"
}

var bounds = doc("units") + "const (\n\ta = 64 << 10\n\tb = 1e3\n\td = a.x\n)\nvar c = 1\n"

// some is a table of packages for the trees below.
var some = []Layer{
	{"units", "", nil},
	{"volume", "", []string{"units"}},
	{"workload", "", []string{"units"}},
	{"observe/source", "", []string{"volume"}},
	{"observe/*", "", []string{"observe/source"}},
	{"engine/*/model", "", []string{"units"}},
	{"engine/log", "", nil},
	{"engine", "", nil},
	{"cmd/x", "", []string{"volume"}},
	{"util", "", nil},
	{"helpers", "", nil},
}

func lines(n int) string { return strings.Repeat("\t_ = 0\n", n) }

// TestChecksCanFail shows, for each check, a tree it accepts and one it rejects.
func TestChecksCanFail(t *testing.T) {
	home := "/" + "home/someone/x"
	for _, tt := range []struct {
		name  string
		files map[string]string
		want  []string // prefix of each problem, in order
	}{
		{"clean", map[string]string{"units/a.go": doc("units"), "volume/a.go": doc("volume") + `import _ "plimsoll/units"`}, nil},
		{
			"upward import",
			map[string]string{"units/a.go": doc("units") + "import _ \"plimsoll/volume\"\n"},
			[]string{"units/a.go:3: units may not import volume"},
		},
		{
			"sideways import under a pattern",
			map[string]string{"observe/a/a.go": doc("a"), "observe/b/b.go": doc("b") + "import (\n\t_ \"plimsoll/observe/source\"\n\t_ \"plimsoll/observe/a\"\n)\n"},
			[]string{"observe/b/b.go:5: observe/b may not import observe/a"},
		},
		{
			"a row of its own goes before a pattern",
			map[string]string{"observe/source/a.go": doc("source") + "import _ \"plimsoll/units\"\n"},
			[]string{"observe/source/a.go:3: observe/source may not import units"},
		},
		{"a test may import anything", map[string]string{"units/a.go": doc("units"), "units/a_test.go": "package units\nimport _ \"plimsoll/cmd/plimsoll\"\n"}, nil},
		{"a pattern in the middle", map[string]string{"internal/engine/log/model/a.go": doc("model") + "import _ \"plimsoll/volume\"\n"}, []string{"internal/engine/log/model/a.go:3: engine/log/model may not import volume"}},
		{"unlisted package", map[string]string{"novel/a.go": doc("novel"), "novel/b.go": "package novel\n"}, []string{"novel: package without a row"}},
		{"nested modules are on their own", map[string]string{"bench/go.mod": "module b\n", "bench/x/a.go": "package util\n"}, nil},
		{"testdata is no source", map[string]string{"units/testdata/a.go": "not go at all"}, nil},

		{"long file", map[string]string{"units/a.go": doc("units") + strings.Repeat("var _ = 0\n", fileLinesMax)}, []string{"units/a.go: 451 lines of code, over 450"}},
		{"comments and blank lines are free", map[string]string{"units/a.go": doc("units") + strings.Repeat("\n// why\n", fileLinesMax)}, nil},
		{"long test file", map[string]string{"units/a.go": doc("units"), "units/a_test.go": "package units\n" + strings.Repeat("var _ = 0\n", fileLinesMax)}, nil},
		{"long function", map[string]string{"units/a.go": doc("units") + "func f() {\n" + lines(functionLinesMax-1) + "}\n"}, []string{"units/a.go:3: function f has 91 lines of code"}},
		{"function at the limit", map[string]string{"units/a.go": doc("units") + "func f() {\n" + lines(functionLinesMax-2) + "}\n"}, nil},
		{"generated", map[string]string{"units/a.go": doc("units"), "units/b.go": "// Code generated by x. DO NOT EDIT.\n\npackage units\n" + strings.Repeat("var _ = 0\n", fileLinesMax)}, nil},
		{"big file", map[string]string{"examples/a.bin": strings.Repeat("x", fileBytesMax+1)}, []string{"examples/a.bin: 2097153 bytes, over 2097152"}},

		{"drawer", map[string]string{"internal/util/a.go": doc("util")}, []string{"internal/util: package util: name it"}},
		{"drawer by folder", map[string]string{"internal/helpers/a.go": doc("assist")}, []string{"internal/helpers: package assist: name it"}},

		{"no doc", map[string]string{"units/a.go": "package units\n"}, []string{"units: package without a doc comment"}},
		{"curt doc", map[string]string{"units/a.go": "// Package units has units.\npackage units\n"}, []string{"units: package doc of 4 words"}},
		{"doc under another name", map[string]string{"units/a.go": strings.Replace(doc("units"), "Package units", "Package volume", 1)}, []string{"units: package doc should start"}},
		{"doc in one of two files", map[string]string{"units/a.go": "package units\n", "units/b.go": doc("units")}, nil},
		{"only under a private tag", map[string]string{"a.go": "//go:build deps\n\npackage plimsoll\n"}, nil},
		{"only on some systems", map[string]string{"units/a.go": "//go:build linux && !cgo\n\npackage units\n"}, []string{"units: package without a doc comment"}},

		{"a test's flag", map[string]string{"units/a.go": doc("units"), "units/a_test.go": "package units\nvar update = flag.Bool(\"update\", false, \"write\")\nvar n = flag.Int(\"n\", 1, \"tries\")\n"}, []string{"units/a_test.go:3: test flag -n"}},
		{"a test's flag in a variable", map[string]string{"units/a.go": doc("units"), "units/a_test.go": "package units\nfunc init() {\n\tflag.IntVar(&n, \"n\", 1, \"tries\")\n}\n"}, []string{"units/a_test.go:3: test flag -n"}},

		{"machine path in text", map[string]string{"docs/a.md": "first\nsee " + home + " for more\n"}, []string{"docs/a.md:2: "}},
		{"machine path in a nested module", map[string]string{"bench/go.mod": "module b\nreplace a => " + home + "\n"}, []string{"bench/go.mod:2:"}},
		{"a URL is no path", map[string]string{"docs/a.md": "https://example.com" + home}, nil},
		{"no text", map[string]string{"docs/a.bin": "\x00 " + home}, nil},

		{"page", map[string]string{"units/a.go": doc("units"), packagesPage: "# A\n" + tableBegin + PageTable(some) + tableEnd + "more\n"}, nil},
		{"page with another table", map[string]string{packagesPage: tableBegin + "| `units` | u | - |\n" + tableEnd}, []string{packagesPage + ": the table of packages is not that"}},
		{"page without a table", map[string]string{packagesPage: "# A\n"}, []string{packagesPage + ": " + packagesPage + " has no lines"}},

		{"an engine in its folder", map[string]string{"internal/engine/log/a.go": doc("log") + "var mongo = \"mongod\"\n"}, nil},
		{"an engine in the list", map[string]string{"internal/engine/a.go": doc("engine") + "var mongo = 1\n"}, nil},
		{"an engine's identifier", map[string]string{"units/a.go": doc("units") + "var ofMongoDB = 1\n"}, []string{"units/a.go:3: ofMongoDB names an engine"}},
		{"an engine's string", map[string]string{"units/a.go": doc("units") + "var a = `the MongoDB of somebody who has a long name for it`\n"}, []string{"units/a.go:3: `the MongoDB of somebody who has a long ... names an engine"}},
		{"a word that is one engine's", map[string]string{"units/a.go": doc("units") + "var a, b, wt = \"wt\", \"wts\", 1\n"}, []string{"units/a.go:3: \"wt\" names an engine"}},
		{"an engine in a comment or a test", map[string]string{"units/a.go": doc("units") + "// as mongod does\n", "units/a_test.go": "package units\nvar mongod = 1\n"}, nil},

		{"links", map[string]string{"docs/a.md": "[a](b.md) [b](../docs) [c](#x) [d](b.md#y-z) [e](https://example.com/x)\n# X\n", "docs/b.md": "## Y, z\n"}, nil},
		{"a command", map[string]string{"docs/a.md": "```sh\ngcloud --format 'value[separator=\"=\"](name,value)'\n```\n"}, nil},
		{"dead link", map[string]string{"docs/a.md": "one\n[a](b.md), [b](c.md#x)", "docs/b.md": ""}, []string{"docs/a.md:2: link to c.md#x"}},
		{"dead anchors", map[string]string{"docs/a.md": "[a](#x)\n[b](b.md#y)", "docs/b.md": "```\n# y\n```\n"}, []string{"docs/a.md:1: link to #x", "docs/a.md:2: link to b.md#y"}},
		{"link out of the tree", map[string]string{"a.md": "[a](../b.md)"}, []string{"a.md:1: link to ../b.md"}},

		{"bounds", map[string]string{"units/a.go": bounds, boundsPage: "| `units.a` | 64 KiB | x |\n| `units.b` | 1,000 | x |\n"}, nil},
		{"bounds that are not so", map[string]string{"units/a.go": bounds, boundsPage: "| `units.a` | 65 KiB | x |\n| `units.b` | about 1,000 | x |\n| `units.c` | 1 | x |\n| `units.d` | 1 | x |\n"}, []string{
			boundsPage + ":1: units.a is 65536, not 65 KiB", boundsPage + ":2: units.b is 1000, not about",
			boundsPage + ":3: units.c is not a constant of the source", boundsPage + ":4: units.d is a.x, not a number",
		}},

		{"built things", map[string]string{"bin/a": home, "tmp/a.go": "package util"}, nil},
		{"what git ignores", map[string]string{".gitignore": "# built\n/program\n*.prof\n/a/\n", "program": home, "units/cpu.prof": home, "units/a.go": doc("units")}, nil},
		{"of that name elsewhere", map[string]string{".gitignore": "/program\n", "units/program": home, "units/a.go": doc("units")}, []string{"units/program:1: "}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			fsys := fstest.MapFS{"go.mod": {Data: []byte("module plimsoll\n")}}
			for name, text := range tt.files {
				fsys[name] = &fstest.MapFile{Data: []byte(text)}
			}

			tree, err := Load(fsys)
			if err != nil {
				t.Fatal(err)
			}

			got := Check(tree, Rules{Layers: some, Engines: []EngineName{{Folder: "log", Within: "mongo"}, {Folder: "log", Exactly: "wt"}}})

			// The table has more packages than these few.
			got = slices.DeleteFunc(got, func(p Problem) bool { return p.Path == tableFile })
			if !slices.EqualFunc(got, tt.want, func(p Problem, want string) bool { return strings.HasPrefix(p.String(), want) }) {
				t.Errorf("problems %q\nwant     %q", got, tt.want)
			}
		})
	}
}

// TestUnused shows that an entry of the table that the tree does not need is reported.
func TestUnused(t *testing.T) {
	tree, err := Load(fstest.MapFS{"units/a.go": {Data: []byte(doc("units"))}, "internal/volume/a.go": {Data: []byte(doc("volume"))}})
	if err != nil {
		t.Fatal(err)
	}
	got := Check(tree, Rules{Layers: []Layer{{"units", "", nil}, {"latency", "", nil}, {"volume", "", []string{"units"}}}})
	want := []string{"latency is not in the source: drop its row", "volume does not import units: drop the grant"}
	if !slices.EqualFunc(got, want, func(p Problem, text string) bool { return p.Text == text }) {
		t.Errorf("problems %q, want %q", got, want)
	}
}

func TestLoadRefuses(t *testing.T) {
	_, err := Load(fstest.MapFS{"units/a.go": {Data: []byte("package units\nfunc {")}})
	if err == nil || !strings.Contains(err.Error(), "units/a.go:2") {
		t.Errorf("error %v, want one that names units/a.go:2", err)
	}
}

// TestLoadFollowsNoLinks ensures that Load follows a link neither out of the tree nor in a cycle.
func TestLoadFollowsNoLinks(t *testing.T) {
	dir := t.TempDir()
	if err := os.Symlink(dir, path.Join(dir, "loop")); err != nil {
		t.Skip("no symbolic links here:", err)
	}
	tree, err := Load(os.DirFS(dir))
	if err != nil || len(tree.Texts) != 0 {
		t.Errorf("Load = %v files, error %v; want none", len(tree.Texts), err)
	}
}
