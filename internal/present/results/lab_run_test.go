package results

import (
	"strings"
	"testing"

	"plimsoll/internal/check/golden"
	"plimsoll/internal/lab/run"
	"plimsoll/internal/model/simulate"
	"plimsoll/internal/present/text"
)

// labRun is a run in which everything that a report can mention went wrong.
func labRun() *run.Result {
	return &run.Result{
		Result: &simulate.Result{Version: 1, Scenario: "telemetry", Engine: "etcd", Seconds: 20, WarmupSeconds: 5, OpenLoop: true, AskedPerSec: 100, DonePerSec: 99.9,
			Writes:  simulate.Class{All: simulate.Latency{Operations: 2000, P50Seconds: at(0.002), P99Seconds: at(0.02), MaxSeconds: at(0.3)}},
			Volumes: []simulate.VolumeResult{{Name: "wal", IOPS: 200, IOPSMax: 300, Busy: 0.4, BusyMax: 0.6}}},
		Lab: run.Lab{Server: "etcd 3.6", Kernel: "Linux 6.18", FileSystem: "ext4", Backing: "memory", Saturated: true,
			Volumes: []run.Emulation{{Name: "wal", LateP50: 1e-5, LateP99: 4e-4, LateMax: 0.01, LateShare: 0.07, Kernel: at(0.0012), Asked: at(0.001), Added: 0.0003, Slow: true, Saturated: true}},
			Failed:  3, Errors: map[string]int64{"timed out": 2, "no leader": 1}, Remarks: []string{"the machine stood still once"},
			Dispatch: run.Dispatch{LateP50: 2e-5, LateP99: 3e-4, LateMax: 0.02}},
		PowerLoss: &run.PowerLoss{Cuts: 2, Acknowledged: 900, Keys: 300, Lost: 1, RecoverySeconds: []float64{1, 2}, Kept: 4, Torn: 1, Dropped: 2, Examples: []string{"key 7 is older than what was acknowledged"}},
	}
}

func TestLabRunText(t *testing.T) {
	var b strings.Builder
	if err := text.Write(&b, LabRun(labRun(), Origin{Command: []string{"lab", "run", "telemetry.yaml"}}), text.Options{Width: 100}); err != nil {
		t.Fatal(err)
	}
	golden.Compare(t, "lab_run.golden", b.String())
}

// An existing server has its own volumes, which were not measured. Its address may contain a password,
// so commands omit it.
func TestLabRunOfExistingServer(t *testing.T) {
	r := labRun()
	r.Lab.Existing = &run.Existing{Address: "etcd at db1:2379", Database: "plimsoll/"}
	var b strings.Builder
	d := LabRun(r, Origin{Command: []string{"lab", "run", "telemetry.yaml"}})

	if err := text.Write(&b, d, text.Options{Width: 100, Verbose: true}); err != nil {
		t.Fatal(err)
	}

	for _, s := range d.Sections {
		if s.ID == "volumes" {
			t.Error("volumes that nobody measured")
		}
	}

	if strings.Contains(b.String(), "wal") || !strings.Contains(b.String(), "An existing server: etcd at db1:2379 (etcd 3.6); plimsoll/ was created for this run and removed.") {
		t.Errorf("%s", b.String())
	}
}
