package diagnosis

import (
	"testing"

	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/present/document"
	"plimsoll/internal/testkit"
)

// A diagnosis of a machine alone leads to the database that runs on it, and a quiet one to the running watch.
func TestOnward(t *testing.T) {
	host := func() *diagnose.Report {
		r := healthyReport()
		r.Sources = []diagnose.Source{{Kind: "host", Name: "host"}}
		return r
	}
	watching := &document.Watching{PID: 7, Ring: true, Command: "plimsoll diagnose ring --from -15m"}

	for _, c := range []struct {
		opt  Options
		want string
	}{
		{Options{Servers: []string{"postgres://localhost:5433"}}, "plimsoll diagnose host postgres://localhost:5433"},
		{Options{Watching: watching, Servers: []string{"postgres://localhost:5433"}}, watching.Command},
		{Options{}, "plimsoll watch host --out ring"},
	} {
		c.opt.Pack = testkit.Pack()
		task := Document(host(), c.opt).Onward.Parts[0].Tasks[0]
		if got := task.Steps[1].Commands[0]; got != c.want {
			t.Errorf("%s: %q, want %q", task.Title, got, c.want)
		}
	}
}
