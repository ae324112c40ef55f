package archtest

import (
	"bytes"
	"fmt"
	"go/ast"
	"path"
	"slices"
)

// The size limits, in lines of code: blank lines and comments are free. Those for Go code are a
// little above the targets in CONTRIBUTING.md (400 lines per file, 70 per function): a reader gives up at the
// limit; a writer should look for a way to split the code at the target. Tests and generated code are exempt
// from both.
const (
	fileLinesMax     = 450
	functionLinesMax = 90
	// fileBytesMax bounds every file of the repository, so that clones stay small.
	fileBytesMax = 2 << 20
)

// Sizes reports files and functions over the size limits.
func Sizes(t *Tree) []Problem {
	var out []Problem
	for _, f := range t.Texts {
		if f.Bytes > fileBytesMax {
			out = append(out, Problem{Path: f.Path,
				Text: fmt.Sprintf("%d bytes, over %d: generate it at test time or trim it", f.Bytes, fileBytesMax)})
		}
	}

	for _, f := range t.Go {
		if f.Test || ast.IsGenerated(f.AST) {
			// A test's table of cases may be long, and no one edits generated code.
			continue
		}

		// codeLines counts cumulatively, so the last entry is the file's total.
		if n := f.codeLines[len(f.codeLines)-1]; n > fileLinesMax {
			out = append(out, Problem{Path: f.Path,
				Text: fmt.Sprintf("%d lines of code, over %d: split it by idea", n, fileLinesMax)})
		}

		for _, d := range f.AST.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			// A difference of cumulative counts, so comments and blank lines are free.
			from, to := f.Fset.Position(fn.Pos()).Line, f.Fset.Position(fn.End()).Line
			if n := f.codeLines[to] - f.codeLines[from-1]; n > functionLinesMax {
				out = append(out, Problem{Path: f.Path, Line: from,
					Text: fmt.Sprintf("function %s has %d lines of code, over %d: split it", fn.Name.Name, n,
						functionLinesMax)})
			}
		}
	}

	return out
}

// countCode returns, for each line of a source file, how many lines up to it hold code; element 0
// is before the first line.
func countCode(src []byte) []int {
	out := []int{0}
	for line := range bytes.Lines(src) {
		n := out[len(out)-1]
		if text := bytes.TrimSpace(line); len(text) > 0 && !bytes.HasPrefix(text, []byte("//")) {
			n++
		}
		out = append(out, n)
	}
	return out
}

// drawers are package names that say nothing about the contents, so that everything ends up in
// them.
var drawers = []string{"util", "utils", "common", "helper", "helpers", "misc", "shared", "types",
	"base", "lib"}

// Names reports packages whose names say nothing about their purpose.
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
			out = append(out, Problem{Path: dir,
				Text: fmt.Sprintf("package %s: name it after the one idea it holds", name)})
		}
	}
	return out
}
