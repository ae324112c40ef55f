package act_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/judge/act"
)

// dangerous are patterns that printed advice must not contain, because they have lost data or
// settings before.
var dangerous = []struct {
	name    string
	pattern *regexp.Regexp
}{
	// "/journal xfs" is in the line of every database on the host.
	{"deletes lines by a pattern that is not anchored to one mount point", regexp.MustCompile(`sed -i\S* '\\?[|#/][^ ][^']*d' /etc/fstab`)},
	// A second look, after the change, would save the new value as the previous one.
	{"saves without testing whether it was saved before", regexp.MustCompile(`^[^|]*\| tee ~/|^(?:cat|sysctl|kubectl get|docker inspect)[^|]*> ~/`)},
	// The previous value is unknown: Plimsoll's own default would replace whatever was set.
	{"goes back to a default instead of the previous value", regexp.MustCompile(`rollout undo`)},
	// Without -c every container of the pod gets the limit.
	{"limits every container of a pod", regexp.MustCompile(`kubectl set resources (?:[^;&|-]|-[^c])*$`)},
}

// No printed line, in any place, matches a pattern that has proved dangerous.
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

	// Each pattern matches the mistake that it is meant to catch.
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
			t.Errorf("%q is not caught", line)
		}
	}

	for _, line := range []string{`sudo sed -i.before '\# /var/lib/mongodb/journal #d' /etc/fstab`, `kubectl set resources "$OWNER" -c db --limits=cpu=4`} {
		for _, d := range dangerous {
			if d.pattern.MatchString(line) {
				t.Errorf("%q is reported, although it is not a line that %s", line, d.name)
			}
		}
	}
}

// An undo step uses what Look showed or saved: it never falls back to a value that Plimsoll
// assumes.
func TestUndoHasNoFallback(t *testing.T) {
	fallback := regexp.MustCompile(`\$\{[A-Z_]+:?-|\{\{or `)
	for _, m := range pack.Remedies() {
		for i := range m.Recipes {
			for _, c := range m.Recipes[i].Undo {
				if fallback.MatchString(c.Text) {
					t.Errorf("%s: the undo guesses a value: %s", m.Name, c.Text)
				}
			}
		}
	}
}
