package archtest

import (
	"fmt"
	"go/ast"
	"go/token"
	"strings"
)

// An EngineName is a word that identifies one storage engine in code.
type EngineName struct {
	Folder string // its folder below engine/: "etcd"
	// Within are letters that no identifier or string may contain, in lower case, without
	// separators: "wiredtiger" is found in WiredTiger and wired_tiger.
	Within string
	// Exactly is a string that stands for the engine only if it is the whole string.
	Exactly string
}

// engineNames reports identifiers and strings that name an engine anywhere but in its folder and in
// the one list of engines. Code uses an interface for what all engines have in common; engine-specific code
// stays in the engine's folder.
func engineNames(t *Tree, names []EngineName) []Problem {
	var out []Problem
	for _, goFile := range t.Go {
		if goFile.Test || !built(goFile.AST) || goFile.Dir() == "internal/engine" ||
			strings.HasPrefix(goFile.Path, "examples/") {
			continue
		}
		ast.Inspect(goFile.AST, func(n ast.Node) bool {
			// whole is empty for identifiers: they are only searched for words.
			var text, whole string
			var pos token.Pos
			switch n := n.(type) {
			case *ast.Ident:
				text, pos = n.Name, n.Pos()
			case *ast.BasicLit:
				if n.Kind != token.STRING {
					return true
				}
				text, pos = n.Value, n.Pos()
				whole = strings.Trim(text, "\"`")
			default:
				return true
			}

			// Lower-case without separators, so that wiredTiger and wired_tiger are the same name.
			plain := marks.Replace(strings.ToLower(text))
			for _, name := range names {
				if inFolder(goFile.Dir(), name.Folder) || !name.in(plain, whole) {
					continue
				}
				// One problem for each place is enough, even if it names two engines.
				out = append(out, Problem{
					Path: goFile.Path, Line: goFile.Fset.Position(pos).Line,
					Text: fmt.Sprintf("%s names an engine outside internal/engine/%s: use an interface instead",
						shortened(text), name.Folder),
				})
				break
			}

			return true
		})
	}

	return out
}

// in reports whether a text names the engine: plain is the text in lower case without marks, whole
// the text of a string without its quotes.
func (n EngineName) in(plain, whole string) bool {
	if n.Exactly != "" && whole == n.Exactly {
		return true
	}
	return n.Within != "" && strings.Contains(plain, n.Within)
}

// marks separate the parts of a name.
var marks = strings.NewReplacer("_", "", "-", "", " ", "")

func inFolder(dir, engine string) bool {
	own := "internal/engine/" + engine
	return dir == own || strings.HasPrefix(dir, own+"/")
}

func shortened(text string) string {
	const most = 40
	if r := []rune(text); len(r) > most {
		return string(r[:most]) + "..."
	}
	return text
}
