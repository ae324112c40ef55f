package simulate

import (
	"encoding/json"
	"testing"

	"plimsoll/internal/base/units"
	"plimsoll/internal/base/vtime"
	"plimsoll/internal/model/scenario"
	"plimsoll/internal/model/workload"
)

// TestTapeIsTheWorkload: what is played is what is drawn, and a run of it is the same run.
func TestTapeIsTheWorkload(t *testing.T) {
	for _, name := range []string{"telemetry", "iris", "postgres", "etcd"} {
		sc := load(t, name, "run={duration: 3s, warmup: 1s}")
		come := Come(sc)
		end := vtime.Instant(4e9)
		if !come.tape.of(sc.Workloads(), sc.Seed, end) {
			t.Fatalf("%s: no tape of %+v", name, come)
		}
		if come.tape.of(sc.Workloads(), sc.Seed+1, end) || come.tape.of(sc.Workloads(), sc.Seed, end+1) ||
			come.tape.of(load(t, name, "workload.connections=77").Workloads(), sc.Seed, end) {
			t.Errorf("%s: the tape is taken for another workload's", name)
		}
		drawn, played := sc.Workloads().Open(sc.Seed), &player{tape: come.tape}
		n := 0
		for d, p := (workload.Op{}), (workload.Op{}); played.Next(&p); n++ {
			if !drawn.Next(&d) || d != p {
				t.Fatalf("%s: operation %d is %+v, on the tape %+v", name, n, d, p)
			}
		}
		if n == 0 {
			t.Errorf("%s: nothing on the tape", name)
		}
		result := func(opt Options) string {
			r, err := Run(t.Context(), sc, opt)
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
		if a, b := result(Options{}), result(Options{Wanted: &Wanted{Bounds: []scenario.Bound{never}, Come: come}}); a != b {
			t.Errorf("%s: another run:\n%s\n%s", name, a, b)
		}
	}
}

// TestTapeIsBounded: what does not fit is drawn anew.
func TestTapeIsBounded(t *testing.T) {
	for _, op := range []workload.Op{{At: 1 << 40}, {Size: 1 << 40}, {Document: 1 << 40}} {
		tp := &tape{}
		tp.add(&workload.Op{})
		if tp.add(&op); !tp.over || tp.chunks != nil {
			t.Errorf("%+v: on the tape", op)
		}
	}
	tp := &tape{n: tapeMax}
	if tp.add(&workload.Op{}); !tp.over {
		t.Errorf("a tape of more than %d operations", tapeMax)
	}
}
