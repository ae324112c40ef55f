//go:build linux

package run

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	etcdmodel "plimsoll/internal/engine/etcd/model"
	etcd "plimsoll/internal/engine/etcd/server"
	"plimsoll/internal/lab"
	"plimsoll/internal/model/scenario"
)

const puts = `plimsoll: 1
name: puts
seed: 5
run: {duration: 3s, warmup: 1s}
host: {cores: 64, memory: 2GiB, filesystem: ext4}
volumes:
  data: {type: custom, size: 1GiB, iops: 3000, latency: {write: {p50: 1ms}}}
engine: {etcd: {catchup_entries: 100, quota: 200MB}}
workload:
  arrivals: {poisson: 100/s}
  mix: {insert: 100%}
  keys: {count: 50}
  document: {size: 300B}
  connections: 8
`

// A current etcd, not just Debian's, runs, is measured, and keeps what it acknowledged.
func TestCurrentEtcd(t *testing.T) {
	built, err := filepath.Abs("../../../bin/etcd-current")
	if err != nil {
		t.Fatal(err)
	}

	if _, err := os.Stat(built); err != nil {
		t.Skip("no current etcd was built: run make etcd")
	}

	sc, opt := options(t, puts, nil)
	mayEnter(t)
	opt.Server = func(sc *scenario.Scenario) (lab.Server, error) {
		return etcd.NewAt(built, *scenario.ConfigOf[*etcdmodel.Config](sc))
	}
	opt.PowerLoss = 1

	r, err := Run(t.Context(), sc, opt)
	if err != nil {
		t.Fatal(err)
	}

	if !strings.HasPrefix(r.Lab.Server, "etcd 3.") || strings.HasPrefix(r.Lab.Server, "etcd 3.4") {
		t.Errorf("ran %s", r.Lab.Server)
	}

	// A write that took less than the volume's latency did not reach the volume.
	if w := r.Writes.All; w.Operations < 50 || *w.P50Seconds < 0.5e-3 || r.Lab.Failed > 0 {
		t.Errorf("writes %+v, %d failed: %v", w, r.Lab.Failed, r.Lab.Errors)
	}

	if p := r.PowerLoss; !p.Held() || p.Cuts != 1 || p.Acknowledged < 50 {
		t.Errorf("%+v", p)
	}
}
