package archtest

import (
	"fmt"
	"go/ast"
	"path"
	"slices"
)

// Limits are the bounds on size. They stand a little over the aims in
// CONTRIBUTING.md (400 lines a file, 70 a function): a limit is where a reader gives up, an
// aim is where a writer should look for a seam.
var Limits = struct {
	FileLines     int   // of a Go file that is not a test
	FunctionLines int   // of a function that is not in a test, braces included
	FileBytes     int64 // of any file of the repository: clones stay small
}{
	FileLines:     450,
	FunctionLines: 90,
	FileBytes:     2 << 20,
}

// Sizes reports files and functions over [Limits]. Generated Go code is exempt
// from the limits on lines.
func Sizes(t *Tree) []Problem {
	var out []Problem
	for _, f := range t.Texts {
		if f.Bytes > Limits.FileBytes {
			out = append(out, Problem{Path: f.Path, Text: fmt.Sprintf("%d bytes, over %d: make it at test time or trim it", f.Bytes, Limits.FileBytes)})
		}
	}
	for _, f := range t.Go {
		if f.Test || ast.IsGenerated(f.AST) {
			continue
		}
		if f.Lines > Limits.FileLines {
			out = append(out, Problem{Path: f.Path, Text: fmt.Sprintf("%d lines, over %d: split it by idea", f.Lines, Limits.FileLines)})
		}
		for _, d := range f.AST.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			from, to := f.Fset.Position(fn.Pos()).Line, f.Fset.Position(fn.End()).Line
			if n := to - from + 1; n > Limits.FunctionLines {
				out = append(out, Problem{Path: f.Path, Line: from, Text: fmt.Sprintf("function %s has %d lines, over %d: split it", fn.Name.Name, n, Limits.FunctionLines)})
			}
		}
	}
	return out
}

// drawers are package names that say nothing of what is inside, so that
// everything ends up inside.
var drawers = []string{"util", "utils", "common", "helper", "helpers", "misc", "shared", "types", "base", "lib"}

// Names reports packages named after no idea.
func Names(t *Tree) []Problem {
	var out []Problem
	seen := map[string]bool{}
	for _, f := range t.Go {
		dir := f.Dir()
		if seen[dir] {
			continue
		}
		if name := f.AST.Name.Name; slices.Contains(drawers, name) || slices.Contains(drawers, path.Base(dir)) {
			seen[dir] = true
			out = append(out, Problem{Path: dir, Text: fmt.Sprintf("package %s: name it after the one idea it holds", name)})
		}
	}
	return out
}
