package act_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"plimsoll/internal/engine/postgres/postgrestest"
	"plimsoll/internal/judge/act"
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/testkit"
)

// A real PostgreSQL gets its previous settings back, whether they came from ALTER SYSTEM,
// postgresql.conf or neither, and however often the state is saved: postgresql.auto.conf ends up as
// before.
func TestServerSettingsRestored(t *testing.T) {
	dir, err := os.MkdirTemp("", "plimsoll-restore-")
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}

	s, err := postgrestest.Start(filepath.Join(dir, "pg"), postgrestest.Options{
		Conf:  "fsync = off\ncheckpoint_flush_after = 0\ninclude = 'more.conf'\n",
		Files: map[string][]byte{"more.conf": []byte("bgwriter_lru_maxpages = 200\nlog_temp_files = '2GB'\n")}})
	if errors.Is(err, postgrestest.ErrMissing) {
		t.Skip(err)
	}

	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { _ = s.Stop() })

	tools := sudoTo(t)
	refusesCommandLine(t, s, tools)
	ends(t, s, tools, "end-blocker", "drop-slot")

	exec := func(statement string) string {
		t.Helper()
		rows, err := s.Exec(statement)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(rows, "\n")
	}

	exec("CREATE ROLE boss SUPERUSER LOGIN")
	for i, c := range []struct {
		name, remedy string
		before       []string
	}{
		{"default and postgresql.conf", "pace-checkpoint", nil},
		{"ALTER SYSTEM", "pace-checkpoint", []string{"ALTER SYSTEM SET checkpoint_completion_target = 0.5", "ALTER SYSTEM SET checkpoint_flush_after = '1MB'"}},
		{"a text with quotes elsewhere", "more-wal", []string{"ALTER SYSTEM SET max_wal_size = '2GB'", `ALTER SYSTEM SET log_line_prefix = '%m ''it'' '`}},
		{"three: ALTER SYSTEM, an included file, default", "background-writer", []string{"ALTER SYSTEM SET bgwriter_delay = '300ms'"}},
		{"idle sessions", "idle-in-transaction", nil},
		{"compression", "wal-compression", nil},
		{"a delay", "commit-delay", []string{"ALTER SYSTEM SET commit_delay = 50000"}},
		{"logging", "log-temp-files", []string{"ALTER SYSTEM SET log_temp_files = '1GB'"}},
		{"autovacuum", "slower-autovacuum", []string{"ALTER SYSTEM SET autovacuum_vacuum_cost_limit = 2000"}},
		{"slots", "bound-slots", nil},
		{"buffers of the log", "wal-buffers", []string{"ALTER SYSTEM SET wal_buffers = '1MB'"}},
		{"two, of which one is set", "seldom-checkpoint", []string{"ALTER SYSTEM SET checkpoint_timeout = '2min'"}},
		{"for the next start", "shared-buffers", []string{"ALTER SYSTEM SET shared_buffers = '32MB'"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			exec("ALTER SYSTEM RESET ALL")
			for _, statement := range c.before {
				exec(statement)
			}

			b := onServer(t, s, c.remedy, tools)
			if c.name == "ALTER SYSTEM" || c.name == "for the next start" {
				b.boot = func() { restart(t, s) }
			}
			b.brief = b.boot == nil
			state := func() string {
				return exec("SELECT string_agg(name || '=' || setting || ' in ' || sourcefile, ', ' ORDER BY name, seqno) FROM pg_file_settings WHERE name <> 'port'")
			}
			b.restores(state)

			// The commands of all settings come from one template, so a third of them is enough for a change; one
			// sets a text with quotes.
			if i%3 != 2 && os.Getenv("CI_FULL") == "" {
				return
			}
			for _, place := range []rules.Place{rules.Docker, rules.Kubernetes} {
				if b := inContainer(t, s, c.remedy, place); b != nil {
					b.undoes(state)
				}
			}
		})
	}
}

