//go:build linux

package run

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/engine"
	"plimsoll/internal/engine/etcd/etcdtest"
	etcd "plimsoll/internal/engine/etcd/server"
	postgresmodel "plimsoll/internal/engine/postgres/model"
	"plimsoll/internal/engine/postgres/postgrestest"
	postgres "plimsoll/internal/engine/postgres/server"
	"plimsoll/internal/lab"
	"plimsoll/internal/lab/existing"
	"plimsoll/internal/model/scenario"
	"plimsoll/internal/record/recording"
)

// existingLoad is a load that any server can handle. Its volumes are not used.
const existingLoad = `plimsoll: 1
name: visit
seed: 5
run: {duration: 1s, warmup: 200ms}
host: {cores: 2, memory: 2GiB}
volumes:
  data: {type: gp3, size: 10GiB}
engine: {ENGINE: {}}
workload:
  arrivals: {poisson: 50/s}
  mix: {update: 100%}
  keys: {count: 50}
  document: {size: 300B}
  connections: 2
`

func parsed(t *testing.T, engine string) *scenario.Scenario {
	t.Helper()
	text := strings.Replace(existingLoad, "ENGINE: {}", engine, 1)
	sc, err := language.Parse("visit.yaml", []byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	return sc
}

func parsedAddress(t *testing.T, text string) *existing.Address {
	t.Helper()
	a, err := existing.KindsOf(engine.All().Existing()).Parse(text, func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// onServer returns the options of a run on a server, after the same inspection that the command
// makes.
func onServer(t *testing.T, sc *scenario.Scenario, a *existing.Address, guest existing.Server, keep bool) Options {
	t.Helper()
	if _, err := guest.Inspect(t.Context(), sc); err != nil {
		t.Fatal(err)
	}
	in := existing.IntentOf(a, "plimsoll_lab_test", sc, nil)
	return Options{
		Existing: &Existing{Address: a.String(), Database: in.What(), Kept: keep, Local: a.Local()},
		Server:   func(*scenario.Scenario) (lab.Server, error) { return guest, nil },
		Log:      func(line string) { t.Error(line) }, // anything that could not be removed
	}
}

// cluster returns a real etcd with one member, and a client of it.
func cluster(t *testing.T) (*existing.Address, func() *etcd.Existing) {
	t.Helper()
	c := etcdtest.Run(t, 1, false)
	a := parsedAddress(t, "etcd://"+c.Endpoints[0])
	return a, func() *etcd.Existing {
		v, err := etcd.NewExisting(existing.Options{Address: a, Name: "plimsoll_lab_test"}, 0)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// notOurs checks that a result is for an existing server: no emulated volumes, no changed settings on
// this machine, and a remark that says so.
func notOurs(t *testing.T, r *Result, server string, v *Existing) {
	t.Helper()
	l := &r.Lab
	if !strings.HasPrefix(l.Server, server) || l.Existing == nil || *l.Existing != *v || len(l.Volumes) != 0 || len(l.Settings) != 0 || l.Saturated || l.Awake {
		t.Errorf("%+v", l)
	}
	if !slices.ContainsFunc(l.Remarks, func(s string) bool { return strings.HasPrefix(s, "the volumes are the scenario's, not measured ones") }) {
		t.Errorf("remarks %q", l.Remarks)
	}
	if l.Failed != 0 || r.PowerLoss != nil {
		t.Errorf("%d failed, %v, %+v", l.Failed, l.Errors, r.PowerLoss)
	}
}

// A run on an existing etcd sends its load, is recorded, is compared with the model, and leaves no
// keys behind.
func TestRunOnAServer(t *testing.T) {
	a, visitor := cluster(t)
	sc := parsed(t, "etcd: {}")
	opt := onServer(t, sc, a, visitor(), false)
	record := recording.NewMemory(recording.MemoryOptions{})
	opt.Record, opt.Model = record, true

	r, err := Run(t.Context(), sc, opt)
	if err != nil {
		t.Fatal(err)
	}

	notOurs(t, r, "etcd 3.", opt.Existing)
	if r.Model == nil || r.Model.Writes.All.Operations == 0 {
		t.Error("no model to compare with")
	}

	series, err := record.Samples(t.Context(), recording.MustSelector(`plimsoll_client_operations_total{kind="write"}`), time.UnixMilli(0), time.Now())
	if err != nil || len(series) != 1 {
		t.Errorf("%d series of writes are recorded: %v", len(series), err)
	}

	for _, s := range record.Sources() {
		for fact := range s.Facts {
			if strings.HasPrefix(fact, "device_of_") {
				t.Errorf("the recording has the fact %s, but the volumes are not ours", fact)
			}
		}
	}

	again := visitor()
	if _, err := again.Inspect(t.Context(), sc); err != nil {
		t.Errorf("something was left: %v", err)
	}

	if err := again.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}

// The keys are removed however the run ends: here the context is cancelled while operations are
// being sent.
func TestInterruptedRunOnAServerLeavesNothing(t *testing.T) {
	a, visitor := cluster(t)
	sc := parsed(t, "etcd: {}")
	opt := onServer(t, sc, a, visitor(), false)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	opt.Progress = func(p Progress) {
		if p.Timed {
			cancel()
		}
	}

	if _, err := Run(ctx, sc, opt); !errors.Is(err, context.Canceled) {
		t.Errorf("it ended with %v", err)
	}

	again := visitor()
	if _, err := again.Inspect(t.Context(), sc); err != nil {
		t.Errorf("something was left: %v", err)
	}

	if err := again.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}

// A run on PostgreSQL creates a database, and keeps it with all its rows on request.
func TestDatabaseOnAServerIsKept(t *testing.T) {
	// Unlike t.TempDir, a folder that other users may enter: the server runs as another user.
	dir, err := os.MkdirTemp("", "plimsoll-visit-")
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}

	s, err := postgrestest.Start(filepath.Join(dir, "pg"), postgrestest.Options{Conf: "fsync = off"})
	if errors.Is(err, postgrestest.ErrMissing) {
		t.Skip(err)
	}

	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})

	sc := parsed(t, "postgres: {rows: 50}")
	a := parsedAddress(t, s.Socket("postgres", "postgres"))
	guest, err := postgres.NewExisting(*scenario.ConfigOf[*postgresmodel.Config](sc), existing.Options{Address: a, Name: "plimsoll_lab_test", Keep: true})
	if err != nil {
		t.Fatal(err)
	}

	opt := onServer(t, sc, a, guest, true)
	r, err := Run(t.Context(), sc, opt)
	if err != nil {
		t.Fatal(err)
	}

	notOurs(t, r, "PostgreSQL ", opt.Existing)
	got, err := s.Exec("SELECT datname FROM pg_database WHERE datname LIKE 'plimsoll%'")
	if err != nil || !slices.Equal(got, []string{"plimsoll_lab_test"}) {
		t.Errorf("databases %v: %v", got, err)
	}
}
