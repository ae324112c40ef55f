//go:build linux

package mongodb_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"plimsoll/internal/advise/rollout/rollouttest"
	"plimsoll/internal/engine/mongodb"
	"plimsoll/internal/engine/mongodb/model"
	"plimsoll/internal/engine/mongodb/server"
	"plimsoll/internal/engine/mongodb/worker"
	"plimsoll/internal/lab"
	"plimsoll/internal/model/scenario"
	"plimsoll/internal/model/workload"
)

func TestMain(m *testing.M) { os.Exit(rollouttest.Main(m, &mongodb.Engine)) }

// text is a scenario for the engine alone, with a journal of small files.
const text = `plimsoll: 1
volumes: {data: {type: gp3, size: 100GiB}}
host: {memory: 8GiB, cores: 2}
engine: {mongodb: {cache: 50MiB, oplog: false, log_file: 1MiB, checkpoint: 2s}}
workload: {connections: 4, arrivals: {poisson: 100/s}, mix: {update: 100%}, keys: {count: 200}, document: {size: 4kB}}
`

// The journal of a real WiredTiger is moved while clients write. Stopping it means killing it, so that
// acknowledged writes are only in the journal. The rollout is also killed at each step, and is then
// resumed or undone. No acknowledged write is lost.
func TestRolloutKilled(t *testing.T) {
	sc := parsed(t, text)
	s, err := worker.New(*scenario.ConfigOf[*model.Config](sc))
	if err != nil {
		t.Skip(err)
	}
	rolledOut(t, sc, s, "db", func(string) string { return "" })
}

// The same with the mongod that PLIMSOLL_MONGOD names, with {w: majority, j: true} as the write
// concern. Its health is checked as well.
func TestRolloutKilledRealMongod(t *testing.T) {
	path := os.Getenv("PLIMSOLL_MONGOD")
	if path == "" {
		t.Skip("PLIMSOLL_MONGOD names no mongod")
	}

	sc := parsed(t, strings.NewReplacer("cache: 50MiB, oplog: false, log_file: 1MiB, ", "cache: 256MiB, ").Replace(text))
	s, err := server.New(path, *scenario.ConfigOf[*model.Config](sc))
	if err != nil {
		t.Fatal(err)
	}

	rolledOut(t, sc, s, "mongodb", func(scratch string) string {
		conf, err := os.ReadFile(filepath.Join(scratch, "mongod.conf"))
		if err != nil {
			t.Fatal(err)
		}
		port := regexp.MustCompile(`(?m)^  port: (\d+)$`).FindSubmatch(conf)
		if port == nil {
			t.Fatalf("no port in %s", conf)
		}
		return fmt.Sprintf(", address: 'mongodb://127.0.0.1:%s/'", port[1])
	})
}

func parsed(t *testing.T, text string) *scenario.Scenario {
	t.Helper()
	sc, err := scenario.NewLanguage([]*scenario.Engine{&mongodb.Engine.Engine}, nil).Parse("test.yaml", []byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	return sc
}

// rolledOut kills rollouts of a server whose data folder has the given name. more adds to the
// site's description, given its scratch folder.
func rolledOut(t *testing.T, sc *scenario.Scenario, s lab.Server, name string, more func(scratch string) string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "wt-rollout")
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}

	on, real := rollouttest.Volume(t, dir, "data", "ext4")
	journal, _ := rollouttest.Volume(t, dir, "journal", "xfs")
	scratch := filepath.Join(dir, "scratch")

	if err := os.Mkdir(scratch, 0o755); err != nil {
		t.Fatal(err)
	}

	m := &lab.Machine{Dirs: map[string]string{"data": on}, Scratch: scratch, Scenario: sc}
	if err := s.Start(t.Context(), m, nil); err != nil {
		t.Fatal(err)
	}

	w := &writer{s: s, dir: dir, last: map[uint64]uint64{}}
	w.begin(t)
	home := filepath.Join(on, name)
	c := &rollouttest.Case{
		Dir: dir, Members: []string{"db"}, Logs: []string{filepath.Join(home, "journal")}, Check: w.check, Seed: rand.Uint64(),
		Plan: fmt.Sprintf(`{"version": 1, "scenario": {"file": "test.yaml", "text": %q}, "chosen": {"sets": ["volumes.journal={type: gp3, size: 10GiB}"]}}`, text),
		Site: fmt.Sprintf("members:\n  - {name: db, data: %s, volumes: {journal: %s}, start: '%s', stop: '%s', patience: 5m%s}\ntrial: %v\n",
			home, journal, w.command("start"), w.command("stop"), more(scratch), !real),
	}

	c.Kill(t)
}

// A writer updates documents and remembers the last acknowledged write to each. It starts and stops
// the engine, which is its child, when the rollout's commands request it through files.
type writer struct {
	s   lab.Server
	dir string

	mu    sync.Mutex
	last  map[uint64]uint64
	acked int

	engine sync.Mutex // held while the engine starts, stops or is read
}

// command requests a start or stop and waits for the answer.
func (w *writer) command(what string) string {
	ask := filepath.Join(w.dir, what)
	return fmt.Sprintf("rm -f %[1]s.done; touch %[1]s.asked; while ! test -e %[1]s.done; do sleep 0.05; done", ask)
}

func (w *writer) begin(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	t.Cleanup(func() {
		cancel()
		if err := w.s.Crash(); err != nil {
			t.Error(err)
		}
		all.Wait()
	})

	all.Go(func() {
		for ctx.Err() == nil {
			for what, do := range map[string]func() error{"start": func() error { return w.s.Restart(ctx) }, "stop": w.s.Crash} {
				ask := filepath.Join(w.dir, what)
				if err := os.Remove(ask + ".asked"); errors.Is(err, fs.ErrNotExist) {
					continue
				}

				w.engine.Lock()
				err := do()
				w.engine.Unlock()

				if err != nil {
					t.Errorf("%s: %v", what, err)
				}

				if err := os.WriteFile(ask+".done", nil, 0o600); err != nil {
					t.Error(err)
				}
			}
			time.Sleep(10 * time.Millisecond) // the requests are files, so they are polled
		}
	})

	const connections = 4
	for conn := range uint64(connections) {
		all.Go(func() {
			for seq := uint64(1); ctx.Err() == nil; seq++ {
				op := lab.Op{Op: workload.Op{Kind: workload.Update, Key: conn + connections*(seq%40), Size: 100, Document: 4000}, Seq: seq}
				if err := w.s.Do(ctx, int(conn), &op); err != nil {
					time.Sleep(10 * time.Millisecond) // the engine is stopped
					continue
				}
				w.mu.Lock()
				w.last[op.Key], w.acked = seq, w.acked+1
				w.mu.Unlock()
			}
		})
	}
}

// check reads every document: it must have the last write that was acknowledged before, or a later
// one.
func (w *writer) check() (int, error) {
	w.engine.Lock()
	defer w.engine.Unlock()
	w.mu.Lock()

	last, acked := make(map[uint64]uint64, len(w.last)), w.acked
	for k, v := range w.last {
		last[k] = v
	}

	w.mu.Unlock()
	for key, seq := range last {
		got, found, err := w.s.Read(context.Background(), key)
		if err != nil {
			return 0, err
		}
		if !found || got < seq {
			return 0, fmt.Errorf("document %d has write %d (%v), and %d was acknowledged", key, got, found, seq)
		}
	}

	return acked, nil
}
