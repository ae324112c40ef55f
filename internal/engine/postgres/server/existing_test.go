//go:build linux

package server

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	postgres "plimsoll/internal/engine/postgres/model"
	"plimsoll/internal/lab"
	"plimsoll/internal/lab/existing"
	"plimsoll/internal/model/scenario"
	"plimsoll/internal/model/workload"
	"plimsoll/internal/record/source"
)

// existingAs prepares a user's use of a server, removed at the end of the test.
func existingAs(t *testing.T, b *bench, user, name string) *Existing {
	t.Helper()
	a, err := existing.Kinds{Addresses}.Parse("postgres://"+user+"@/postgres?sslmode=disable&host="+b.socket, func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}

	v, err := NewExisting(*scenario.ConfigOf[*postgres.Config](b.m.Scenario), existing.Options{Address: a, Name: name})
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		for range 2 { // a second call must do no harm
			if err := v.Stop(ctx); err != nil {
				t.Error(err)
			}
		}
	})

	return v
}

// roomy is a server with spare connections.
var roomy = strings.Replace(text, "max_connections: 10", "max_connections: 40", 1)

const databases = "SELECT count(*) FROM pg_database WHERE datname LIKE 'plimsoll\\_lab\\_%'"

// During a run, an existing server has one more database.
func TestExisting(t *testing.T) {
	b := start(t, folder(t, t.TempDir()), roomy, "data")
	b.ask(t, "CREATE ROLE guest LOGIN CREATEDB; SELECT 1")
	v := existingAs(t, b, "guest", "plimsoll_lab_test")

	inspection, err := v.Inspect(t.Context(), b.m.Scenario)
	if err != nil {
		t.Fatal(err)
	}

	if notes := strings.Join(inspection.Notes, "; "); inspection.Server != b.Describe() || !strings.Contains(notes, "not a member of pg_monitor") {
		t.Errorf("%+v", inspection)
	}

	if got := b.ask(t, databases); got != "0" {
		t.Errorf("the inspection created %s databases", got)
	}

	if err := v.Start(t.Context(), b.m, nil); err != nil {
		t.Fatal(err)
	}

	for kind, seq := range map[workload.Kind]uint64{workload.Update: 11, workload.Insert: 12, workload.Push: 13, workload.Read: 0, workload.Scan: 0} {
		op := &lab.Op{Op: workload.Op{Kind: kind, Key: 2490 + seq, Size: 97, Document: 97}, Seq: seq}
		if err := v.Do(t.Context(), 1, op); err != nil {
			t.Errorf("%v: %v", kind, err)
		}
	}

	for key, want := range map[uint64]uint64{2501: 11, 2502: 12, 2503: 13, 1: 0} {
		if seq, found, err := v.Read(t.Context(), key); seq != want || !found || err != nil {
			t.Errorf("row %d is of write %d, %v, %v; not %d", key, seq, found, err, want)
		}
	}

	if err := errors.Join(v.Crash(), v.Restart(t.Context())); !errors.Is(err, existing.ErrNotOurs) {
		t.Errorf("killing somebody's server: %v", err)
	}

	second := existingAs(t, b, "guest", "plimsoll_lab_test")
	if _, err := second.Inspect(t.Context(), b.m.Scenario); err == nil || !strings.Contains(err.Error(), "already exists") {
		t.Errorf("a name in use: %v", err)
	}

	if err := v.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}

	if got := b.ask(t, databases); got != "0" {
		t.Errorf("%s databases are left", got)
	}

	if got := b.ask(t, "SELECT count(*) FROM pgbench_accounts"); got != "2500" {
		t.Errorf("the server's own table has %s rows", got)
	}
}

// Statistics that a user may not read are left out, and noted; the rest is recorded.
func TestExistingStatistics(t *testing.T) {
	b := start(t, folder(t, t.TempDir()), roomy, "data")
	b.ask(t, "CREATE ROLE guest LOGIN CREATEDB; SELECT 1")
	v := existingAs(t, b, "guest", "plimsoll_lab_test")

	if err := v.Start(t.Context(), b.m, nil); err != nil {
		t.Fatal(err)
	}

	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	p := &page{values: map[string]float64{}, each: func(int) { cancel() }}

	if err := v.Sources()[0].Read(ctx, p, source.Options{}); err != nil {
		t.Fatal(err)
	}

	if _, ok := p.values[`{__name__="pg_stat_database_xact_commit", datname="plimsoll_lab_test"}`]; !ok {
		t.Errorf("commits of its own database are not there: %d series", len(p.values))
	}

	if _, ok := p.values[`{__name__="pg_wal_size_bytes"}`]; ok || len(p.notes) != 1 || !strings.Contains(p.notes[0], "pg_monitor") {
		t.Errorf("denied statistics: %v, %q", ok, p.notes)
	}
}

// Checkpoints are detected without the server's log.
func TestExistingSeesCheckpoints(t *testing.T) {
	b := start(t, folder(t, t.TempDir()), roomy, "data")
	v := existingAs(t, b, "postgres", "plimsoll_lab_test")
	if err := v.Start(t.Context(), b.m, nil); err != nil {
		t.Fatal(err)
	}

	wait := time.NewTimer(patience)
	defer wait.Stop()

	for {
		// pg_control has whole seconds, so the second of two within one second is not seen.
		b.ask(t, "CHECKPOINT; SELECT 1")
		all, err := v.Cycles(t.Context())
		if err != nil {
			t.Fatal(err)
		}

		if len(all) > 0 {
			if c := all[0]; !c.From.Before(c.To) || time.Since(c.From).Abs() > patience {
				t.Errorf("from %v to %v", c.From, c.To)
			}
			return
		}

		select {
		case <-wait.C:
			t.Fatal("no checkpoint was seen")
		case <-time.After(clockEvery):
		}
	}
}

// A user without the required privileges learns which are missing before anything is created.
func TestExistingRefused(t *testing.T) {
	b := start(t, folder(t, t.TempDir()), roomy, "data")
	b.ask(t, "CREATE ROLE \"no one\" LOGIN; SELECT 1")
	if _, err := existingAs(t, b, "no%20one", "plimsoll_lab_test").Inspect(t.Context(), b.m.Scenario); err == nil || !strings.Contains(err.Error(), `ALTER ROLE "no one" CREATEDB`) {
		t.Errorf("no right to make a database: %v", err)
	}

	a, err := existing.Kinds{Addresses}.Parse("postgres://nobody:s3cret@/postgres?sslmode=disable&host="+b.socket, func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}

	v, err := NewExisting(postgres.Defaults(), existing.Options{Address: a, Name: "plimsoll_lab_test"})
	if err != nil {
		t.Fatal(err)
	}

	if _, err := v.Inspect(t.Context(), b.m.Scenario); err == nil || strings.Contains(err.Error(), "s3cret") || !strings.Contains(err.Error(), "PGPASSWORD") {
		t.Errorf("nobody: %v", err)
	}

	bad, err := existing.Kinds{Addresses}.Parse("postgres://me:s3cret@h/x?sslmode=sometimes", func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}

	if _, err := NewExisting(postgres.Defaults(), existing.Options{Address: bad, Name: "plimsoll_lab_test"}); err == nil || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("an address that cannot be: %v", err)
	}

	if _, err := NewExisting(postgres.Defaults(), existing.Options{Address: a, Name: "template1"}); err == nil {
		t.Error("template1 would be dropped")
	}
}
