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
  wiredtiger: {cache: 256MB, checkpoint: 1500ms, log_bytes: 300B, oplog: false}
workload:
  arrivals: {poisson: 600/s}
  mix: {update: 70%, read: 30%}
  keys: {count: 20000}
  document: {size: 4KiB}
`

// TestMissIsCertain: a run that ended early also misses its bound when it runs to the end. A run
// that did not end early has the same result as one without bounds.
func TestMissIsCertain(t *testing.T) {
	sc, err := language.Parse("unpaced.yaml", []byte(unpaced), nil)
	if err != nil {
		t.Fatal(err)
	}
	whole, err := simulate.Run(t.Context(), sc, simulate.Options{})
	if err != nil {
		t.Fatal(err)
	}
	come := simulate.Come(sc)
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
		// Bounds close to the run's own figure, where the decision is hardest.
		most := units.Duration(*got * 1e9 * rapid.Float64Range(0.5, 1.5).Draw(t, "times"))
		wanted := &simulate.Wanted{Bounds: []scenario.Bound{{Name: name, Most: most}}, Come: come}
		// Known from the beginning, or only after some seconds.
		if after := rapid.IntRange(0, 3).Draw(t, "known after"); after > 0 {
			bounds, asked := wanted.Bounds, 0
			wanted.Bounds, wanted.Later = nil, func() []scenario.Bound {
				if asked++; asked < after {
					return nil
				}
				return bounds
			}
		}
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

// TestForeseen: of deployments whose warm-up has two cycles of the engine, each miss that is foreseen is
// one of the whole run, a run without one is the same as if nobody had asked, and a maximum is never
// foreseen.
func TestForeseen(t *testing.T) {
	foreseen, kept := 0, 0
	for _, iops := range []string{"600", "900", "1200", "1500", "2500"} {
		sc, err := language.Parse("unpaced.yaml", []byte(unpaced), []string{"run={duration: 12s, warmup: 3s}", "volumes.data.iops=" + iops})
		if err != nil {
			t.Fatal(err)
		}
		whole, err := simulate.Run(t.Context(), sc, simulate.Options{})
		if err != nil {
			t.Fatal(err)
		}
		come := simulate.Come(sc)
		for _, name := range []string{"write_p50", "write_p95", "write_p99", "read_p99", "write_max"} {
			for _, times := range []float64{0.02, 0.1, 0.3, 0.8, 0.95, 1.05, 1.2} {
				most := units.Duration(*whole.Figure(name) * 1e9 * times)
				wanted := &simulate.Wanted{Bounds: []scenario.Bound{{Name: name, Most: most}}, Come: come, Foresee: true}
				r, err := simulate.Run(t.Context(), sc, simulate.Options{Wanted: wanted})
				var missed *simulate.MissedError
				switch {
				case errors.As(err, &missed) && missed.Foreseen:
					foreseen++
					if times > 1 || name == "write_max" || missed.After >= 0 || missed.Over <= missed.Allowed {
						t.Errorf("IOPS %s, %s of %v: foreseen: %+v", iops, name, times, missed)
					}
				case errors.As(err, &missed):
				case err != nil:
					t.Fatal(err)
				default:
					kept++
					if !reflect.DeepEqual(r, whole) {
						t.Errorf("IOPS %s, %s of %v: another result than without", iops, name, times)
					}
				}
			}
		}
	}
	if foreseen < 8 || kept < 20 {
		t.Errorf("%d runs ended in the warm-up, %d not at all: want some of each", foreseen, kept)
	}
	t.Logf("%d foreseen, %d kept", foreseen, kept)
}

// TestHopefulIsAHint: a run whose warm-up kept its bounds says so, one whose warm-up did not says
// nothing, and what comes of it is the same whether anybody asked.
func TestHopefulIsAHint(t *testing.T) {
	sc, err := language.Parse("unpaced.yaml", []byte(unpaced), []string{"run.warmup=4s"})
	if err != nil {
		t.Fatal(err)
	}
	come := simulate.Come(sc)
	for most, want := range map[units.Duration]int{1: 0, 3600e9: 1} {
		said := 0
		wanted := &simulate.Wanted{Bounds: []scenario.Bound{{Name: "write_p99", Most: most}}, Come: come}
		plain, err := simulate.Run(t.Context(), sc, simulate.Options{Wanted: wanted})
		asking := *wanted
		asking.Hopeful = func() { said++ }
		asked, err2 := simulate.Run(t.Context(), sc, simulate.Options{Wanted: &asking})
		if said != want || !reflect.DeepEqual(plain, asked) || (err == nil) != (err2 == nil) || err != nil && err.Error() != err2.Error() {
			t.Errorf("%v: said %d times, want %d; %v, %v", most, said, want, err, err2)
		}
	}
}
