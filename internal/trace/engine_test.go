//go:build linux

package trace_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"plimsoll/internal/base/units"
	"plimsoll/internal/engine"
	"plimsoll/internal/lab"
	"plimsoll/internal/model/database"
	"plimsoll/internal/model/scenario"
	"plimsoll/internal/model/workload"
	"plimsoll/internal/trace/target"
)

// A stored is a real engine on file systems, with clients.
type stored struct {
	server  lab.Server
	choice  target.Choice
	rate    float64 // operations per second that run's clients begin; 0: as fast as they can
	clients int
	keys    uint64
	size    units.Size

	mu      sync.Mutex
	answers []time.Duration // latencies seen by run's clients since run last cleared them
	begun   bool            // run's clients are running
	last    []time.Duration // latencies of the last run, in order
}

// scenarioOf returns a scenario with an engine on volumes of these names.
func scenarioOf(t testing.TB, settings, load string, volumes ...string) *scenario.Scenario {
	t.Helper()
	var b strings.Builder
	b.WriteString("plimsoll: 1\nname: traced\nrun: {duration: 50s, warmup: 10s}\nhost: {cores: 2, memory: 8GiB}\nvolumes:\n")
	for _, v := range volumes {
		fmt.Fprintf(&b, "  %s: {type: custom, size: 4GiB, iops: 1000, throughput: 40MiB/s, latency: {like: gp3}}\n", v)
	}
	fmt.Fprintf(&b, "engine: %s\nworkload: %s\n", settings, load)
	sc, err := scenario.NewLanguage(engine.All().Models(), nil).Parse("traced.yaml", []byte(b.String()), nil)
	if err != nil {
		t.Fatal(err)
	}
	return sc
}

// store starts a scenario's engine on folders, given by the names of its volumes. It skips the test
// if the engine is not installed.
func store(t testing.TB, sc *scenario.Scenario, dirs map[string]string) *stored {
	t.Helper()
	e, err := database.Find(engine.All().Labs(), sc.Engine.Name(), "run in the lab")
	if err != nil {
		t.Fatal(err)
	}

	server, err := e.Part.New(sc)
	if err != nil {
		t.Skip(err) // not installed
	}

	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	t.Cleanup(func() {
		if err := server.Crash(); err != nil { // faster than a shutdown that writes to a slow volume
			t.Error(err)
		}
	})

	w := sc.Workloads()
	scratch := t.TempDir()
	if err := os.Chmod(filepath.Dir(scratch), 0o755); err != nil { // engines do not run as root
		t.Fatal(err)
	}

	if err := server.Start(ctx, &lab.Machine{Dirs: dirs, Scratch: scratch, Scenario: sc}, func(string, int64, int64) {}); err != nil {
		t.Fatal(err)
	}

	s := &stored{server: server, clients: min(max(w.Connections(), 1), clientsMax), keys: uint64(w.Documents()), size: w.DocumentSize()}
	for _, dir := range dirs {
		s.choice = target.Choice{Path: dir}
	}

	return s
}

// clientsMax is the number of clients for scenarios with an open loop.
const clientsMax = 32

// update updates documents until the context ends, at a fixed rate unless it is 0.
func (s *stored) update(ctx context.Context, perSecond float64) {
	n := s.clients
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(1, uint64(i)))
			next := time.Now()
			for seq := uint64(1); ctx.Err() == nil; seq++ {
				if perSecond > 0 {
					next = next.Add(time.Duration(rng.ExpFloat64() * float64(n) / perSecond * 1e9))
					select {
					case <-ctx.Done():
						return
					case <-time.After(time.Until(next)):
					}
				}

				op := lab.Op{Seq: seq, Op: workload.Op{Kind: workload.Update, Key: rng.Uint64N(s.keys), Size: s.size, Document: s.size}}
				began := time.Now()
				if perSecond > 0 {
					began = next // starting late counts as latency
				}

				if s.server.Do(ctx, i, &op) == nil {
					took := time.Since(began)
					s.mu.Lock()
					s.answers = append(s.answers, took)
					s.mu.Unlock()
				}
			}
		})
	}

	wg.Wait()
}

// updating updates documents until the test ends.
func (s *stored) updating(t testing.TB, perSecond float64) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.update(ctx, perSecond)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
}

func (s *stored) target() target.Choice { return s.choice }

// lasts implements runner. The machine's own speed changes by a fifth within seconds.
func (*stored) lasts() time.Duration { return 600 * time.Millisecond }

// took implements runner.
func (s *stored) took() map[string]latencies {
	return map[string]latencies{"operations": latenciesOf(s.last)}
}

// run implements runner. Its clients keep running between runs.
func (s *stored) run(t testing.TB, lasts time.Duration) (float64, time.Duration) {
	t.Helper()
	if !s.begun {
		s.begun = true
		s.updating(t, s.rate)
	}

	s.mu.Lock()
	s.answers = s.answers[:0]
	s.mu.Unlock()
	time.Sleep(lasts)
	s.mu.Lock()
	all := slices.Clone(s.answers)
	s.mu.Unlock()

	if len(all) == 0 {
		t.Fatal("the engine answered no operation")
	}

	slices.Sort(all)
	s.last = all
	return float64(len(all)), all[len(all)*99/100]
}

// databaseLoad is a load of an engine on one volume, at a fixed rate or as fast as possible.
func databaseLoad(settings, load string, rate float64) func(testing.TB, string) runner {
	return func(t testing.TB, dir string) runner {
		t.Helper()
		s := store(t, scenarioOf(t, settings, load, "data"), map[string]string{"data": dir})
		if s.rate = rate; rate > 0 {
			s.clients = offering
		}
		return s
	}
}
