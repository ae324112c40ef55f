package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"plimsoll/internal/engine/postgres/postgrestest"
)

// heldSQL holds a lock while Plimsoll takes 24 samples, and freeSQL waits for 32 more: on a slow machine both
// take longer. At most two samples of a stall extend beyond it. The baseline is the median of all samples, so
// most must be without the lock. The queries of one sample start within half a second.
const (
	waitSQL = `DO $$ DECLARE n int := 0; newest timestamptz; counted timestamptz := '-infinity'; BEGIN %s
 LOOP
  PERFORM pg_sleep(0.1), pg_stat_clear_snapshot();
  SELECT max(query_start) INTO newest FROM pg_stat_activity WHERE application_name = 'plimsoll';
  IF newest > counted + interval '0.5 s' THEN n := n + 1; counted := newest; END IF;
  EXIT WHEN n > %d;
 END LOOP; END $$`
	lockSQL = "LOCK TABLE t IN ACCESS EXCLUSIVE MODE;"
)

var heldSQL, freeSQL = fmt.Sprintf(waitSQL, lockSQL, 24), fmt.Sprintf(waitSQL, "", 32)

// A live diagnosis of a real server names the cause while it still samples, once it is certain, and Ctrl-C
// then shows the diagnosis of what there is. Here a session locks a table again and again, so the lock
// explains nearly all of the stall. [TestACauseIsNamedOnceItIsCertain] tests, without a server, when it is
// certain.
func TestFoundSoFar(t *testing.T) {
	// Other tests on the same CPUs would also stall the clients, without a lock.
	if os.Getenv("PLIMSOLL_TURN") == "" {
		t.Skip("takes two minutes of real time on a machine that does nothing else: PLIMSOLL_TURN=0")
	}
	s := realPostgres(t, "fsync = off")
	if _, err := s.Exec("CREATE TABLE t (n int); INSERT INTO t SELECT generate_series(1, 16)"); err != nil {
		t.Fatal(err)
	}

	ctx, cancel := context.WithCancel(t.Context())
	var clients sync.WaitGroup
	defer clients.Wait()
	defer cancel()
	// Clients commit all the time, except while the lock is held. The session that holds it and Plimsoll's
	// are executing, too: 48 of 50 wait for the lock.
	for range 48 {
		clients.Go(func() { _ = sessionOf(ctx, s, "UPDATE t SET n = n + 1 WHERE n < 0", "SELECT pg_sleep(0.05)") })
	}
	clients.Go(func() { _ = sessionOf(ctx, s, freeSQL, heldSQL) })

	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), "plimsoll")
	if err := os.Symlink(self, program); err != nil {
		t.Fatal(err)
	}

	cmd := exec.CommandContext(ctx, program, "diagnose", s.Socket("postgres", "postgres"), "--for", "10m")
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir(), "XDG_CACHE_HOME=", "TZ=UTC", "LC_ALL=C.UTF-8")
	var out strings.Builder
	cmd.Stdout = &out
	progress, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}

	found := ""
	for lines := bufio.NewScanner(progress); lines.Scan(); {
		t.Logf("%s after %s", lines.Text(), time.Since(began).Round(time.Second))
		if found == "" && strings.Contains(lines.Text(), "found so far") {
			found = lines.Text()
			if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
				t.Error(err)
			}
		}
	}

	exit := (*exec.ExitError)(nil)
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != exitInterrupted {
		t.Errorf("%v, want exit code %d", err, exitInterrupted)
	}
	if !strings.Contains(found, "found so far: sessions wait for locks (postgres)") &&
		!strings.Contains(found, "found so far: Sessions wait for locks (postgres)") {
		t.Errorf("it found %q", found)
	}

	// The samples are kept, and the proof samples the same server as the same user.
	kept := exec.CommandContext(ctx, program, "diagnose", "last", "--full", "--width", "200")
	kept.Env = cmd.Env
	full, err := kept.CombinedOutput()
	if again := "plimsoll record '" + s.Socket("postgres", "postgres") + "' --out"; err != nil ||
		!strings.Contains(string(full), again) {
		t.Errorf("%v; no command reaches the same server as the same user: %s\n%s", err, again, full)
	}
	if !strings.Contains(out.String(), "clients waited for locks") || !strings.Contains(out.String(), "Do now") {
		t.Errorf("the diagnosis after that:\n%s", &out)
	}
}

// sessionOf runs statements on a connection again and again, until the context ends.
func sessionOf(ctx context.Context, s *postgrestest.Server, statements ...string) error {
	c, err := pgconn.Connect(ctx, s.Socket("postgres", "postgres"))
	if err != nil {
		return err
	}
	defer func() { _ = c.Close(context.WithoutCancel(ctx)) }()
	for ctx.Err() == nil {
		for _, sql := range statements {
			if _, err := c.Exec(ctx, sql).ReadAll(); err != nil {
				return err
			}
		}
	}
	return ctx.Err()
}

// realPostgres starts a real server until the test ends, or skips the test if none is installed.
func realPostgres(t *testing.T, conf string) *postgrestest.Server {
	t.Helper()
	if err := postgrestest.Available(); err != nil {
		t.Skip(err)
	}

	dir, err := os.MkdirTemp("", "plimsoll-postgres-") // the server's user must be able to enter it
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // see above
		t.Fatal(err)
	}

	s, err := postgrestest.Start(filepath.Join(dir, "pg"), postgrestest.Options{Conf: conf})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(s.Stop(), os.RemoveAll(dir)); err != nil {
			t.Error(err)
		}
	})

	return s
}
