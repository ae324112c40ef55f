package archtest

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
)

// A Layer is one row of the table of packages.
type Layer struct {
	// Package is a path within the module; a last element "*" means every
	// package directly below, unless it has a row of its own.
	Package string
	// Imports are the packages of this module it may import, of rows above its
	// own; nil means none. A last element "*" as for Package.
	Imports []string
}

// Layers is the table of packages, from those that need nothing to those that
// join everything. A package imports only what its row names, and a row names
// only rows above it, so that nobody has to look further up than down to
// understand a package. (Test files may import anything: Go itself forbids
// cycles.) A new package gets a row here and in ARCHITECTURE.md.
var Layers = []Layer{
	{"units", nil},
	{"internal/*", nil},

	// What happened: the series of a run, and who tells them.
	{"recording", []string{"units", "internal/*"}},
	{"timeline", []string{"units", "recording"}},
	{"observe/source", []string{"recording"}},
	{"observe/*", []string{"units", "internal/*", "recording", "observe/source"}},
	{"observe/etcd", []string{"recording", "observe/source", "observe/exposition"}},       // its members' pages
	{"observe/mongodb", []string{"units", "recording", "observe/source", "observe/ftdc"}}, // what a mongod collects is FTDC
	{"observe/ftdc/ftdctest", []string{"observe/ftdc"}},                                   // makes captures for tests
	{"observe", []string{"units", "internal/*", "recording", "observe/source", "observe/*"}},

	// What may happen: models that take the time and give an answer. They know no
	// recording. (Rows here come before their packages: the direction is settled first.)
	{"problem", nil},
	{"shellword", nil},
	{"random", nil},
	{"vtime", nil},
	{"latency", []string{"units", "vtime"}},
	{"volume", []string{"units", "random", "vtime"}},
	{"volume/volumetest", []string{"units", "random", "vtime", "volume"}}, // the conformance suite
	{"catalog", []string{"units", "problem", "random", "vtime", "volume"}},
	{"catalog/*", []string{"units", "volume", "catalog"}}, // makes the embedded table
	{"workload", []string{"units", "problem", "random", "vtime"}},
	{"linux", []string{"units", "problem", "random", "vtime", "volume"}},
	{"engine", []string{"units", "random", "vtime", "volume", "workload", "linux"}},
	{"engine/*", []string{"units", "problem", "random", "vtime", "volume", "workload", "linux", "engine"}},
	{"scenario", []string{"units", "problem", "random", "volume", "catalog", "workload", "linux", "engine", "engine/*"}},
	{"simulate", []string{"units", "problem", "random", "vtime", "latency", "recording", "volume", "catalog", "workload", "linux", "engine", "engine/*", "scenario"}},

	// Why: the rule pack and those that run it.
	{"rules", []string{"units", "recording", "timeline"}},
	{"diagnose", []string{"units", "internal/*", "recording", "timeline", "rules"}},
	{"rules/ruletest", []string{"recording", "rules", "diagnose"}},
	{"fleet", []string{"units", "recording", "rules", "diagnose", "catalog"}},
	{"fleet/alerts", []string{"rules"}},
	{"fit", []string{"units", "recording", "timeline", "rules", "diagnose", "catalog", "engine/*"}},
	{"plan", []string{"units", "problem", "volume", "catalog", "workload", "linux", "engine", "engine/*", "scenario", "simulate"}},
	{"emit", []string{"units", "problem", "shellword", "catalog", "engine/*", "scenario"}}, // of a plan it reads the JSON
	{"probe", []string{"units", "internal/*", "problem", "random", "vtime", "volume", "catalog", "workload", "latency"}},

	// The lab: real engines on emulated volumes.
	{"lab", []string{"units", "recording", "observe/source", "workload", "scenario"}},
	{"lab/disk", []string{"units", "problem", "random", "vtime", "volume"}},
	{"lab/blockdev", []string{"units", "volume", "lab/disk"}},
	{"lab/mount", []string{"units", "internal/*", "problem", "random", "vtime", "volume", "catalog", "linux", "scenario", "lab/disk", "lab/blockdev"}},
	{"lab/drive", []string{"units", "random", "vtime", "workload", "latency", "lab"}},
	{"lab/process", nil},
	{"lab/visit", []string{"units", "vtime", "workload", "scenario", "lab"}},
	{"lab/etcd", []string{"units", "recording", "observe/*", "workload", "engine/*", "scenario", "lab", "lab/process", "lab/visit"}},
	{"lab/etcd/etcdtest", []string{"lab/process"}}, // clusters for tests
	{"lab/postgres", []string{"units", "recording", "observe/*", "workload", "engine/*", "scenario", "lab", "lab/process", "lab/visit"}},
	{"lab/postgres/postgrestest", []string{"lab/process"}}, // a server for tests
	{"lab/wiredtiger", []string{"units", "recording", "observe/*", "workload", "engine/*", "scenario", "lab", "lab/process"}},
	{"lab/streams", []string{"units", "recording", "observe/*", "random", "workload", "engine/*", "scenario", "probe", "lab"}},
	{"lab/buckets", []string{"units", "problem", "workload", "scenario", "lab", "lab/blockdev", "lab/mount", "lab/wiredtiger"}},
	{"lab/mongodb", []string{"units", "recording", "observe/*", "workload", "engine/*", "scenario", "lab", "lab/process", "lab/visit"}},
	{"lab/mongodb/mongotest", []string{"observe/ftdc"}}, // a server for tests
	{"lab/checkperf", []string{"units", "random", "vtime", "workload", "latency", "lab/drive", "lab/etcd"}},
	{"lab/table", []string{"units", "problem", "latency", "scenario", "simulate"}},
	{"examples/lab", []string{"lab/table", "simulate"}}, // its files, inside the program; its test compares
	{"lab/run", []string{"..."}},
	{"prove", []string{"units", "internal/*", "problem", "random", "recording", "timeline", "rules", "diagnose"}},
	{"casebook", []string{"units", "recording", "scenario", "simulate", "diagnose", "catalog", "plan", "emit", "prove", "lab/table", "examples/lab"}},
	{"report", []string{"units", "internal/*", "diagnose", "prove", "plan"}},
	{"report/html", []string{"units", "shellword", "rules", "diagnose", "latency", "simulate", "plan", "prove", "lab/table", "casebook", "report"}},
	{"watch", []string{"units", "internal/*", "recording", "observe/source", "timeline", "rules", "diagnose", "report", "report/html"}},

	// Pages the program shows.
	{"docs", nil},
	{"docs/*", nil},

	// What people start: may import everything.
	{"deploy/*", []string{"rules"}}, // programs that make what is deployed: the image, Grafana's dashboard
	{"cmd/*", []string{"..."}},
	{".", nil},
}

