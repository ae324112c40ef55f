//go:build linux

package run

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"plimsoll/internal/engine"
	"plimsoll/internal/lab"
	"plimsoll/internal/lab/blockdev"
	"plimsoll/internal/lab/mount"
	"plimsoll/internal/model/scenario"
	"plimsoll/internal/record/recording"
)

// The test binary also serves the volumes.
func TestMain(m *testing.M) {
	if root := os.Getenv("PLIMSOLL_TEST_LAB_ROOT"); root != "" {
		mount.Root = root
		if err := mount.Serve(context.Background(), language, os.Stdin, os.Stdout); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// appends is a log on a volume whose writes take 2 ms.
const appends = `plimsoll: 1
name: appends
seed: 7
run: {duration: 3s, warmup: 1s}
host: {cores: 64, memory: 1GiB, filesystem: ext4, dirty_background_bytes: 64MiB}
volumes:
  wal: {type: custom, size: 256MiB, iops: 1000, latency: {write: {p50: 2ms}}}
engine: {streams: {}}
workload:
  arrivals: {poisson: 100/s}
  mix: {update: 90%, read: 10%}
  keys: {count: 50}
  document: {size: 100B}
  connections: 8
objective: {write_p99: 1us}
`

// options gives a run its own state folder, which must be empty at the end.
func options(t *testing.T, text string, server lab.Server) (*scenario.Scenario, Options) {
	t.Helper()
	if err := blockdev.Available(); err != nil {
		t.Skip(err)
	}

	if _, err := exec.LookPath("mkfs.ext4"); err != nil {
		t.Skip("mkfs.ext4 is not installed")
	}

	file := filepath.Join(t.TempDir(), "scenario.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}

	sc, err := language.Load(file, nil)
	if err != nil {
		t.Fatal(err)
	}

	before := mount.Root
	mount.Root = t.TempDir()
	t.Setenv("PLIMSOLL_TEST_LAB_ROOT", mount.Root)
	t.Cleanup(func() {
		nothingLeft(t, mount.Root)
		did, err := mount.Sweep()
		// Another test may have left kernel settings on this machine.
		did = slices.DeleteFunc(did, func(line string) bool { return strings.HasPrefix(line, "restored ") })
		if err != nil || len(did) > 0 {
			t.Error(did, err)
		}
		mount.Root = before
	})

	return sc, Options{
		Engines: engine.All().Labs(),
		File:    file, Daemon: []string{os.Args[0]}, Log: func(line string) { t.Log(line) },
		Server: func(*scenario.Scenario) (lab.Server, error) { return server, nil },
	}
}

func nothingLeft(t *testing.T, root string) {
	t.Helper()
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil || bytes.Contains(mounts, []byte(root)) {
		t.Errorf("mounts were left below %s: %v", root, err)
	}

	files, err := filepath.Glob("/sys/block/loop*/loop/backing_file")
	if err != nil {
		t.Error(err)
	}

	for _, f := range files {
		if text, err := os.ReadFile(f); err == nil && bytes.Contains(text, []byte(root)) {
			t.Errorf("%s is still over %s", f, text)
		}
	}

	if entries, err := os.ReadDir(root); err != nil || len(entries) > 0 {
		t.Errorf("states were left: %v %v", entries, err)
	}
}

func dirtyBackground(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("/proc/sys/vm/dirty_background_bytes")
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

// TestRun runs a small log with two power losses and checks every part of the outcome.
func TestRun(t *testing.T) {
	sc, opt := options(t, appends, &fileLog{})
	record := recording.NewMemory(recording.MemoryOptions{})
	phases, during := map[string]bool{}, ""
	opt.Record, opt.Series, opt.PowerLoss, opt.Model = record, true, 2, true
	opt.Progress = func(p Progress) {
		phases[p.Phase] = true
		if p.Phase == "measuring" {
			during = dirtyBackground(t)
		}
	}

	r, err := Run(t.Context(), sc, opt)
	if err != nil {
		t.Fatal(err)
	}

	for _, want := range []string{"mounting volumes", "loading documents", "warming up", "measuring", "verifying acknowledged writes", "shutting down", "simulating the scenario"} {
		if !phases[want] {
			t.Errorf("%q is missing in %v", want, phases)
		}
	}

	// Other runs may precede and follow this one; no other test sets this value.
	if after := dirtyBackground(t); len(r.Lab.Settings) > 0 && during != "67108864" || after == "67108864" {
		t.Errorf("dirty_background_bytes was %q during the run, and is %s now", during, after)
	}

	checkResult(t, r)
	checkRecording(t, record)

	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}

	var flat map[string]any
	if err := json.Unmarshal(text, &flat); err != nil {
		t.Fatal(err)
	}

	for _, field := range []string{"version", "source", "writes", "volumes", "lab", "power_loss", "model", "series"} {
		if flat[field] == nil {
			t.Errorf("no %s in %s", field, text)
		}
	}
}

func checkResult(t *testing.T, r *Result) {
	t.Helper()

	// A busy machine may complete few of the 270. A write that took less than the volume's latency
	// (median 2 ms) did not reach the volume.
	if w := r.Writes.All; w.Operations < 20 || *w.P50Seconds < 1e-3 || r.Reads.All.Operations == 0 {
		t.Errorf("writes %+v, reads %+v", w, r.Reads.All)
	}

	if c := r.Checkpoints; c.Count == 0 || c.MedianSeconds == nil || r.Writes.DuringCheckpoint.Operations == 0 {
		t.Errorf("checkpoints %+v", c)
	}

	if len(r.Volumes) != 1 || r.Volumes[0].Name != "wal" || r.Volumes[0].WriteIOPS < 5 || r.Volumes[0].Busy <= 0 {
		t.Errorf("volumes %+v", r.Volumes)
	}

	if r.Source != "lab" || r.Lab.Server != "file log 1" || r.Lab.Backing != "memory" || len(r.Lab.Volumes) != 1 || r.Lab.Failed != 0 {
		t.Errorf("%+v", r.Lab)
	}

	if len(r.Objectives) != 1 || r.Objectives[0].Met {
		t.Errorf("objectives %+v", r.Objectives)
	}

	if !strings.Contains(strings.Join(r.Lab.Remarks, "\n"), "64 cores are not emulated") {
		t.Errorf("remarks %q", r.Lab.Remarks)
	}

	p := r.PowerLoss
	if p.Cuts != 2 || !p.Held() || len(p.RecoverySeconds) != 2 || p.Acknowledged < 20 || p.Keys == 0 || len(p.Examples) != 0 {
		t.Errorf("power losses: %+v", p)
	}

	if r.Model == nil || r.Model.Writes.All.Operations == 0 {
		t.Error("no model to compare with")
	}
}

func checkRecording(t *testing.T, record *recording.Memory) {
	t.Helper()
	last := func(selector string) float64 {
		t.Helper()
		series, err := record.Samples(t.Context(), recording.MustSelector(selector), time.UnixMilli(0), time.Now())
		if err != nil || len(series) != 1 || len(series[0].Points) == 0 {
			t.Errorf("%s: %d series, %v", selector, len(series), err)
			return 0
		}
		return series[0].Points[len(series[0].Points)-1].F
	}

	if n := last(`plimsoll_client_operations_total{kind="write"}`); n < 100 {
		t.Errorf("%g writes were recorded", n)
	}

	if all, n := last(`plimsoll_client_latency_seconds_bucket{kind="write",le="+Inf"}`), last(`plimsoll_client_operations_total{kind="write"}`); all != n {
		t.Errorf("the histogram has %g of %g writes", all, n)
	}

	last(`plimsoll_lab_late_seconds{volume_id="wal",quantile="0.99"}`)
	last(`node_memory_Dirty_bytes`)
	if n := last(`node_disk_writes_completed_total{device="wal"}`); n < 100 {
		t.Errorf("%g requests were recorded", n)
	}

	if all, err := record.Samples(t.Context(), recording.MetricSelector(`node_disk_writes_completed_total`), time.UnixMilli(0), time.Now()); err != nil || len(all) != 1 {
		t.Errorf("%d devices are recorded, %v", len(all), err)
	}

	var lab bool
	for _, s := range record.Sources() {
		lab = lab || s.Kind == "lab" && s.Samples > 0 && s.Facts["device_of_wal"] != ""
	}

	if !lab {
		t.Errorf("sources %+v", record.Sources())
	}
}

// TestFindsLostWrites: a server that acknowledges before it has written loses acknowledged writes.
func TestFindsLostWrites(t *testing.T) {
	sc, opt := options(t, strings.Replace(appends, "duration: 3s, warmup: 1s", "duration: 1s, warmup: 500ms", 1), &fileLog{forgets: true})
	opt.PowerLoss = 1
	r, err := Run(t.Context(), sc, opt)
	if err != nil {
		t.Fatal(err)
	}
	// A checkpoint's sync of another file may save the beginning of the log, because it writes the
	// whole journal.
	if p := r.PowerLoss; p.Held() || p.Lost == 0 || len(p.Examples) == 0 {
		t.Errorf("%+v", p)
	}
}

// TestLeavesNothing: a run leaves nothing behind, however it ends.
func TestLeavesNothing(t *testing.T) {
	t.Run("interrupted", func(t *testing.T) {
		sc, opt := options(t, appends, &fileLog{})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		opt.Progress = func(p Progress) {
			if p.Phase == "measuring" {
				cancel()
			}
		}
		if _, err := Run(ctx, sc, opt); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})

	t.Run("volumes that die", func(t *testing.T) {
		sc, opt := options(t, strings.Replace(appends, "duration: 3s", "duration: 60s", 1), &fileLog{})
		var once sync.Once
		opt.Progress = func(p Progress) {
			if p.Phase == "measuring" {
				once.Do(func() { killDaemon(t) })
			}
		}

		if _, err := Run(t.Context(), sc, opt); err == nil {
			t.Error("no error")
		} else {
			t.Log(err)
		}
	})

	t.Run("server that does not start", func(t *testing.T) {
		sc, opt := options(t, appends, &brokenServer{})
		if _, err := Run(t.Context(), sc, opt); err == nil || !strings.Contains(err.Error(), "is missing") {
			t.Error(err)
		}
	})
}

// killDaemon kills the process that serves the volumes.
func killDaemon(t *testing.T) {
	states, err := mount.States()
	if err != nil {
		t.Error(err)
	}
	for _, s := range states {
		if err := syscall.Kill(s.PID, syscall.SIGKILL); err != nil {
			t.Error(err)
		}
	}
}

func TestNoSuchServer(t *testing.T) {
	sc, err := language.Load("../../../examples/scenarios/iris.yaml", nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Run(t.Context(), sc, Options{Engines: engine.All().Labs()}); err == nil || !strings.Contains(err.Error(), "the lab cannot run iris") {
		t.Error(err)
	}
}
