package archtest

import (
	"go/ast"
	"strconv"
)

// testFlag is the only flag that a test may declare.
const testFlag = "update"

// TestFlags reports flags that tests declare besides -update: a user of the tests would have to know them.
// A measurement is a benchmark, and its length is -benchtime.
func TestFlags(t *Tree) []Problem {
	var out []Problem
	for _, f := range t.Go {
		if !f.Test {
			continue
		}

		ast.Inspect(f.AST, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) < 3 {
				return true
			}

			fun, ok := call.Fun.(*ast.SelectorExpr)
			if !ok {
				return true
			}

			// The arguments of flag.Bool begin with the name, those of flag.BoolVar with the variable.
			pkg, ok := fun.X.(*ast.Ident)
			if !ok || pkg.Name != "flag" {
				return true
			}
			for _, arg := range call.Args[:2] {
				name, ok := arg.(*ast.BasicLit)
				if !ok {
					continue
				}
				if text, err := strconv.Unquote(name.Value); err == nil && text != testFlag {
					out = append(out, Problem{Path: f.Path, Line: f.Fset.Position(call.Pos()).Line,
						Text: "test flag -" + text + ": tests have -" + testFlag + " only; a measurement is a benchmark"})
				}
				break
			}

			return true
		})
	}
	return out
}
