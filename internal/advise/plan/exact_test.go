package plan

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"plimsoll/internal/base/units"
	"plimsoll/internal/model/scenario"
	"plimsoll/internal/model/simulate"
)

// small is a deployment whose run takes milliseconds: a checkpoint every two seconds on a volume
// that it saturates.
const small = `
plimsoll: 1
run: {duration: 6s, warmup: 1s}
host: {instance: m6i.large}
volumes:
  data: {type: gp3, size: 100GiB}
engine:
  mongodb: {cache: 256MB, checkpoint: 2s, log_bytes: 300B, oplog: false}
workload:
  arrivals: {poisson: 700/s}
  mix: {update: 100%}
  keys: {count: 20000}
  document: {size: 4KiB}
`

// smallIRIS is a deployment whose reads alone nearly saturate the volume, with a write daemon cycle every
// second.
const smallIRIS = `
plimsoll: 1
run: {duration: 2s, warmup: 300ms}
host: {instance: r5n.8xlarge}
volumes:
  data: {type: gp3, size: 1000GiB, iops: 9000}
  wij: {type: gp3, size: 10GiB, throughput: 250MiB/s}
engine:
  iris: {database: 8GiB, buffers: 64MiB, cycle: 1s}
workload:
  arrivals: {poisson: 5500/s}
  mix: {read: 80%, update: 20%}
  keys: {distribution: uniform}
`

// With real runs (ended early, repeated and pruned as usual), a plan chooses the same layout as
// running every layout to the end. The number of workers affects neither the choice nor the counts.
func TestExactAgainstBruteForce(t *testing.T) {
	if underRace {
		t.Skip("thousands of runs one by one; made without the race detector")
	}

	now, whole := gridOf(t, small)
	met, pruned := 0, 0
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

		m, p := exact(t.Context(), t, now, s, want)
		met, pruned = met+m, pruned+p
	})

	if met == 0 || pruned == 0 {
		t.Errorf("%d objectives met, %d layouts rejected without a run: this tests nothing", met, pruned)
	}
}

// The same for an engine that reads more than it writes.
func TestExactIRIS(t *testing.T) {
	if underRace {
		t.Skip("thousands of runs one by one; made without the race detector")
	}

	now, whole := gridOf(t, smallIRIS)
	met, pruned := 0, 0
	for i, most := range []int64{1e6, 3e6, 5e6, 1e7, 2e7, 1e9} {
		s := &Space{}
		for _, a := range whole.axes[:2] { // the databases' volume and the WIJ's
			a.options = []option{a.options[0], a.options[1+i%2], a.options[(2+7*i)%len(a.options)]}
			s.axes = append(s.axes, a)
		}
		m, p := exact(t.Context(), t, now, s, []scenario.Bound{{Name: "read_p99", Most: units.Duration(most)}})
		met, pruned = met+m, pruned+p
	}

	if met == 0 || pruned == 0 {
		t.Errorf("%d objectives met, %d layouts rejected without a run: this tests nothing", met, pruned)
	}
}

// parsed returns a text's scenario.
func parsed(t *testing.T, text string, sets ...string) *scenario.Scenario {
	t.Helper()
	sc, err := language.Parse("small.yaml", []byte(text), sets)
	if err != nil {
		t.Fatal(err)
	}
	return sc
}

func gridOf(t *testing.T, text string) (*scenario.Scenario, *Space) {
	now := parsed(t, text)
	whole, err := makeSpace(now, &Options{Engines: every.Engines})
	if err != nil {
		t.Fatal(err)
	}
	return now, whole
}

// exact compares a search with running every layout to the end. It returns whether a layout met the
// objective, and how many were rejected without a run.
func exact(ctx context.Context, t rapid.TB, now *scenario.Scenario, s *Space, want []scenario.Bound) (met, pruned int) {
	got, err := search(ctx, s, newSimulator(&every, now, s, want, 2), 2, 1<<20, nil)
	if err != nil {
		t.Fatal(err)
	}

	alone, err := search(ctx, s, newSimulator(&every, now, s, want, 1), 1, 1<<20, nil)
	if err != nil {
		t.Fatal(err)
	}

	if a, b := summed(got), summed(alone); a != b {
		t.Fatalf("two workers: %s; one: %s", a, b)
	}

	for _, o := range got.rejected {
		if o.pruned || o.repeated {
			pruned++
		}
	}

	sim, w := newSimulator(&every, now, s, want, 2), s.walk()
	for c := w.next(); c != nil; c = w.next() {
		if o := sim.whole(ctx, c); o.met {
			if got.chosen == nil || !slices.Equal(got.chosen.choice, c.choice) {
				t.Fatalf("chose %v, want %v", got.chosen, texts(s.sets(c.choice)))
			}
			return 1, pruned
		}
	}

	if got.chosen != nil {
		t.Fatalf("chose %v, which misses the objective when run to its end", texts(s.sets(got.chosen.choice)))
	}

	return 0, pruned
}

