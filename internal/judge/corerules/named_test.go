package corerules_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// sayingMethods are the methods with which a Judge names words or advice.
var sayingMethods = map[string]bool{"Say": true, "Entitle": true, "Explain": true, "Advise": true}

// TestNamedWords checks every name that a Judge uses for words or advice of its package. A wrong one in
// a branch that no script reaches would make a user's diagnosis fail. Package rules has parts of
// findings whose words are here.
func TestNamedWords(t *testing.T) {
	for _, folder := range append(engineFolders(t), ".") {
		named, written := map[string]token.Position{}, map[string]bool{}
		fset := token.NewFileSet()
		files, err := filepath.Glob(filepath.Join(folder, "*.go"))
		if err != nil {
			t.Fatal(err)
		}

		if folder == "." {
			shared, err := filepath.Glob("../rules/*.go")
			if err != nil || len(shared) == 0 {
				t.Fatalf("no files of package rules: %v", err)
			}
			files = append(files, shared...)
		}

		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}

			f, err := parser.ParseFile(fset, name, nil, 0)
			if err != nil {
				t.Fatal(err)
			}

			ast.Inspect(f, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.CallExpr:
					if sel, ok := n.Fun.(*ast.SelectorExpr); ok && sayingMethods[sel.Sel.Name] && len(n.Args) > 0 {
						if text, ok := literal(n.Args[0]); ok {
							named[text] = fset.Position(n.Pos())
						}
					}
				case *ast.IndexExpr:
					if text, ok := literal(n.Index); ok {
						written[text] = true
					}
				case *ast.KeyValueExpr:
					if text, ok := literal(n.Key); ok {
						written[text] = true
					}
				}
				return true
			})
		}

		for name, at := range named {
			if !written[name] {
				t.Errorf("%s: no words or advice %q in %s", at, name, folder)
			}
		}

		if folder != "." && len(named) == 0 {
			t.Errorf("no Judge in %s names any words, so nothing is checked", folder)
		}
	}
}

// engineFolders are the folders of engines that have rules.
func engineFolders(t *testing.T) []string {
	t.Helper()
	out, err := filepath.Glob("../../engine/*/judge")
	if err != nil || len(out) == 0 {
		t.Fatalf("no engine's rules: %v", err)
	}
	return out
}

func literal(e ast.Expr) (string, bool) {
	l, ok := e.(*ast.BasicLit)
	if !ok || l.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(l.Value)
	return text, err == nil
}