// inContainer makes a bench whose commands reach a server through a stand-in for the call into a
// container, in which the image's variable names the superuser. It returns nil if the remedy has no
// steps there.
func inContainer(t *testing.T, s *postgrestest.Server, remedy string, place rules.Place) *bench {
	t.Helper()
	way := postgresWayOrNone(t, remedy, place)
	if way.None != "" {
		return nil
	}

	const inside = "[ \"$1\" = exec ] && [ \"$2\" = db ] || exit 1\nshift 2\nPOSTGRES_USER=boss exec env -u PGUSER \"$@\"\n"
	b := benchOf(t, way, map[string]string{"docker": "#!/bin/sh\n" + inside,
		"kubectl": "#!/bin/sh\n[ \"$3\" = -- ] || exit 1\nshift 3\nset -- exec db \"$@\"\n" + inside})
	b.env = append(b.env, "CONTAINER=db", "POD=db-0", "PGUSER=postgres", "PGHOST="+s.Dir, fmt.Sprintf("PGPORT=%d", s.Port), "PGDATA="+filepath.Join(s.Dir, "data"))
	return b
}

// onServer makes a bench whose commands reach a server.
func onServer(t *testing.T, s *postgrestest.Server, remedy, tools string) *bench {
	t.Helper()
	b := benchOf(t, postgresWay(t, remedy, rules.Host), map[string]string{})
	b.env = append(b.env, "PATH="+tools+":"+os.Getenv("PATH"), "PGUSER=postgres", "PGHOST="+s.Dir, fmt.Sprintf("PGPORT=%d", s.Port), "PGDATA="+filepath.Join(s.Dir, "data"))
	return b
}

func restart(t *testing.T, s *postgrestest.Server) {
	t.Helper()
	if err := errors.Join(s.Stop(), s.Start()); err != nil {
		t.Fatal(err)
	}
}

// sudoTo is a stand-in for sudo -u postgres: this server trusts everyone who may open its socket.
func sudoTo(t *testing.T) (tools string) {
	t.Helper()
	tools = t.TempDir()
	if err := os.WriteFile(filepath.Join(tools, "sudo"), []byte("#!/bin/sh\nshift 2\nexec \"$@\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return tools
}

// A value from the command line overrides ALTER SYSTEM: look shows it, and the change is refused.
func refusesCommandLine(t *testing.T, s *postgrestest.Server, tools string) {
	t.Helper()
	s.Args = []string{"-c", "checkpoint_completion_target=0.7"}
	restart(t, s)
	b := onServer(t, s, "pace-checkpoint", tools)
	if out, _ := b.try(b.way.Look); !strings.Contains(out, "| command line") {
		t.Errorf("look does not say so: %s", out)
	}

	if out, err := b.try(b.way.Do); err == nil || !strings.Contains(out, "No such file") {
		t.Errorf("do: %v, %s", err, out)
	}

	auto, err := s.Exec("SELECT name FROM pg_file_settings WHERE sourcefile LIKE '%auto.conf'")
	if err != nil || len(auto) > 0 {
		t.Errorf("it sets %s, %v", auto, err)
	}

	_, _ = b.try(b.way.Undo) // there is nothing to undo
	s.Args = nil
	restart(t, s)
}

// ends checks the fixes that end something on a server and have no undo: terminating the session that
// blocks others, and dropping a slot.
func ends(t *testing.T, s *postgrestest.Server, tools, session, slot string) {
	t.Helper()
	b := onServer(t, s, session, tools)
	var sessions [2]*pgconn.PgConn
	for i := range sessions {
		c, err := pgconn.Connect(t.Context(), s.Socket("postgres", "postgres"))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close(context.Background()) }()
		sessions[i] = c
	}

	_, err := s.Exec("CREATE TABLE t ()")
	_, err2 := sessions[0].Exec(t.Context(), "BEGIN; LOCK TABLE t").ReadAll()
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}

	waited := make(chan error, 1)
	go func() {
		_, err := sessions[1].Exec(t.Context(), "SELECT FROM t").ReadAll()
		waited <- err
	}()

	pid := strconv.FormatUint(uint64(sessions[0].PID()), 10)
	for !strings.Contains(b.run(b.way.Look), pid) {
		time.Sleep(10 * time.Millisecond)
	}

	// A session that blocks no other is left alone, even if it has the process ID: another session may
	// have received it since look.
	bystander := strconv.FormatUint(uint64(sessions[1].PID()), 10)
	if out := strings.Join(b.way.Look, "\n"); !strings.Contains(out, "data_directory") {
		t.Errorf("look does not show which server this is: %s", out)
	}
	env := b.env
	b.env = append(slices.Clone(env), "PID="+bystander)
	if out := b.run(b.way.Do); !strings.Contains(out, "(0 rows)") {
		t.Errorf("it ends a session that blocks no other: %s", out)
	}

	b.env = append(env, "PID="+pid)
	b.run(b.way.Do)
	if err := <-waited; err != nil {
		t.Errorf("the session that waited: %v", err)
	}
	b.run(b.way.Check)

	if _, err := s.Exec("SELECT pg_create_physical_replication_slot('old', true)"); err != nil {
		t.Fatal(err)
	}

	b = onServer(t, s, slot, tools)
	if out := b.run(b.way.Look); !strings.Contains(out, "old") {
		t.Errorf("look does not show the slot: %s", out)
	}
	b.env = append(b.env, "SLOT=old")
	b.run(b.way.Do)
	if out := b.run(b.way.Check); strings.Contains(out, "old") {
		t.Errorf("the slot is left: %s", out)
	}
}