// summed describes a search's result.
func summed(s *searchResult) string {
	text := fmt.Sprint(s.runs, s.complete, s.chosen != nil && s.chosen.met)
	for _, o := range s.rejected {
		text += fmt.Sprint("\n", o.choice, o.pruned, o.repeated, o.result != nil, o.reason)
	}
	return text
}

// A layout that its floor or its load rules out misses the objective when it is run.
func TestPrunedIsMissed(t *testing.T) {
	for _, c := range []struct {
		name, sets string
		want       scenario.Bound
	}{
		{"floor of gp3", "volumes.data.type=gp3", scenario.Bound{Name: "write_p50", Most: 300_000}},
		{"floor of io2", "volumes.data={type: io2, size: 100GiB, iops: 1000}", scenario.Bound{Name: "write_p99", Most: 150_000}},
		{"load", "engine.mongodb.log_bytes=1MB", scenario.Bound{Name: "write_p99", Most: 3_600e9}},
		{"reads", "volumes.data.iops=3000", scenario.Bound{Name: "read_p99", Most: 3_600e9}},
	} {
		text := small
		if c.name == "reads" {
			text = smallIRIS
		}

		sc := parsed(t, text, c.sets)
		want := []scenario.Bound{c.want}
		come, e := simulate.ArrivalsOf(sc), every.profileOf(sc)
		if floor(sc, &e, want)+demand(sc, &e, come)+reading(sc, &e, come, func() int64 { return e.FirstReads(come) }) == "" {
			t.Errorf("%s: not ruled out", c.name)
		}

		r, err := simulate.Run(t.Context(), sc, simulate.Options{})
		if err != nil {
			t.Fatal(err)
		}

		if r.Judge(want) == "" {
			t.Errorf("%s: ruled out, and met when it is run", c.name)
		}
	}
}

// The price of a layout equals the one from simulate, for every option of every axis.
func TestPriceIsTheScenarios(t *testing.T) {
	for _, path := range []string{"telemetry", "etcd", "iris", "postgres"} {
		now, err := language.Load("../../../examples/scenarios/"+path+".yaml", nil)
		if err != nil {
			t.Fatal(err)
		}

		s, err := makeSpace(now, &Options{Engines: every.Engines, Ephemeral: true})
		if err != nil {
			t.Fatal(err)
		}

		checked := 0
		for i := range s.axes {
			for k := range s.axes[i].options {
				choice := make([]int, len(s.axes))
				choice[i] = k
				sc, err := now.With(s.sets(choice)...)
				if err != nil {
					continue // refused by the scenario's checks, so not a layout
				}
				checked++
				volumes, instances, _ := sc.Monthly()
				if got := s.price(choice); got-micro(volumes+instances) > 10 || micro(volumes+instances)-got > 10 {
					t.Errorf("%s: %v costs %v, the scenario says %v", path, texts(s.sets(choice)), got.usd(), volumes+instances)
				}
			}
		}

		if checked < 20 {
			t.Errorf("%s: %d layouts could be checked", path, checked)
		}
	}
}

// flooded writes more log than its machine's limits allow, unless EBS is favoured.
const flooded = `
plimsoll: 1
run: {duration: 20s, warmup: 1s}
host: {instance: m8g.16xlarge}
volumes: {data: {type: io2, size: 1000GiB, iops: 100000}}
engine: {mongodb: {cache: 256MB, checkpoint: 5s, oplog: false, log_bytes: 1MB}}
workload: {arrivals: {constant: 3000/s}, mix: {update: 100%}, keys: {count: 20000}, document: {size: 100B}}
`

// The bandwidth weighting is a setting without a price, but it changes the machine's limits. Ruling
// out the current weighting without a run must not rule out the other.
func TestExactWeighting(t *testing.T) {
	if underRace {
		t.Skip("thousands of runs one by one; made without the race detector")
	}
	now, whole := gridOf(t, flooded)
	s := &Space{atOnce: 1}
	for _, a := range whole.axes {
		if a.path == "host.bandwidth_weighting" {
			s.axes = append(s.axes, a)
		}
	}
	met, pruned := exact(t.Context(), t, now, s, []scenario.Bound{{Name: "write_p99", Most: 1e9}})
	if met == 0 || pruned == 0 {
		t.Errorf("%d objectives met, %d layouts rejected without a run: this tests nothing", met, pruned)
	}
}