// layerOf is the index of the row that covers a package, -1 if none does. A row that
// names it exactly goes before a pattern.
func layerOf(layers []Layer, pkg string) int {
	if i := slices.IndexFunc(layers, func(l Layer) bool { return l.Package == pkg }); i >= 0 {
		return i
	}
	return slices.IndexFunc(layers, func(l Layer) bool { return matches(l.Package, pkg) })
}

func matches(pattern, pkg string) bool {
	if base, ok := strings.CutSuffix(pattern, "/*"); ok {
		return path.Dir(pkg) == base
	}
	return pattern == "..." || pattern == pkg
}

// Imports reports imports that the table of layers does not allow, and
// packages that are not in it.
func Imports(t *Tree) []Problem { return imports(t, Layers) }

func imports(t *Tree, layers []Layer) []Problem {
	var out []Problem
	unlisted := map[string]bool{}
	for _, f := range t.Go {
		if f.Test {
			continue
		}
		i := layerOf(layers, f.Dir())
		if i < 0 {
			if !unlisted[f.Dir()] {
				unlisted[f.Dir()] = true
				out = append(out, Problem{Path: f.Dir(), Text: "package without a row in the table of layers: give it one in internal/archtest/layers.go and in ARCHITECTURE.md"})
			}
			continue
		}
		for _, spec := range f.AST.Imports {
			target, ours := inModule(spec.Path.Value)
			if !ours || target == f.Dir() || slices.ContainsFunc(layers[i].Imports, func(p string) bool { return matches(p, target) }) {
				continue
			}
			out = append(out, Problem{
				Path: f.Path,
				Line: f.Fset.Position(spec.Pos()).Line,
				Text: fmt.Sprintf("%s may not import %s: move the code, or change the table of layers knowingly", f.Dir(), target),
			})
		}
	}
	return out
}

// inModule gives the path within the module of a quoted import path.
func inModule(quoted string) (string, bool) {
	p, err := strconv.Unquote(quoted)
	if err != nil {
		return "", false
	}
	if p == Module {
		return ".", true
	}
	return strings.CutPrefix(p, Module+"/")
}
