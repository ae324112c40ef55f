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
	for _, m := range pack.Remedies() {
		if m.Name != remedy {
			continue
		}
		for _, w := range act.Describe(pack, "postgres", m, nil).Ways {
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
			b.env = append(b.env, "PATH="+tools+":"+os.Getenv("PATH"), "PID=42", "SLOT=a b")
			if got := b.run(b.way.Do); got != want {
				t.Errorf("the server gets %q, want %q", got, want)
			}
		})
	}
}

// pg_wal moves, moves back and moves again: nothing nests, and the link leads to the WAL in use. If
// the copy fails, the server starts again on the old WAL.
func TestWALMoved(t *testing.T) {
	machine := t.TempDir()
	at := func(name string) string { return filepath.Join(machine, name) }
	for _, dir := range []string{"data/pg_wal", "wal"} {
		if err := os.MkdirAll(at(dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}

	if err := os.WriteFile(at("data/pg_wal/1"), []byte("first"), 0o600); err != nil {
		t.Fatal(err)
	}

	// A starting server writes to the WAL that it finds; cp fails once the disk is full.
	b := benchOf(t, postgresWay(t, "wal-apart", rules.Host), map[string]string{
		"systemctl": "#!/bin/sh\necho $1 >>" + at("log") + "\ntest $1 != start || date +%s%N >>" + at("data/pg_wal/1") + "\n",
		"findmnt":   "#!/bin/sh\n",
		"psql":      "#!/bin/sh\n",
		"cp":        "#!/bin/sh\ntest ! -e " + at("full") + " && exec /bin/cp \"$@\"; mkdir -p \"$3\"; exit 1\n",
	})

	b.env = append(b.env, "PGDATA="+at("data"), "WAL="+at("wal"), "UNIT=postgresql@15-main")

	for range 2 {
		before := read(t, at("data/pg_wal/1"))
		b.run(b.way.Do)
		if to, err := os.Readlink(at("data/pg_wal")); err != nil || to != at("wal/pg_wal") {
			t.Fatalf("pg_wal leads to %q: %v", to, err)
		}

		moved := read(t, at("wal/pg_wal/1"))
		b.run(b.way.Undo)
		back := read(t, at("data/pg_wal/1"))
		if !strings.HasPrefix(moved, before+"") || !strings.HasPrefix(back, moved) {
			t.Fatalf("WAL was %q, then %q, then %q", before, moved, back)
		}

		if info, err := os.Lstat(at("data/pg_wal")); err != nil || !info.IsDir() {
			t.Fatalf("pg_wal is not a folder: %v", err)
		}
	}

	was := read(t, at("data/pg_wal/1"))
	if err := os.WriteFile(at("full"), nil, 0o600); err != nil {
		t.Fatal(err)
	}

	b.run(b.way.Do)
	if got := read(t, at("data/pg_wal/1")); !strings.HasPrefix(got, was) || got == was {
		t.Fatalf("after a full disk the server did not start on its WAL: %q, then %q", was, got)
	}

	if _, err := os.Lstat(at("wal/pg_wal.new")); err == nil {
		t.Fatal("part of the copy is left behind and blocks the next one")
	}
}
