package live

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/record/recognise"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
)

func TestMonitorRoleSeesAll(t *testing.T) {
	s := real(t)
	p, err := readUntil(t, s.Address("monitor:m0nit0r-s3cret", "postgres"), func(p *page) bool {
		return p.has("pg_database_size_bytes") && p.has("pg_wal_size_bytes")
	})
	if err != nil {
		t.Fatal(err)
	}

	if len(p.notes) > 0 {
		t.Errorf("notes: %+v", p.notes)
	}

	if d := p.source; d.Engine != "postgres" || !strings.HasPrefix(d.Version, "1") || d.Facts["postgresql.max_connections"] != "12" || d.Facts["postgresql.standby"] != "false" {
		t.Errorf("%+v", d)
	}

	at := fmt.Sprintf("127.0.0.1:%d", s.Port)
	for name, least := range map[string]float64{
		series("pg_up", at):                       1,
		series("pg_settings_max_connections", at): 12,
		series("pg_stat_database_xact_commit", at, "datid", "5", "datname", "postgres"):                                  1,
		series("pg_stat_activity_count", at, "backend_type", "client backend", "datname", "postgres", "state", "active"): 1,
		series("pg_wal_size_bytes", at):                             16 << 20,
		series("pg_database_size_bytes", at, "datname", "postgres"): 1 << 20,
		series("pg_stat_activity_max_tx_duration", at, "backend_type", "client backend", "datname", "postgres", "state", "active"): 0,
	} {
		if got, ok := p.values[name]; !ok || got < least {
			t.Errorf("%s is %v, %v; not %v or more", name, got, ok, least)
		}
	}

	if strings.Contains(p.text(), "s3cret") {
		t.Error("a password is recorded")
	}
}

// What a user may not see is omitted, and a note says which role grants it.
func TestUnprivilegedUser(t *testing.T) {
	p, err := readUntil(t, real(t).Address("weak:w3ak-s3cret", "postgres"), func(p *page) bool {
		return strings.Contains(p.text(), "pg_ls_waldir is skipped")
	})
	if err != nil {
		t.Fatal(err)
	}

	text := fmt.Sprint(p.notes)
	for _, want := range []string{"activity of other users' sessions is hidden", "pg_ls_waldir is skipped", `GRANT pg_monitor TO "weak"`} {
		if !strings.Contains(text, want) {
			t.Errorf("no note says %q: %s", want, text)
		}
	}

	for name := range p.values {
		if strings.Contains(name, "pg_wal_size_bytes") || strings.Contains(name, checkpointerCount) {
			t.Errorf("%s is there", name)
		}
	}

	if strings.Contains(p.text(), "s3cret") {
		t.Error("a password is recorded")
	}
}

