package simulate_test

import (
	"encoding/json"
	"testing"

	"plimsoll/internal/base/units"
	"plimsoll/internal/base/vtime"
	"plimsoll/internal/model/scenario"
	"plimsoll/internal/model/simulate"
	"plimsoll/internal/model/workload"
)

// TestTapeIsTheWorkload: a tape holds the operations that would be drawn, and a run from it gives
// the same result.
func TestTapeIsTheWorkload(t *testing.T) {
	for _, name := range []string{"telemetry", "iris", "postgres", "etcd"} {
		sc := load(t, name, "run={duration: 3s, warmup: 1s}")
		come := simulate.Come(sc)
		end := vtime.Instant(4e9)
		if !come.TapeOf(sc.Workloads(), sc.Seed, end) {
			t.Fatalf("%s: no tape of %+v", name, come)
		}
		if come.TapeOf(sc.Workloads(), sc.Seed+1, end) || come.TapeOf(sc.Workloads(), sc.Seed, end+1) ||
			come.TapeOf(load(t, name, "workload.connections=77").Workloads(), sc.Seed, end) {
			t.Errorf("%s: another workload accepts the tape", name)
		}
		drawn, played := sc.Workloads().Open(sc.Seed), come.Play()
		n := 0
		for d, p := (workload.Op{}), (workload.Op{}); played.Next(&p); n++ {
			if !drawn.Next(&d) || d != p {
				t.Fatalf("%s: operation %d is %+v, on the tape %+v", name, n, d, p)
			}
		}
		if n == 0 {
			t.Errorf("%s: nothing on the tape", name)
		}
		result := func(opt simulate.Options) string {
			r, err := simulate.Run(t.Context(), sc, opt)
			if err != nil {
				t.Fatal(err)
			}
			b, err := json.Marshal(r)
			if err != nil {
				t.Fatal(err)
			}
			return string(b)
		}
		never := scenario.Bound{Name: "write_max", Most: units.Duration(3600e9)}
		if a, b := result(simulate.Options{}), result(simulate.Options{Wanted: &simulate.Wanted{Bounds: []scenario.Bound{never}, Come: come}}); a != b {
			t.Errorf("%s: another run:\n%s\n%s", name, a, b)
		}
	}
}
