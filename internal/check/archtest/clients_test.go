package archtest

import (
	"go/ast"
	"go/token"
	"go/types"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// dials are the calls that create a client or a server of any protocol.
var dials = []string{
	"http.Client", "http.Get", "http.Post", "http.Head", "http.DefaultClient", "http.DefaultTransport", "http.Transport", "http.Server",
	"httpclient.New", "httpclient.Transport", "net.Dial", "net.DialTimeout", "net.Dialer", "net.Listen", "net.ListenConfig", "tls.Dial",
	"grpc.NewClient", "grpc.NewServer", "pgconn.Connect", "pgconn.ConnectConfig", "mongo.Connect", "rest.HTTPClientFor",
}

// clientRow is a row of the table of clients and servers in docs/internals/bounds.txt.
var clientRow = regexp.MustCompile("(?m)^\\| client `([a-z0-9/]+)` \\| [^|]+ \\| [^|]+ \\|$")

// TestClientsAreListed compares the packages that connect or listen with the table of clients and
// servers, so that a new one gets limits.
func TestClientsAreListed(t *testing.T) {
	tree, page := treeAndBounds(t)
	listed := map[string]bool{}
	for _, m := range clientRow.FindAllStringSubmatch(page, -1) {
		listed[m[1]] = true
	}

	found := map[string]string{}
	for _, f := range tree.Go {
		dir := within(f.Dir())
		if f.Test || strings.HasSuffix(dir, "test") || strings.HasPrefix(dir, "check/") || !strings.HasPrefix(f.Path, "internal/") &&
			!strings.HasPrefix(f.Path, "cmd/") {
			continue
		}
		ast.Inspect(f.AST, func(n ast.Node) bool {
			s, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if x, ok := s.X.(*ast.Ident); ok && slices.Contains(dials, x.Name+"."+s.Sel.Name) {
				found[dir] = f.Path + ": " + x.Name + "." + s.Sel.Name
			}
			return true
		})
	}

	for dir, where := range found {
		if !listed[dir] {
			t.Errorf("%s: add a row \"client `%s`\" with its bounds to %s", where, dir, boundsPage)
		}
	}
	for dir := range listed {
		if found[dir] == "" {
			t.Errorf("%s: package %s has no client and no server: remove the row", boundsPage, dir)
		}
	}
}

// TestBytesAreListed finds constants that limit bytes and are not in the table.
func TestBytesAreListed(t *testing.T) {
	tree, page := treeAndBounds(t)
	for _, f := range tree.Go {
		dir := within(f.Dir())
		if f.Test || strings.HasPrefix(dir, "check/") {
			continue
		}
		for name, expr := range constants(f.AST) {
			if !strings.HasSuffix(name, "ytesMax") || strings.Contains(page, "| `"+dir+"."+name+"` |") {
				continue
			}
			// The table contains only numbers that depend on no other package.
			if v, err := types.Eval(token.NewFileSet(), nil, token.NoPos, types.ExprString(expr)); err == nil && v.Value != nil {
				t.Errorf("%s: %s = %s is not in %s", f.Path, name, v.Value, boundsPage)
			}
		}
	}
}

func treeAndBounds(t *testing.T) (tree *Tree, page string) {
	t.Helper()
	tree, err := Load(os.DirFS(root))
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(root + "/" + boundsPage)
	if err != nil {
		t.Fatal(err)
	}
	return tree, string(text)
}
