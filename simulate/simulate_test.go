package simulate

import (
	"context"
	"encoding/json"
	"path/filepath"
	"testing"

	"plimsoll/scenario"
)

func load(t testing.TB, name string, sets ...string) *scenario.Scenario {
	t.Helper()
	sc, err := scenario.Load(filepath.Join("../examples/scenarios", name+".yaml"), sets)
	if err != nil {
		t.Fatal(err)
	}
	return sc
}

func run(t testing.TB, sc *scenario.Scenario, opt Options) *Result {
	t.Helper()
	r, err := Run(context.Background(), sc, opt)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestZZ(t *testing.T) {
	for _, n := range []string{"telemetry", "wiredtiger-lab", "etcd", "postgres", "iris"} {
		r := run(t, load(t, n), Options{})
		r.Writes.SinceCheckpoint, r.Reads.SinceCheckpoint = nil, nil
		b, _ := json.MarshalIndent(r, "", " ")
		t.Logf("%s", b)
	}
}

// BenchmarkTelemetry is ten minutes of the telemetry platform after two of warm-up.
func BenchmarkTelemetry(b *testing.B) {
	for b.Loop() {
		run(b, load(b, "telemetry"), Options{})
	}
}
