package main

import (
	"bufio"
	"context"
	"errors"
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

// A live diagnosis of a real server names the cause while it still samples, once it is certain. Ctrl-C
// then shows the diagnosis so far. Here a session locks a table again and again.
func TestFoundSoFar(t *testing.T) {
	t.Parallel() // it mostly waits
	if err := postgrestest.Available(); err != nil {
		t.Skip(err)
	}

	root, err := os.MkdirTemp("", "plimsoll-found-") // the server's user must be able to enter it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(root) })
	if err := os.Chmod(root, 0o755); err != nil {
		t.Fatal(err)
	}

	s, err := postgrestest.Start(filepath.Join(root, "pg"), postgrestest.Options{Conf: "fsync = off"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Stop() })
	if _, err := s.Exec("CREATE TABLE t (n int); INSERT INTO t SELECT generate_series(1, 16)"); err != nil {
		t.Fatal(err)
	}

	ctx, cancel := context.WithCancel(t.Context())
	var clients sync.WaitGroup
	defer clients.Wait()
	defer cancel()
	// Sixteen clients commit all the time, except while the lock is held: 8 of every 16 s.
	for range 16 {
		clients.Go(func() { _ = sessionOf(ctx, s, "UPDATE t SET n = n + 1 WHERE n < 0", "SELECT pg_sleep(0.005)") })
	}
	clients.Go(func() {
		_ = sessionOf(ctx, s, "BEGIN; LOCK TABLE t IN ACCESS EXCLUSIVE MODE; SELECT pg_sleep(8); COMMIT", "SELECT pg_sleep(8)")
	})

	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(root, "plimsoll")
	if err := os.Symlink(self, program); err != nil {
		t.Fatal(err)
	}

	cmd := exec.CommandContext(ctx, program, "diagnose", s.Socket("postgres", "postgres"), "--for", "5m")
	cmd.Env = append(os.Environ(), "HOME="+root, "XDG_CACHE_HOME=", "TZ=UTC", "LC_ALL=C.UTF-8")
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
