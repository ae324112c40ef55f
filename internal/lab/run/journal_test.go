//go:build linux

package run

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	wiredtigermodel "plimsoll/internal/engine/mongodb/model"
	wiredtiger "plimsoll/internal/engine/mongodb/worker"
	"plimsoll/internal/lab"
	"plimsoll/internal/lab/mount"
	"plimsoll/internal/model/scenario"
)

// bare runs WiredTiger with a single checkpoint, the one after loading.
const bare = `plimsoll: 1
name: no journal
seed: 3
run: {duration: 2s, warmup: 1s}
host: {cores: 64, memory: 2GiB, filesystem: ext4}
volumes:
  data: {type: custom, size: 1GiB, iops: 3000, latency: {write: {p50: 1ms}}}
engine: {mongodb: {cache: 64MiB, checkpoint: 1h, oplog: false}}
workload:
  arrivals: {poisson: 100/s}
  mix: {update: 100%}
  keys: {count: 50}
  document: {size: 1kB}
  connections: 8
`

// mayEnter gives an engine, which does not run as root, access to the test's folders.
func mayEnter(t *testing.T) {
	t.Helper()
	for _, dir := range []string{mount.Root, filepath.Dir(mount.Root)} {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

// This is what the journal is for: with it, everything acknowledged survives a power loss; without
// it, writes since the last checkpoint do not.
func TestJournalKeepsAcknowledgedWrites(t *testing.T) {
	for journal, kept := range map[string]bool{"true": true, "false": false} {
		t.Run("journal "+journal, func(t *testing.T) {
			sc, opt := options(t, strings.Replace(bare, "oplog: false", "oplog: false, journal: "+journal, 1), nil)
			mayEnter(t)
			if os.Getenv("PLIMSOLL_WIREDTIGER") == "" {
				built, err := filepath.Abs("../../../bin/plimsoll-wiredtiger")
				if err != nil {
					t.Fatal(err)
				}
				if _, err := os.Stat(built); err != nil {
					t.Skip("no worker was built: run make worker")
				}
				t.Setenv("PLIMSOLL_WIREDTIGER", built)
			}

			server, err := wiredtiger.New(*scenario.ConfigOf[*wiredtigermodel.Config](sc))
			if err != nil {
				t.Skip(err)
			}

			opt.Server = func(*scenario.Scenario) (lab.Server, error) { return server, nil }
			opt.PowerLoss = 1
			r, err := Run(t.Context(), sc, opt)
			if err != nil {
				t.Fatal(err)
			}

			if p := r.PowerLoss; p.Held() != kept || p.FailedRecoveries > 0 || p.Wrong > 0 || p.Unreadable > 0 || p.Acknowledged < 50 {
				t.Errorf("%+v", p)
			}
		})
	}
}
