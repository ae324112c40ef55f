package act_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/judge/act"
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/testkit"
)

// Every piece of advice has a remedy, or says why no command carries it out.
func TestAdviceHasCommands(t *testing.T) {
	for _, r := range testkit.Pack().Rules() {
		for _, name := range r.AdviceNames() {
			a := r.Advice[name]
			if (len(a.Do) == 0) != (a.NoCommand != "") {
				t.Errorf("%s, advice %q: give it remedies (Do) or say why it has none (NoCommand)", r.ID, name)
			}
			if len(a.Do) > 0 && !slices.ContainsFunc(act.Fixes(testkit.Pack(), &r), func(x act.Fix) bool { return x.Advice == name && len(x.Remedies) > 0 }) {
				t.Errorf("%s, advice %q: no engine implements its remedies", r.ID, name)
			}
		}
	}
}

// In every place, a remedy contains everything that users must know before they apply it.
func TestRemediesAreComplete(t *testing.T) {
	names := map[string]string{}
	for _, m := range testkit.Pack().Remedies() {
		if names[m.Name] != "" && names[m.Name] != m.Title {
			t.Errorf("%s is the name of two remedies", m.Name)
		}

		names[m.Name] = m.Title
		if m.Name == "" || m.Title == "" || m.Cost == "" && m.Money == "" || m.Wait <= 0 || m.Until == "" {
			t.Errorf("%s: name, title, cost, wait or until is missing: %+v", m.Name, m)
		}

		for _, place := range rules.Places {
			for _, cloud := range []rules.Cloud{"", rules.AWS, rules.Azure, rules.Google, rules.NoCloud} {
				if act.RecipeFor(m, place, cloud, "") == nil {
					t.Errorf("%s: no recipe for %s in cloud %q", m.Name, place, cloud)
				}
			}
		}

		for i, r := range m.Recipes {
			complete := len(r.Do) > 0 && len(r.Check) > 0 && (len(r.Undo) > 0) != (r.NoUndo != "") && (len(r.Keep) > 0) != (r.Kept != "")
			if (r.None == "") != complete {
				t.Errorf("%s, recipe %d: want Do, Check, Undo or NoUndo, and Keep or Kept; or None", m.Name, i)
			}
		}
	}

	if len(names) < 10 {
		t.Errorf("%d remedies: the pack has lost some", len(names))
	}
}

// A shell can parse every printed command: with example values, with none, and with values that would
// do harm if they were not quoted.
func TestShellReadsEveryCommand(t *testing.T) {
	sh, err := exec.LookPath("bash")
	if err != nil {
		if sh, err = exec.LookPath("sh"); err != nil {
			t.Skip("no shell here")
		}
	}

	hostile := rules.Values{}
	for _, k := range []string{"namespace", "pod", "container", "name", "unit", "cgroup", "instance", "volume", "device", "dbpath"} {
		hostile[k] = "it's $(reboot); `x` \"y\""
	}

	lines := map[string]string{}
	for _, values := range []rules.Values{nil, hostile} {
		for _, e := range testkit.Pack().Engines() {
			for _, m := range remediesOf(e.Database) {
				for _, w := range act.Describe(testkit.Pack(), e.Database, m, values).Ways {
					for _, l := range slices.Concat(w.Look, w.Do, w.Keep, w.Check, w.Undo) {
						lines[l] = m.Name + " in " + w.Place
					}
				}
			}
		}
	}

	var script strings.Builder
	for l, where := range lines {
		if strings.Contains(strings.ReplaceAll(l, "{{.HostConfig.", ""), "{{") || strings.Contains(l, "<no value>") || strings.ContainsAny(l, "\n\t") {
			t.Errorf("%s: %q", where, l)
		}
		script.WriteString(l + "\n")
	}

	out, err := run(t, sh, script.String())
	if err == nil {
		return
	}

	t.Logf("%s", out)
	for l, where := range lines { // which one
		if out, err := run(t, sh, l); err != nil {
			t.Errorf("%s: %s\n%s", where, l, out)
		}
	}
}

// remediesOf returns the remedies of an engine's rules and of the core's rules as that engine
// implements them.
func remediesOf(database string) (out []*rules.Remedy) {
	for _, r := range testkit.Pack().Rules() {
		if r.Engine != "" && r.Engine != database {
			continue
		}
		for _, a := range r.Advice {
			for _, m := range a.Do {
				if own := testkit.Pack().RemedyFor(database, m); own != nil {
					out = append(out, own)
				}
			}
		}
	}
	return out
}

func run(t *testing.T, sh, script string) ([]byte, error) {
	c := exec.CommandContext(t.Context(), sh, "-n")
	c.Stdin = strings.NewReader(script)
	return c.CombinedOutput()
}