func TestRefusals(t *testing.T) {
	s := real(t)
	none := func(string) string { return "" }

	missing := filepath.Join(t.TempDir(), "nowhere")
	for _, x := range []struct {
		name, address, want string
		opt                 recognise.LiveOptions
	}{
		{"wrong password", s.Address("monitor:wr0ng-s3cret", "postgres"), "the password of user monitor is wrong", recognise.LiveOptions{}},
		{"no password", s.Address("monitor", "postgres"), "needs a password: put it in $PGPASSWORD", recognise.LiveOptions{}},
		{"no such user", s.Address("nobody:wr0ng-s3cret", "postgres"), "the password of user nobody", recognise.LiveOptions{}},
		{"no such role", s.Socket("nobody", "postgres"), `role "nobody" does not exist`, recognise.LiveOptions{}},
		{"no such database", s.Address("monitor:m0nit0r-s3cret", "shop"), "database shop does not exist", recognise.LiveOptions{}},
		{"TLS required", s.Address("sealed:s3aled-s3cret", "postgres") + "?sslmode=disable", "only with TLS, if at all", recognise.LiveOptions{}},
		{"unknown authority", s.Address("sealed:s3aled-s3cret", "postgres") + "?sslmode=verify-ca", "signed by an unknown authority", recognise.LiveOptions{}},
		{"another name", s.Address("sealed:s3aled-s3cret", "postgres") + "?sslmode=verify-full", "its certificate is for other names", recognise.LiveOptions{}},
		{"no TLS on a socket", s.Socket("monitor", "postgres") + "&sslmode=require", "", recognise.LiveOptions{}},
		{"nothing listens", "postgres://monitor:m0nit0r-s3cret@127.0.0.1:1/postgres", "nothing listens there", recognise.LiveOptions{}},
		{"no such host", "postgres://monitor:m0nit0r-s3cret@nowhere.invalid/postgres", "cannot resolve host nowhere.invalid", recognise.LiveOptions{}},
		{"no such socket", "postgres:///postgres?host=" + missing, "the socket does not exist", recognise.LiveOptions{}},
	} {
		t.Run(x.name, func(t *testing.T) {
			x.opt.Getenv = none
			p, err := read(t, x.address, 1, x.opt)
			switch {
			case x.want == "" && err == nil: // libpq never uses TLS over a socket
			case err == nil || x.want == "" || !strings.Contains(err.Error(), x.want):
				t.Errorf("%v; want %q", err, x.want)
			case !strings.HasPrefix(err.Error(), "postgres://"):
				t.Errorf("it does not say where: %v", err)
			case strings.Contains(err.Error(), "\n"):
				t.Errorf("more than a line: %v", err)
			}

			if text := fmt.Sprint(err) + p.text(); strings.Contains(text, "s3cret") {
				t.Errorf("a password is shown: %s", text)
			}
		})
	}
}

func TestTLS(t *testing.T) {
	s := real(t)
	for _, x := range []struct {
		query string
		opt   recognise.LiveOptions
	}{{"?sslmode=require", recognise.LiveOptions{}}, {"", recognise.LiveOptions{}}, {"?sslmode=verify-full", recognise.LiveOptions{Insecure: true}}} {
		if _, err := read(t, s.Address("sealed:s3aled-s3cret", "postgres")+x.query, 1, x.opt); err != nil {
			t.Errorf("%q: %v", x.query, err)
		}
	}
}

func TestNoConnectionIsLeft(t *testing.T) {
	s := real(t)
	tg, err := newTarget(s.Address("monitor:m0nit0r-s3cret", "postgres"), recognise.LiveOptions{})
	if err != nil {
		t.Fatal(err)
	}

	var all []*sampler
	defer func() {
		for _, c := range all {
			c.close()
		}
		// A backend ends after its client, and the next test needs its slot.
		if _, err := s.Exec(`DO $$ BEGIN
			WHILE EXISTS (SELECT FROM pg_stat_activity WHERE usename = 'monitor') LOOP
				PERFORM pg_sleep(0.01), pg_stat_clear_snapshot();
			END LOOP; END $$`); err != nil {
			t.Error(err)
		}
	}()

	for range 12 {
		c := newSampler(tg, nil, func(recording.Note) {})
		all = append(all, c)
		if _, err = c.Sample(t.Context(), time.Now()); err != nil {
			break
		}
	}

	if err == nil || !strings.Contains(err.Error(), "no connection is left") {
		t.Errorf("%v", err)
	}
}