// postgresWay returns one of a remedy's ways for PostgreSQL.
func postgresWay(t *testing.T, remedy string, place rules.Place) act.Way {
	t.Helper()
	return wayOf(t, "postgres", remedy, place)
}

// postgresWayOrNone returns one of a remedy's ways for PostgreSQL, even if it has no steps.
func postgresWayOrNone(t *testing.T, remedy string, place rules.Place) act.Way {
	t.Helper()
	for _, m := range testkit.Pack().Remedies() {
		if m.Name != remedy {
			continue
		}
		for _, w := range act.Describe(testkit.Pack(), "postgres", m, nil).Ways {
			if w.Place == string(place) {
				return w
			}
		}
	}
	t.Fatalf("no remedy %s in %s", remedy, place)
	return act.Way{}
}

// wayOf returns a remedy's way in a place that has steps, without values.
func wayOf(t *testing.T, database, remedy string, place rules.Place) act.Way {
	t.Helper()
	for _, m := range testkit.Pack().Remedies() {
		if m.Name != remedy {
			continue
		}
		for _, w := range act.Describe(testkit.Pack(), database, m, nil).Ways {
			if w.Place == string(place) && w.None == "" {
				return w
			}
		}
	}
	t.Fatalf("no remedy %s in %s", remedy, place)
	return act.Way{}
}

// A variable set in the reader's shell reaches the server as its value, not as its name.
func TestStatementsTakeVariables(t *testing.T) {
	for remedy, want := range map[string]string{
		"end-blocker": "SELECT pid, pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid = 42 AND pid IN (SELECT unnest(pg_blocking_pids(w.pid)) FROM pg_stat_activity w)",
		"drop-slot":   "SELECT pg_drop_replication_slot('a b')",
	} {
		t.Run(remedy, func(t *testing.T) {
			tools := t.TempDir()
			for name, text := range map[string]string{"sudo": "shift 2; exec \"$@\"", "psql": "for last; do :; done; printf %s \"$last\""} {
				if err := os.WriteFile(filepath.Join(tools, name), []byte("#!/bin/sh\n"+text+"\n"), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			b := benchOf(t, postgresWay(t, remedy, rules.Host), map[string]string{})
			b.env = append(b.env, "PATH="+tools+":"+os.Getenv("PATH"), "PID=42", "SLOT=a b", "PGPORT=5432")
			if got := b.run(b.way.Do); got != want {
				t.Errorf("the server gets %q, want %q", got, want)
			}
		})
	}
}
