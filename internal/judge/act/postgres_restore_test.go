package act_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/engine/postgres/postgrestest"
	"plimsoll/internal/judge/act"
	"plimsoll/internal/judge/rules"
)

// A real PostgreSQL gets its previous settings back, whether they came from ALTER SYSTEM,
// postgresql.conf or neither, however often the state is saved: postgresql.auto.conf ends up as
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

	s, err := postgrestest.Start(filepath.Join(dir, "pg"), postgrestest.Options{Conf: "fsync = off\ncheckpoint_flush_after = 0\n"})
	if errors.Is(err, postgrestest.ErrMissing) {
		t.Skip(err)
	}

	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { _ = s.Stop() })

	// sudo -u postgres psql: this server trusts everyone who may open its socket.
	tools := t.TempDir()
	if err := os.WriteFile(filepath.Join(tools, "sudo"), []byte("#!/bin/sh\nshift 2\nexec \"$@\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}

	exec := func(statement string) string {
		t.Helper()
		rows, err := s.Exec(statement)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(rows, "\n")
	}

	for _, c := range []struct {
		name, remedy string
		before       []string
	}{
		{"default and postgresql.conf", "pace-checkpoint", nil},
		{"ALTER SYSTEM", "pace-checkpoint", []string{"ALTER SYSTEM SET checkpoint_completion_target = 0.5", "ALTER SYSTEM SET checkpoint_flush_after = '1MB'"}},
		{"a text with quotes elsewhere", "more-wal", []string{"ALTER SYSTEM SET max_wal_size = '2GB'", `ALTER SYSTEM SET log_line_prefix = '%m ''it'' '`}},
		{"three, of which one is set", "background-writer", []string{"ALTER SYSTEM SET bgwriter_delay = '300ms'"}},
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

			b := benchOf(t, postgresWay(t, c.remedy, rules.Host), map[string]string{})
			b.env = append(b.env, "PATH="+tools+":"+os.Getenv("PATH"), "PGUSER=postgres", "PGHOST="+s.Dir, fmt.Sprintf("PGPORT=%d", s.Port))
			b.restores(func() string {
				return exec("SELECT string_agg(name || '=' || setting || ' in ' || sourcefile, ', ' ORDER BY name, seqno) FROM pg_file_settings WHERE name <> 'port'")
			})
		})
	}
}

// postgresWay returns one of PostgreSQL's ways of a remedy.
func postgresWay(t *testing.T, remedy string, place rules.Place) act.Way {
	t.Helper()
	return wayOf(t, "postgres", remedy, place)
}

// wayOf returns a remedy's way in a place, without values.
func wayOf(t *testing.T, database, remedy string, place rules.Place) act.Way {
	t.Helper()
	for _, m := range pack.Remedies() {
		if m.Name != remedy {
			continue
		}
		for _, w := range act.Describe(pack, database, m, nil).Ways {
			if w.Place == string(place) {
				return w
			}
		}
	}
	t.Fatalf("no remedy %s in %s", remedy, place)
	return act.Way{}
}

// A variable set in the reader's shell reaches the server as a value, not as a variable's name.
func TestStatementsTakeVariables(t *testing.T) {
	for remedy, want := range map[string]string{
		"end-blocker": "SELECT pg_terminate_backend(42)",
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
