package simulate_test

import (
	"errors"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"plimsoll/internal/base/units"
	"plimsoll/internal/model/scenario"
	"plimsoll/internal/model/simulate"
)

const unpaced = `
plimsoll: 1
run: {duration: 5s, warmup: 1s}
host: {cores: 2, memory: 8GiB}
volumes:
  data: {type: custom, size: 50GiB, iops: 1500, throughput: 40MB/s, latency: {like: gp3}}
engine:
  mongodb: {cache: 256MB, checkpoint: 1500ms, log_bytes: 300B, oplog: false}
workload:
  arrivals: {poisson: 600/s}
  mix: {update: 70%, read: 30%}
  keys: {count: 20000}
  document: {size: 4KiB}
`

// TestMissIsCertain: a run that stopped early because it missed its limit also misses it if it runs to
// the end. A run that did not stop early has the same result as one without limits.
func TestMissIsCertain(t *testing.T) {
	sc, err := language.Parse("unpaced.yaml", []byte(unpaced), nil)
	if err != nil {
		t.Fatal(err)
	}

	whole, err := simulate.Run(t.Context(), sc, simulate.Options{})
	if err != nil {
		t.Fatal(err)
	}

	come := simulate.ArrivalsOf(sc)
	if n := come.Writes + come.Reads; float64(n) != whole.AskedPerSec*whole.Seconds {
		t.Fatalf("%d arrivals expected, %v/s for %v s in the result", n, whole.AskedPerSec, whole.Seconds)
	}

	early, kept := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom([]string{"write_p50", "write_p95", "write_p99", "write_p999", "write_max", "read_p50", "read_p99", "read_max", "checkpoint"}).Draw(t, "name")
		got := whole.Figure(name)
		if got == nil {
			t.Fatalf("no %s", name)
		}

		// Limits close to the run's own figure, where the decision is hardest.
		most := units.Duration(*got * 1e9 * rapid.Float64Range(0.5, 1.5).Draw(t, "times"))
		wanted := &simulate.Wanted{Bounds: []scenario.Bound{{Name: name, Most: most}}, Arrivals: come}
		r, err := simulate.Run(t.Context(), sc, simulate.Options{Wanted: wanted})

		var missed *simulate.MissedError
		switch {
		case errors.As(err, &missed):
			early++
			if *got <= float64(most)/1e9 {
				t.Fatalf("ended early for %v, but the full run has %v", missed, *got)
			}
		case err != nil:
			t.Fatal(err)
		default:
			kept++
			if !reflect.DeepEqual(r, whole) {
				t.Fatal("another result than without")
			}
		}
	})

	if early == 0 || kept == 0 {
		t.Errorf("%d runs ended early, %d did not: want some of each", early, kept)
	}
}
