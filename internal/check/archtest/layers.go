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
	// Package is a path within the module, without the internal/ that most begin with. An element
	// "*" stands for any name: engine/*/model is each engine's model.
	Package string
	// Idea is the package's purpose in a few words.
	Idea string
	// Imports are the packages of this module that it imports, all from rows above its own.
	Imports []string
}

// within returns the package's name in the table: its path without the folder that keeps other
// modules from importing it.
func within(dir string) string { return strings.TrimPrefix(dir, "internal/") }

// layerOf returns the index of a package's row, -1 if there is none. A row with the exact name
// takes precedence over a pattern.
func layerOf(layers []Layer, pkg string) int {
	if i := slices.IndexFunc(layers, func(l Layer) bool { return l.Package == pkg }); i >= 0 {
		return i
	}
	return slices.IndexFunc(layers, func(l Layer) bool { return matches(l.Package, pkg) })
}

func matches(pattern, pkg string) bool {
	ok, err := path.Match(pattern, pkg)
	return err == nil && ok
}

// imports reports imports that the table does not allow, permissions that no package uses, packages
// without a row and rows without a package.
func imports(t *Tree, layers []Layer) []Problem {
	var out []Problem
	unlisted := map[string]bool{}
	used := map[string]bool{} // "row grant"

	there := map[int]bool{}
	for _, goFile := range t.Go {
		if goFile.Test || !built(goFile.AST) {
			continue
		}

		pkg := within(goFile.Dir())
		i := layerOf(layers, pkg)
		if i < 0 {
			// Once for each package, not for each of its files.
			if !unlisted[pkg] {
				unlisted[pkg] = true
				out = append(out, Problem{Path: goFile.Dir(),
					Text: "package without a row in the table of layers: give it one in internal/check/archtest/table_test.go"})
			}
			continue
		}

		there[i] = true
		for _, spec := range goFile.AST.Imports {
			target, ours := inModule(spec.Path.Value)
			if !ours || target == pkg {
				// depguard checks imports from other modules, in .golangci.yml.
				continue
			}

			k := slices.IndexFunc(layers[i].Imports, func(p string) bool { return matches(p, target) })
			if k >= 0 {
				used[layers[i].Package+" "+layers[i].Imports[k]] = true
				continue
			}

			out = append(out, Problem{
				Path: goFile.Path,
				Line: goFile.Fset.Position(spec.Pos()).Line,
				Text: fmt.Sprintf("%s may not import %s: move the code, or change the table of layers knowingly",
					pkg, target),
			})
		}
	}

	// A grant that is not used would let the import come back unnoticed.
	return append(out, unused(layers, used, there)...)
}

// unused returns the rows and permissions of the table that the tree does not need.
func unused(layers []Layer, used map[string]bool, there map[int]bool) []Problem {
	var out []Problem
	for i, l := range layers {
		if !there[i] {
			out = append(out, Problem{Path: tableFile, Text: l.Package + " is not in the source: drop its row"})
			continue
		}
		for _, p := range l.Imports {
			if !used[l.Package+" "+p] {
				out = append(out, Problem{Path: tableFile,
					Text: fmt.Sprintf("%s does not import %s: drop the grant", l.Package, p)})
			}
		}
	}
	return out
}

// inModule returns the path within the module of a quoted import path, as in the table.
func inModule(quoted string) (string, bool) {
	p, err := strconv.Unquote(quoted)
	if err != nil {
		return "", false
	}
	if p == Module {
		return ".", true
	}
	p, ok := strings.CutPrefix(p, Module+"/")
	return within(p), ok
}
