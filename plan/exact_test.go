package plan

import (
	"context"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"plimsoll/scenario"
	"plimsoll/simulate"
	"plimsoll/units"
)

// small is a deployment whose run takes milliseconds: a checkpoint every two seconds on a volume that it fills.
const small = `
plimsoll: 1
run: {duration: 6s, warmup: 1s}
host: {instance: m6i.large}
volumes:
  data: {type: gp3, size: 100GiB}
engine:
  wiredtiger: {cache: 256MB, checkpoint: 2s, log_bytes: 300B, oplog: false}
workload:
  arrivals: {poisson: 700/s}
  mix: {update: 100%}
  keys: {count: 20000}
  document: {size: 4KiB}
`

// TestExactAgainstBruteForce: with real runs, ended early and pruned as they are, a plan chooses what running every layout to its end would.
func TestExactAgainstBruteForce(t *testing.T) {
	file := scenario.NewFile("small.yaml", []byte(small))
	now, err := file.Parse(nil)
	if err != nil {
		t.Fatal(err)
	}
	whole, err := makeSpace(now, &Options{})
	if err != nil {
		t.Fatal(err)
	}
	met := 0
	rapid.Check(t, func(t *rapid.T) {
		// A few options of a few axes of the real grid.
		s := &Space{atOnce: 2}
		for _, i := range rapid.SliceOfNDistinct(rapid.IntRange(0, len(whole.axes)-1), 1, 3, rapid.ID).Draw(t, "axes") {
			a := whole.axes[i]
			kept := []option{a.options[0]}
			for _, k := range rapid.SliceOfNDistinct(rapid.IntRange(0, len(a.options)-1), 1, 2, rapid.ID).Draw(t, a.path) {
				if k > 0 {
					kept = append(kept, a.options[k])
				}
			}
			a.options = kept
			s.axes = append(s.axes, a)
		}
		want := []scenario.Bound{{
			Name: rapid.SampledFrom([]string{"write_p50", "write_p99", "write_max", "checkpoint"}).Draw(t, "objective"),
			Most: units.Duration(rapid.SampledFrom([]int64{5e4, 2e5, 1e6, 2e6, 5e6, 2e7, 5e7, 1e8, 1e9}).Draw(t, "most")),
		}}
		got, err := search(t.Context(), s, newSimulator(file, s, want, 2), 2, 1<<20, nil)
		if err != nil {
			t.Fatal(err)
		}
		sim := newSimulator(file, s, want, 2)
		w := s.walk()
		for c := w.next(); ; c = w.next() {
			if c == nil {
				if got.chosen != nil {
					t.Fatalf("chose %v, which does not meet when it is run to its end", texts(s.sets(got.chosen.choice)))
				}
				return
			}
			if o := sim.whole(context.Background(), &job{candidate: c}); o.met {
				met++
				if got.chosen == nil || !slices.Equal(got.chosen.choice, c.choice) {
					t.Fatalf("chose %v, want %v", got.chosen, texts(s.sets(c.choice)))
				}
				return
			}
		}
	})
	if met == 0 {
		t.Error("no objective was ever met: nothing was tested")
	}
}

// TestPrunedIsMissed: what the floor or the load rules out is missed when it is run.
func TestPrunedIsMissed(t *testing.T) {
	for _, c := range []struct {
		name, sets string
		want       scenario.Bound
	}{
		{"floor of gp3", "volumes.data.type=gp3", scenario.Bound{Name: "write_p50", Most: 300_000}},
		{"floor of io2", "volumes.data={type: io2, size: 100GiB, iops: 1000}", scenario.Bound{Name: "write_p99", Most: 150_000}},
		{"load", "engine.wiredtiger.log_bytes=1MB", scenario.Bound{Name: "write_p99", Most: 3_600e9}},
	} {
		file := scenario.NewFile("small.yaml", []byte(small))
		sc, err := file.Parse([]string{c.sets})
		if err != nil {
			t.Fatal(err)
		}
		want := []scenario.Bound{c.want}
		if floor(sc, want)+demand(sc, simulate.Come(sc)) == "" {
			t.Errorf("%s: not ruled out", c.name)
		}
		r, err := simulate.Run(t.Context(), sc, simulate.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if judge(r, want) == "" {
			t.Errorf("%s: ruled out, and met when it is run", c.name)
		}
	}
}

// TestPriceIsTheScenarios: what a layout is said to cost is what simulate says it costs, on every option of every axis.
func TestPriceIsTheScenarios(t *testing.T) {
	for _, path := range []string{"telemetry", "etcd", "iris", "postgres"} {
		file, err := scenario.Open("../examples/scenarios/" + path + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		now, err := file.Parse(nil)
		if err != nil {
			t.Fatal(err)
		}
		s, err := makeSpace(now, &Options{Ephemeral: true})
		if err != nil {
			t.Fatal(err)
		}
		checked := 0
		for i := range s.axes {
			for k := range s.axes[i].options {
				choice := make([]int, len(s.axes))
				choice[i] = k
				sc, err := file.Parse(texts(s.sets(choice)))
				if err != nil {
					continue // refused by the scenario's checks, so no layout
				}
				checked++
				volumes, instances, _ := sc.Monthly()
				if got := s.price(choice); got-micro(volumes+instances) > 10 || micro(volumes+instances)-got > 10 {
					t.Errorf("%s: %v costs %v, the scenario says %v", path, texts(s.sets(choice)), got.usd(), volumes+instances)
				}
			}
		}
		if checked < 20 {
			t.Errorf("%s: %d layouts could be looked at", path, checked)
		}
	}
}