// A restart in between leaves a gap with a note; sampling continues after it.
func TestRestart(t *testing.T) {
	s := real(t)
	src, err := Open(t.Context(), s.Socket("monitor", "postgres"), recognise.LiveOptions{})
	if err != nil {
		t.Fatal(err)
	}

	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	stop, restarted := make(chan struct{}), make(chan struct{})
	var after int
	p := &page{}
	p.each = func(n int) {
		if n == 3 {
			close(stop)
		}
		select {
		case <-restarted:
			if after++; after == 3 {
				cancel()
			}
		default:
		}
	}

	done := make(chan error, 1)
	go func() { done <- src.Read(ctx, p, source.Options{Period: 20 * time.Millisecond}) }()

	select {
	case <-stop:
	case err := <-done:
		t.Fatalf("it ended before the restart: %v", err)
	}

	if err := errors.Join(s.Stop(), s.Start()); err != nil {
		t.Fatal(err)
	}

	close(restarted)
	if err := <-done; err != nil {
		t.Fatal(err)
	}

	if after < 3 || len(p.notes) == 0 || p.notes[0].Kind != recording.NoteGap || !strings.Contains(p.notes[0].Text, "sample") {
		t.Errorf("%d samples after it; %+v", after, p.notes)
	}
}

func TestStandby(t *testing.T) {
	s := real(t)
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}

	signal := filepath.Join(s.Dir, "data", "standby.signal")
	if err := os.WriteFile(signal, nil, 0o644); err != nil {
		t.Fatal(err)
	}

	if err := s.Start(); err != nil {
		t.Fatal(err)
	}

	p, err := read(t, s.Socket("monitor", "postgres"), 1, recognise.LiveOptions{})
	if err != nil {
		t.Error(err)
	}

	if !strings.Contains(fmt.Sprint(p.notes), "it is a standby") || p.values[series("pg_replication_is_replica", fmt.Sprintf("%s:%d", s.Dir, s.Port))] != 1 {
		t.Errorf("%+v", p.notes)
	}

	if _, err := s.Exec("SELECT pg_promote()"); err != nil {
		t.Fatal(err)
	}
}

// Sessions are counted by type, so that autovacuum and walsenders are not counted as clients, and what
// retains WAL is read. A COMMIT's time in pg_stat_statements is not read, because it ends before the
// commit.
func TestSessionTypes(t *testing.T) {
	s := real(t)
	if _, err := s.Exec("SELECT pg_create_physical_replication_slot('left_behind', true)"); err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		if _, err := s.Exec("SELECT pg_drop_replication_slot('left_behind')"); err != nil {
			t.Error(err)
		}
	})

	p, err := read(t, s.Socket("monitor", "postgres"), 1, recognise.LiveOptions{})
	if err != nil {
		t.Fatal(err)
	}

	clients, slots := 0.0, 0.0
	for name, v := range p.values {
		switch {
		case strings.Contains(name, "pg_stat_activity_count") && strings.Contains(name, `backend_type="client backend"`):
			clients += v
		case strings.Contains(name, "plimsoll_postgres_inactive_slots"):
			slots += v
		case strings.Contains(name, "plimsoll_postgres_commit"):
			t.Errorf("%s is recorded", name)
		}
	}

	if clients < 1 || slots != 1 {
		t.Errorf("%v clients, of which this is one; %v inactive slots", clients, slots)
	}
}

// Unwanted metrics are not queried.
func TestWant(t *testing.T) {
	src, err := Open(t.Context(), real(t).Socket("monitor", "postgres"), recognise.LiveOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	p := &page{each: func(int) { cancel() }}
	want := func(metric string) bool { return metric == "pg_stat_wal_wal_bytes" || metric == "pg_settings_fsync" }
	if err := src.Read(ctx, p, source.Options{Want: want}); err != nil {
		t.Fatal(err)
	}
	if len(p.values) != 2 {
		t.Errorf("%v", p.values)
	}
}

// What a sample costs this program; the server's cost comes on top.
func BenchmarkSample(b *testing.B) {
	t, err := newTarget(real(b).Socket("monitor", "postgres"), recognise.LiveOptions{})
	if err != nil {
		b.Fatal(err)
	}
	s := newSampler(t, nil, func(recording.Note) {})
	defer s.close()
	at := time.Now()
	b.ReportAllocs()
	for b.Loop() {
		at = at.Add(time.Second)
		if _, err := s.Sample(b.Context(), at); err != nil {
			b.Fatal(err)
		}
	}
}
