package act_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/judge/act"
)

// What printed advice must not contain, because it has lost data or settings somewhere.
var dangerous = []struct {
	name    string
	pattern *regexp.Regexp
}{
	// "/journal xfs" is in the line of every database on the host.
	{"deletes lines by a pattern that is not anchored to one mount point", regexp.MustCompile(`sed -i\S* '\\?[|#/][^ ][^']*d' /etc/fstab`)},
	// A second look, after the change, would save the new value as the former one.
	{"saves without testing whether it was saved before", regexp.MustCompile(`^[^|]*\| tee ~/|^(?:cat|sysctl|kubectl get|docker inspect)[^|]*> ~/`)},
	// The former value is not known: Plimsoll's own default would replace whatever was set.
	{"goes back to a default instead of the former value", regexp.MustCompile(`rollout undo`)},
	// Without -c every container of the pod gets the limit.
	{"limits every container of a pod", regexp.MustCompile(`kubectl set resources (?:[^;&|-]|-[^c])*$`)},
}

// Nothing that is printed in any place matches what has proved dangerous.
func TestAdviceIsNotDangerous(t *testing.T) {
	seen := map[string]bool{}
	for _, e := range pack.Engines() {
		for _, m := range remediesOf(e.Database) {
			for _, w := range act.Describe(pack, e.Database, m, nil).Ways {
				for _, line := range slices.Concat(w.Look, w.Do, w.Keep, w.Check, w.Undo) {
					seen[line] = true
					for _, d := range dangerous {
						if d.pattern.MatchString(line) {
							t.Errorf("%s in %s %s: %s", m.Name, w.Place, d.name, line)
						}
					}
				}
			}
		}
	}

	if len(seen) < 100 {
		t.Errorf("only %d lines are printed: the pack has lost some", len(seen))
	}

	// Each pattern finds what it is for.
	for line, want := range map[string]string{
		`sed -i '\|/journal xfs|d' /etc/fstab`:                        "deletes lines",
		`sysctl vm.dirty_background_bytes | tee ~/plimsoll-undo.conf`: "saves without",
		`cat /sys/fs/cgroup/x/io.max > ~/plimsoll.before`:             "saves without",
		`kubectl rollout undo statefulset/db`:                         "goes back",
		`kubectl set resources "$OWNER" --limits=cpu=4`:               "limits every",
	} {
		i := slices.IndexFunc(dangerous, func(d struct {
			name    string
			pattern *regexp.Regexp
		}) bool {
			return d.pattern.MatchString(line)
		})
		if i < 0 || !strings.HasPrefix(dangerous[i].name, want) {
			t.Errorf("%q is not found", line)
		}
	}

	for _, line := range []string{`sudo sed -i.before '\# /var/lib/mongodb/journal #d' /etc/fstab`, `kubectl set resources "$OWNER" -c db --limits=cpu=4`} {
		for _, d := range dangerous {
			if d.pattern.MatchString(line) {
				t.Errorf("%q is taken for what %s", line, d.name)
			}
		}
	}
}

// A step to undo needs what looking showed or saved: it never falls back to a figure that Plimsoll assumes.
func TestUndoHasNoFallback(t *testing.T) {
	fallback := regexp.MustCompile(`\$\{[A-Z_]+:?-|\{\{or `)
	for _, m := range pack.Remedies() {
		for i := range m.Recipes {
			for _, c := range m.Recipes[i].Undo {
				if fallback.MatchString(c.Text) {
					t.Errorf("%s: going back guesses a value: %s", m.Name, c.Text)
				}
			}
		}
	}
}
