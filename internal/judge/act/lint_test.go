package act_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/judge/act"
	"plimsoll/internal/testkit"
)

// dangerous are patterns that printed advice must not contain, because such commands have lost data or
// settings before.
var dangerous = []struct {
	name    string
	pattern *regexp.Regexp
}{
	// "/journal xfs" matches the line of every database on the host.
	{"deletes lines by a pattern that is not anchored to one mount point", regexp.MustCompile(`sed -i\S* '\\?[|#/][^ ][^']*d' /etc/fstab`)},
	// Running it again after the change would save the new value as the previous one.
	{"saves without testing whether it was saved before", regexp.MustCompile(`^[^|]*\| tee ~/|^(?:cat|sysctl|kubectl get|docker inspect)[^|]*> ~/`)},
	// The previous value is unknown: Plimsoll's own default would replace whatever was set.
	{"goes back to a default instead of the previous value", regexp.MustCompile(`rollout undo`)},
	// Without -c, every container of the pod gets the limit.
	{"limits every container of a pod", regexp.MustCompile(`kubectl set resources (?:[^;&|-]|-[^c])*$`)},
	// A script from emit resumes after an interruption; a single line leaves the server stopped, or its
	// log copied twice.
	{"stops a server or moves its files in a line to paste", regexp.MustCompile(`systemctl (?:stop|restart) |\bcp -a |\bmv [^"]*(?:journal|pg_wal|member)|\bln -s |\bmkfs|/etc/fstab`)},
	// Another cluster may listen on the default port of this machine.
	{"asks whatever server answers by default", regexp.MustCompile(`(?:^|[;{] |postgres )psql -X -[^hpU]|mongo(?:sh)? --(?:quiet|eval)|etcdctl (?:[a-z]|-w)`)},
	// Flags that are not listed are reset to their defaults.
	{"replaces all flags of an instance", regexp.MustCompile(`--database-flags[ =](?:[^"]|"[^^])|parameter-set`)},
	// The name may belong to another disk after the next boot.
	{"recognises a disk by a name that changes", regexp.MustCompile(`KERNEL==`)},
	// A file in /etc/sysctl.d that sorts later, such as 99-sysctl.conf, overrides it at boot.
	{"writes settings that a later file overrides", regexp.MustCompile(`/etc/sysctl\.d/(?:[0-8]|9[0-8]|99-[a-y])`)},
	// Operations start to evict at half of it.
	{"lowers a trigger", regexp.MustCompile(`eviction_(?:dirty_|updates_)?trigger=`)},
	// The call fails for a volume that has never been modified.
	{"asks for modifications in a way that may fail", regexp.MustCompile(`describe-volumes-modifications [^|;]*--volume-ids`)},
	// 0 switches throttling off.
	{"undoes with a fixed value", regexp.MustCompile(`echo 0 \| sudo tee [^|]*wbt_lat_usec`)},
	// From then on, the properties override the unit's file.
	{"removes a limit of a unit by setting another", regexp.MustCompile(`set-property [^;&|]*(?:CPUQuota=$|CPUQuota= |MemoryMax=infinity)`)},
}

// No printed line, in any place, matches a pattern that has caused harm.
func TestAdviceIsNotDangerous(t *testing.T) {
	seen := map[string]bool{}
	for _, e := range testkit.Pack().Engines() {
		for _, m := range remediesOf(e.Database) {
			for _, w := range act.Describe(testkit.Pack(), e.Database, m, nil).Ways {
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
		`sudo systemctl stop "$UNIT" && sudo cp -a "$D"/pg_wal "$W"`:  "stops a server",
		`sudo -u postgres psql -X -c 'SELECT pg_reload_conf()'`:       "asks whatever",
		`psql -X -c 'SHOW shared_buffers'`:                            "asks whatever",
		`mongosh --quiet --eval '1'`:                                  "asks whatever",
		`etcdctl endpoint status --cluster`:                           "asks whatever",
		`gcloud sql instances patch db --database-flags a=b`:          "replaces all",
		`echo 'KERNEL=="nvme1n1", ATTR{queue/wbt_lat_usec}="2000"'`:   "recognises",
		`echo x | sudo tee /etc/sysctl.d/60-plimsoll.conf`:            "writes settings",
		`setParameter: "eviction_dirty_trigger=5"`:                    "lowers a trigger",
		`aws ec2 describe-volumes-modifications --volume-ids v`:       "asks for mod",
		`echo 0 | sudo tee /sys/block/sda/queue/wbt_lat_usec`:         "undoes with",
		`sudo systemctl set-property db.service MemoryMax=infinity`:   "removes a limit",
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

	for _, line := range []string{`sudo -u postgres psql -X -p 5433 -c 'SELECT 1'`, `docker exec db psql -X -U postgres -c 'SELECT 1'`, `etcdctl --endpoints=x alarm list`, `kubectl set resources "$OWNER" -c db --limits=cpu=4`} {
		for _, d := range dangerous {
			if d.pattern.MatchString(line) {
				t.Errorf("%q is reported, although it is not a line that %s", line, d.name)
			}
		}
	}
}

// An undo step uses what Look showed or saved. It never falls back to a value that Plimsoll assumes.
func TestUndoHasNoFallback(t *testing.T) {
	fallback := regexp.MustCompile(`\$\{[A-Z_]+:?-|\{\{or `)
	for _, m := range testkit.Pack().Remedies() {
		for i := range m.Recipes {
			for _, c := range m.Recipes[i].Undo {
				if fallback.MatchString(c.Text) {
					t.Errorf("%s: the undo guesses a value: %s", m.Name, c.Text)
				}
			}
		}
	}
}
