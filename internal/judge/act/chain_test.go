package act_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/judge/act"
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/testkit"
)

// Once one of several etcdctl calls has failed, none of the rest runs: a member is not defragmented
// while another is down, and an alarm is not disarmed without free space.
func TestCallsEndAtAFailure(t *testing.T) {
	for _, c := range []struct {
		remedy, fails string
		want          []string
	}{
		{"defragment", "health", []string{"health"}},
		{"defragment", "nothing", []string{"health", "defrag"}},
		{"disarm-no-space", "compact", []string{"compact"}},
		{"disarm-no-space", "defrag", []string{"compact", "defrag"}},
		{"disarm-no-space", "nothing", []string{"compact", "defrag", "disarm"}},
	} {
		for _, place := range []rules.Place{rules.Host, rules.Docker, rules.Kubernetes} {
			t.Run(c.remedy+" "+c.fails+" "+string(place), func(t *testing.T) {
				log := filepath.Join(t.TempDir(), "log")
				const in = "#!/bin/sh\nwhile [ \"$1\" != etcdctl ]; do shift; done\nexec \"$@\"\n"
				b := benchOf(t, wayOf(t, "etcd", c.remedy, place), map[string]string{"docker": in, "kubectl": in,
					"etcdctl": "#!/bin/sh\necho \"$*\" >>\"$LOG\"\ncase \"$*\" in *$FAILS*) exit 1 ;; esac\n"})
				b.env = append(b.env, "LOG="+log, "FAILS="+c.fails, "ENDPOINT=a", "MEMBER=b", "REVISION=7", "CONTAINER=c", "POD=p")
				if _, err := b.try(b.way.Do); (err == nil) != (c.fails == "nothing") {
					t.Errorf("error: %v", err)
				}
				text, err := os.ReadFile(log)
				if err != nil {
					t.Fatal(err)
				}
				did := regexp.MustCompile(`health|compact|defrag|disarm`).FindAllString(string(text), -1)
				if !slices.Equal(did, c.want) {
					t.Errorf("it ran %q, want %q", did, c.want)
				}
			})
		}
	}
}

// Each variable's prompt is printed once in a step, and each use stops without a value.
func TestEachUseOfAVariableStops(t *testing.T) {
	use := regexp.MustCompile(`\$\{([A-Z_]+):\?([^}]*)\}`)
	needed := regexp.MustCompile(`\$\{?(PGPORT|PGHOST|PORT|UNIT|POD|CONTAINER|NODE|VOLUME|DISK|ZONE|DB|CLUSTER|SERVER|INSTANCE|GROUP|DEVICE|ENDPOINT|MEMBER)\b[^:]`)
	uses := 0
	for _, e := range testkit.Pack().Engines() {
		for _, m := range remediesOf(e.Database) {
			for _, w := range act.Describe(testkit.Pack(), e.Database, m, nil).Ways {
				for _, step := range [][]string{w.Look, w.Do, w.Keep, w.Check, w.Undo} {
					prompted := map[string]bool{}
					for _, name := range needed.FindAllStringSubmatch(strings.Join(step, "\n"), -1) {
						if unset := strings.Contains(strings.Join(step, "\n"), name[1]+"="); !unset {
							t.Errorf("%s in %s: %s does not stop without a value: %q", m.Name, w.Place, name[0], step)
						}
					}
					for _, found := range use.FindAllStringSubmatch(strings.Join(step, "\n"), -1) {
						uses++
						if found[2] != "" && prompted[found[1]] {
							t.Errorf("%s in %s: the prompt for %s is printed again: %q", m.Name, w.Place, found[1], step)
						}
						prompted[found[1]] = prompted[found[1]] || found[2] != ""
					}
				}
			}
		}
	}
	if uses < 100 {
		t.Errorf("%d uses", uses)
	}
}
