package act_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/judge/rules"
)

// A client that fails halfway, or a full disk, leaves no partly saved state. The next look would treat
// it as complete, and undo would restore only that part.
func TestLookKeepsNoPart(t *testing.T) {
	const fails = "#!/bin/sh\necho ' ALTER SYSTEM RESET checkpoint_completion_target;'; test -e \"$HOME/works\"\n"
	for _, b := range []*bench{
		newBench(t, "cpu-limit", rules.Docker, rules.Values{"name": "db"}, map[string]string{"docker": fails}),
		newBench(t, "cpu-limit", rules.Kubernetes, rules.Values{"pod": "db-0", "container": "db"}, map[string]string{"kubectl": fails}),
		newBenchIn(t, "raise-iops", rules.Host, rules.AWS, rules.Values{"volume": "vol-1"}, map[string]string{"aws": fails}),
		newBench(t, "dirty-bytes", rules.Host, nil, map[string]string{"sysctl": fails}),
		benchOf(t, postgresWay(t, "pace-checkpoint", rules.Docker), map[string]string{"docker": fails}),
		benchOf(t, postgresWay(t, "commit-delay", rules.RDS), map[string]string{"aws": fails, "psql": fails}),
	} {
		look := func() []string {
			cmd := exec.CommandContext(t.Context(), "sh", "-c", b.replaced.Replace(strings.Join(b.way.Look, "\n")))
			cmd.Env = append(b.env, "CONTAINER=db", "POD=db-0", "DB=d", "PGHOST=h")
			_ = cmd.Run() // it fails, as it should
			kept, err := filepath.Glob(filepath.Join(b.home, "plimsoll-*.before"))
			if err != nil {
				t.Fatal(err)
			}
			return kept
		}

		if kept := look(); len(kept) > 0 {
			t.Errorf("%s: a failed look leaves %s", b.way.Look, kept)
		}

		if err := os.WriteFile(filepath.Join(b.home, "works"), nil, 0o600); err != nil {
			t.Fatal(err)
		}

		if kept := look(); len(kept) != 1 {
			t.Errorf("%s: a later look keeps %s", b.way.Look, kept)
		}
	}
}
