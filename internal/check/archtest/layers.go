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
	{"base/units", nil},
	{"check/*", nil},
	{"record/ebs", nil},

	// What happened: the series of a run, and who tells them.
	{"record/recording", []string{"base/units", "check/*", "record/ebs"}},
	{"record/timeline", []string{"base/units", "record/recording"}},
	{"record/source", []string{"record/recording"}},
	{"record/iostat", []string{"base/units", "check/*", "record/ebs", "record/recording", "record/source"}},
	{"record/exposition", []string{"base/units", "check/*", "record/ebs", "record/recording", "record/source"}},
	{"record/host", []string{"base/units", "check/*", "record/ebs", "record/recording", "record/source"}},
	{"record/fio", []string{"base/units", "check/*", "record/ebs", "record/recording", "record/source"}},
	{"record/ftdc", []string{"base/units", "check/*", "record/ebs", "record/recording", "record/source"}},
	{"engine/*/live", []string{"base/units", "check/*", "record/ebs", "record/recording", "record/source"}},
	{"engine/etcd/live", []string{"record/recording", "record/source", "record/exposition"}},            // its members' pages
	{"engine/mongodb/live", []string{"base/units", "record/recording", "record/source", "record/ftdc"}}, // what a mongod collects is FTDC
	{"record/ftdc/ftdctest", []string{"record/ftdc"}},                                                   // makes captures for tests
	{"record/sources", []string{"base/units", "check/*", "record/ebs", "record/recording", "record/source", "record/iostat", "record/exposition", "record/host", "record/fio", "record/ftdc", "engine/*/live"}},

	// What may happen: models that take the time and give an answer. They know no
	// recording. (Rows here come before their packages: the direction is settled first.)
	{"base/diagnostics", nil},
	{"base/shellword", nil},
	{"base/random", nil},
	{"base/vtime", nil},
	{"base/latency", []string{"base/units", "base/vtime"}},
	{"model/volume", []string{"base/units", "base/random", "base/vtime"}},
	{"model/volume/volumetest", []string{"base/units", "base/random", "base/vtime", "model/volume"}}, // the conformance suite
	{"model/catalog", []string{"base/units", "base/diagnostics", "base/random", "base/vtime", "model/volume"}},
	{"model/catalog/*", []string{"base/units", "model/volume", "model/catalog"}}, // makes the embedded table
	{"model/workload", []string{"base/units", "base/diagnostics", "base/random", "base/vtime"}},
	{"model/kernel", []string{"base/units", "base/diagnostics", "base/random", "base/vtime", "model/volume"}},
	{"model/engine", []string{"base/units", "base/random", "base/vtime", "model/volume", "model/workload", "model/kernel"}},
	{"engine/*/model", []string{"base/units", "base/diagnostics", "base/random", "base/vtime", "model/volume", "model/workload", "model/kernel", "model/engine"}},
	{"engine/enginetest", []string{"base/units", "base/diagnostics", "base/random", "base/vtime", "model/volume", "model/workload", "model/kernel", "model/engine"}},
	{"model/scenario", []string{"base/units", "base/diagnostics", "base/random", "model/volume", "model/catalog", "model/workload", "model/kernel", "model/engine", "engine/*/model", "engine/enginetest"}},
	{"model/simulate", []string{"base/units", "base/diagnostics", "base/random", "base/vtime", "base/latency", "record/recording", "model/volume", "model/catalog", "model/workload", "model/kernel", "model/engine", "engine/*/model", "engine/enginetest", "model/scenario"}},

	// Why: the rule pack and those that run it.
	{"judge/rules", []string{"base/units", "record/recording", "record/timeline"}},
	{"judge/diagnose", []string{"base/units", "check/*", "record/ebs", "record/recording", "record/timeline", "judge/rules"}},
	{"judge/ruletest", []string{"record/recording", "judge/rules", "judge/diagnose"}},
	{"judge/fleet", []string{"base/units", "record/recording", "judge/rules", "judge/diagnose", "model/catalog"}},
	{"judge/alerts", []string{"judge/rules"}},
	{"advise/fit", []string{"base/units", "record/recording", "record/timeline", "judge/rules", "judge/diagnose", "model/catalog", "engine/*/model", "engine/enginetest"}},
	{"advise/plan", []string{"base/units", "base/diagnostics", "model/volume", "model/catalog", "model/workload", "model/kernel", "model/engine", "engine/*/model", "engine/enginetest", "model/scenario", "model/simulate"}},
	{"advise/emit", []string{"base/units", "base/diagnostics", "base/shellword", "model/catalog", "engine/*/model", "engine/enginetest", "model/scenario"}}, // of a plan it reads the JSON
	{"lab/probe", []string{"base/units", "check/*", "record/ebs", "base/diagnostics", "base/random", "base/vtime", "model/volume", "model/catalog", "model/workload", "base/latency"}},

	// The lab: real engines on emulated volumes.
	{"lab", []string{"base/units", "record/recording", "record/source", "model/workload", "model/scenario"}},
	{"lab/disk", []string{"base/units", "base/diagnostics", "base/random", "base/vtime", "model/volume"}},
	{"lab/blockdev", []string{"base/units", "model/volume", "lab/disk"}},
	{"lab/mount", []string{"base/units", "check/*", "record/ebs", "base/diagnostics", "base/random", "base/vtime", "model/volume", "model/catalog", "model/kernel", "model/scenario", "lab/disk", "lab/blockdev"}},
	{"lab/loadgen", []string{"base/units", "base/random", "base/vtime", "model/workload", "base/latency", "lab"}},
	{"lab/process", nil},
	{"lab/existing", []string{"base/units", "base/vtime", "model/workload", "model/scenario", "lab"}},
	{"engine/etcd/server", []string{"base/units", "record/recording", "record/iostat", "record/exposition", "record/host", "record/fio", "record/ftdc", "engine/*/live", "model/workload", "engine/*/model", "engine/enginetest", "model/scenario", "lab", "lab/process", "lab/existing"}},
	{"engine/etcd/etcdtest", []string{"lab/process"}}, // clusters for tests
	{"engine/postgres/server", []string{"base/units", "record/recording", "record/iostat", "record/exposition", "record/host", "record/fio", "record/ftdc", "engine/*/live", "model/workload", "engine/*/model", "engine/enginetest", "model/scenario", "lab", "lab/process", "lab/existing"}},
	{"engine/postgres/postgrestest", []string{"lab/process"}}, // a server for tests
	{"engine/mongodb/worker", []string{"base/units", "record/recording", "record/iostat", "record/exposition", "record/host", "record/fio", "record/ftdc", "engine/*/live", "model/workload", "engine/*/model", "engine/enginetest", "model/scenario", "lab", "lab/process"}},
	{"engine/streams/server", []string{"base/units", "record/recording", "record/iostat", "record/exposition", "record/host", "record/fio", "record/ftdc", "engine/*/live", "base/random", "model/workload", "engine/*/model", "engine/enginetest", "model/scenario", "lab/probe", "lab"}},
	{"engine/mongodb/buckets", []string{"base/units", "base/diagnostics", "model/workload", "model/scenario", "lab", "lab/blockdev", "lab/mount", "engine/mongodb/worker"}},
	{"engine/mongodb/server", []string{"base/units", "record/recording", "record/iostat", "record/exposition", "record/host", "record/fio", "record/ftdc", "engine/*/live", "model/workload", "engine/*/model", "engine/enginetest", "model/scenario", "lab", "lab/process", "lab/existing"}},
	{"engine/mongodb/mongotest", []string{"record/ftdc"}}, // a server for tests
	{"engine/etcd/checkperf", []string{"base/units", "base/random", "base/vtime", "model/workload", "base/latency", "lab/loadgen", "engine/etcd/server"}},
	{"lab/table", []string{"base/units", "base/diagnostics", "base/latency", "model/scenario", "model/simulate"}},
	{"examples/lab", []string{"lab/table", "model/simulate"}}, // its files, inside the program; its test compares
	{"lab/run", []string{"..."}},
	{"advise/prove", []string{"base/units", "check/*", "record/ebs", "base/diagnostics", "base/random", "record/recording", "record/timeline", "judge/rules", "judge/diagnose"}},
	{"advise/casebook", []string{"base/units", "record/recording", "model/scenario", "model/simulate", "judge/diagnose", "model/catalog", "advise/plan", "advise/emit", "advise/prove", "lab/table", "examples/lab"}},
	{"present/report", []string{"base/units", "check/*", "record/ebs", "judge/diagnose", "advise/prove", "advise/plan"}},
	{"present/html", []string{"base/units", "base/shellword", "judge/rules", "judge/diagnose", "base/latency", "model/simulate", "advise/plan", "advise/prove", "lab/table", "advise/casebook", "present/report"}},
	{"watch", []string{"base/units", "check/*", "record/ebs", "record/recording", "record/source", "record/timeline", "judge/rules", "judge/diagnose", "present/report", "present/html"}},

	// Pages the program shows.
	{"docs", nil},
	{"docs/*", nil},

	// What people start: may import everything.
	{"deploy/*", []string{"judge/rules"}}, // programs that make what is deployed: the image, Grafana's dashboard
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
