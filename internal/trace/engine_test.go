//go:build linux

package trace_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"plimsoll/internal/base/units"
	engines "plimsoll/internal/engine"
	"plimsoll/internal/lab"
	"plimsoll/internal/model/engine"
	"plimsoll/internal/model/scenario"
	"plimsoll/internal/model/workload"
	"plimsoll/internal/trace/target"
)

// A stored is a real engine on file systems, with clients.
type stored struct {
	server  lab.Server
	choice  target.Choice
	rate    float64 // of operations a second that the clients of run begin; 0: as many as they can
	clients int
	keys    uint64
	size    units.Size

	mu      sync.Mutex
	answers []time.Duration // latencies of the clients of run, since it last looked
	begun   bool            // these clients run
	last    []time.Duration // latencies of the last run, in order
}

// scenarioOf is a scenario that has an engine with volumes of these names.
func scenarioOf(t *testing.T, engine, load string, volumes ...string) *scenario.Scenario {
	t.Helper()
	var b strings.Builder
	b.WriteString("plimsoll: 1\nname: traced\nrun: {duration: 50s, warmup: 10s}\nhost: {cores: 2, memory: 8GiB}\nvolumes:\n")
	for _, v := range volumes {
		fmt.Fprintf(&b, "  %s: {type: custom, size: 2GiB, iops: 1000, throughput: 40MiB/s, latency: {like: gp3}}\n", v)
	}
	fmt.Fprintf(&b, "engine: %s\nworkload: %s\n", engine, load)
	sc, err := scenario.NewLanguage(engines.All()).Parse("traced.yaml", []byte(b.String()), nil)
	if err != nil {
		t.Fatal(err)
	}
	return sc
}

// store starts the engine of a scenario on folders, by the names of its volumes. The test is skipped
// if it is not installed.
func store(t *testing.T, sc *scenario.Scenario, dirs map[string]string) *stored {
	t.Helper()
	e, err := engine.Facet[lab.Engine](engines.All(), sc.Engine.Name(), "run in the lab")
	if err != nil {
		t.Fatal(err)
	}
	server, err := e.NewServer(sc)
	if err != nil {
		t.Skip(err) // not installed
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	t.Cleanup(func() {
		if err := server.Crash(); err != nil { // nothing need reach a slow volume
			t.Error(err)
		}
	})
	w := sc.Workloads()
	scratch := t.TempDir()
	if err := os.Chmod(filepath.Dir(scratch), 0o755); err != nil { // engines are not root
		t.Fatal(err)
	}
	if err := server.Start(ctx, &lab.Machine{Dirs: dirs, Scratch: scratch, Scenario: sc}, func(string, int64, int64) {}); err != nil {
		t.Fatal(err)
	}
	s := &stored{server: server, clients: w.Connections(), keys: uint64(w.Documents()), size: w.DocumentSize()}
	for _, dir := range dirs {
		s.choice = target.Choice{Path: dir}
	}
	return s
}

// clientsMax is how many clients there are where a scenario has an open loop.
const clientsMax = 32

// update updates documents until the context ends, at a rate if it is not 0.
func (s *stored) update(ctx context.Context, perSecond float64) {
	n := min(max(s.clients, 1), clientsMax)
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
					began = next // a client that is late waits too
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
func (s *stored) updating(t *testing.T, perSecond float64) {
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

// lasts implements runner: the machine's own speed changes within seconds, by a fifth.
func (*stored) lasts() time.Duration { return 600 * time.Millisecond }

// took are the latencies of the last run, in order.
func (s *stored) took() []time.Duration { return s.last }

// run implements runner. Its clients do not stop in between.
func (s *stored) run(t *testing.T, lasts time.Duration) (float64, time.Duration) {
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
		t.Fatal("the engine answered nothing")
	}
	slices.Sort(all)
	s.last = all
	return float64(len(all)), all[len(all)*99/100]
}

// fioRunner is a fio that is started anew for each run.
type fioRunner struct {
	dir  string
	args []string
}

func (f *fioRunner) target() target.Choice { return target.Choice{Path: f.dir} }

// lasts implements runner.
func (*fioRunner) lasts() time.Duration { return 3 * time.Second }

func (f *fioRunner) run(t *testing.T, lasts time.Duration) (float64, time.Duration) {
	t.Helper()
	args := append([]string{"--name=cost", "--directory=" + f.dir, "--time_based", "--runtime=" + strconv.Itoa(int(lasts.Seconds())), "--group_reporting",
		"--thread", "--output-format=json"}, f.args...)
	cmd := exec.CommandContext(t.Context(), "fio", args...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, os.Stderr
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	type latencies struct {
		Percentile map[string]float64 `json:"percentile"`
	}
	var r struct {
		Jobs []struct {
			Write struct {
				Total float64   `json:"total_ios"`
				Clat  latencies `json:"clat_ns"`
			} `json:"write"`
			Sync struct {
				Lat latencies `json:"lat_ns"`
			} `json:"sync"`
		} `json:"jobs"`
	}
	text := out.Bytes()
	if err := json.Unmarshal(text[max(bytes.IndexByte(text, '{'), 0):], &r); err != nil || len(r.Jobs) == 0 {
		t.Fatalf("%v: %s", err, text)
	}
	j := r.Jobs[0]
	p99 := j.Sync.Lat.Percentile["99.000000"]
	if p99 == 0 {
		p99 = j.Write.Clat.Percentile["99.000000"]
	}
	return j.Write.Total, time.Duration(p99)
}

// fio is a load of fio.
func fio(args ...string) func(*testing.T, string) runner {
	return func(t *testing.T, dir string) runner {
		t.Helper()
		need(t, "fio")
		return &fioRunner{dir, args}
	}
}

// database is a load of an engine on one volume: operations at a rate, or as fast as it goes.
func database(engine, load string, rate float64) func(*testing.T, string) runner {
	return func(t *testing.T, dir string) runner {
		t.Helper()
		s := store(t, scenarioOf(t, engine, load, "data"), map[string]string{"data": dir})
		s.rate = rate
		return s
	}
}

// inMemory is an ext4 on a loop device over a file in memory: as fast as requests can be.
func inMemory(t *testing.T) string {
	t.Helper()
	f, err := os.CreateTemp("/dev/shm", "plimsoll-cost-")
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { _ = os.Remove(f.Name()) }) // or the next start of the machine does
	if err := errors.Join(f.Truncate(6<<30), f.Close()); err != nil {
		t.Fatal(err)
	}
	need(t, "losetup", "mkfs.ext4", "mount")
	text, err := exec.CommandContext(t.Context(), "losetup", "--find", "--show", f.Name()).Output()
	if err != nil {
		t.Skip("losetup: ", err)
	}
	device := strings.TrimSpace(string(text))
	t.Cleanup(func() { program(t, "losetup", "--detach", device) })
	program(t, "mkfs.ext4", "-q", "-E", "lazy_itable_init=0,lazy_journal_init=0", device)
	dir := filepath.Join(t.TempDir(), "volume")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	program(t, "mount", device, dir)
	t.Cleanup(func() { unmount(t, dir) })
	return dir
}
