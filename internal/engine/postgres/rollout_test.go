//go:build linux

package postgres_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"plimsoll/internal/advise/rollout/rollouttest"
	"plimsoll/internal/engine/postgres"
	"plimsoll/internal/lab/process"
)

func TestMain(m *testing.M) { os.Exit(rollouttest.Main(m, &postgres.Engine)) }

// plan moves the WAL to a separate volume.
const plan = `{"version": 1, "scenario": {"file": "db.yaml", "text": "plimsoll: 1\nname: db\nhost: {cores: 4, memory: 16GiB}\nvolumes: {data: {type: gp3, size: 100GiB}}\nengine: {postgres: {}}\nworkload: {preset: pgbench}\n"},
 "chosen": {"sets": ["volumes.wal={type: gp3, size: 10GiB}"]}}`

// The WAL of a real server is moved while a client writes. The rollout is killed at each step, and is
// then resumed or undone. No acknowledged row is lost.
func TestRolloutKilled(t *testing.T) {
	bins, err := filepath.Glob("/usr/lib/postgresql/*/bin")
	if err != nil || len(bins) == 0 {
		t.Skip("PostgreSQL is not installed: apt-get install postgresql")
	}

	bin := bins[len(bins)-1]
	user, err := process.Unprivileged("postgres", "nobody")
	if err != nil {
		t.Skip(err)
	}

	dir, err := os.MkdirTemp("", "pg-rollout")
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}

	on, real := rollouttest.Volume(t, dir, "data-volume", "ext4")
	wal, _ := rollouttest.Volume(t, dir, "wal-volume", "xfs")
	data, socket := filepath.Join(on, "main"), filepath.Join(dir, "socket")
	as := ""

	for _, path := range []string{data, socket} {
		if err := user.Own(path); err != nil {
			t.Fatal(err)
		}
	}

	if user != nil {
		as = "runuser -u " + user.Name + " -- "
	} else if err := os.Chmod(wal, 0o700); err != nil {
		t.Fatal(err)
	}

	sh := func(command string) {
		t.Helper()
		if out, err := exec.Command("sh", "-c", command).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", command, err, out)
		}
	}

	sh(as + bin + "/initdb -D " + data + " -U postgres -A trust --wal-segsize=1 --no-sync --locale=C -E UTF8 >/dev/null")
	conf := fmt.Sprintf("listen_addresses = ''\nunix_socket_directories = '%s'\nmin_wal_size = 4MB\nmax_wal_size = 8MB\nshared_buffers = 16MB\n", socket)
	f, err := os.OpenFile(filepath.Join(data, "postgresql.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}

	if _, err := f.WriteString(conf); err != nil || f.Close() != nil {
		t.Fatal(err)
	}

	start := fmt.Sprintf("%s%s/pg_ctl -D %s -w -t 60 -l %s/server.log start", as, bin, data, socket)
	stop := fmt.Sprintf("%s%s/pg_ctl -D %s -w -t 60 -m fast stop", as, bin, data)
	sh(start)
	t.Cleanup(func() { _ = exec.Command("sh", "-c", stop).Run() })
	address := "host=" + socket + " user=postgres dbname=postgres"
	w := &writer{address: address}
	w.begin(t)
	c := &rollouttest.Case{
		Dir: dir, Plan: plan, Members: []string{"main"}, Logs: []string{filepath.Join(data, "pg_wal")}, Check: w.check, Seed: rand.Uint64(),
		Site: fmt.Sprintf("members:\n  - name: main\n    data: %s\n    volumes: {wal: %s}\n    start: %q\n    stop: %q\n    address: %q\n    patience: 60s\ntrial: %v\n",
			data, wal, start, stop, address, !real),
	}

	c.Kill(t)
}

// A writer inserts rows, one transaction each, and remembers which were acknowledged.
type writer struct {
	address string

	mu    sync.Mutex
	acked []int
}

// begin writes until the test ends.
func (w *writer) begin(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	c, err := pgconn.Connect(ctx, w.address)
	if err != nil {
		t.Fatal(err)
	}

	if _, err := c.Exec(ctx, "CREATE TABLE rows (id int PRIMARY KEY, text text)").ReadAll(); err != nil {
		t.Fatal(err)
	}

	var all sync.WaitGroup
	t.Cleanup(func() { cancel(); all.Wait() })
	all.Go(func() {
		for id := 0; ctx.Err() == nil; id++ {
			if c == nil {
				if c, err = pgconn.Connect(ctx, w.address); err != nil {
					c = nil
					time.Sleep(10 * time.Millisecond)
					continue
				}
			}

			if _, err := c.Exec(ctx, fmt.Sprintf("INSERT INTO rows VALUES (%d, repeat('x', 2000))", id)).ReadAll(); err != nil {
				_ = c.Close(ctx)
				c = nil
				continue
			}

			w.mu.Lock()
			w.acked = append(w.acked, id)
			w.mu.Unlock()
		}
		if c != nil {
			_ = c.Close(context.Background())
		}
	})
}

// check fails if a row is missing that was acknowledged before the call.
func (w *writer) check() (int, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	w.mu.Lock()
	acked := append([]int{}, w.acked...)
	w.mu.Unlock()

	c, err := pgconn.Connect(ctx, w.address)
	if err != nil {
		return 0, err
	}

	defer c.Close(ctx)
	results, err := c.Exec(ctx, "SELECT id FROM rows").ReadAll()
	if err != nil {
		return 0, err
	}

	there := map[string]bool{}
	for _, row := range results[0].Rows {
		there[string(row[0])] = true
	}

	var lost []string
	for _, id := range acked {
		if s := strconv.Itoa(id); !there[s] {
			lost = append(lost, s)
		}
	}

	if len(lost) > 0 {
		return 0, fmt.Errorf("%d acknowledged rows are lost: %s", len(lost), strings.Join(lost, ", "))
	}

	return len(acked), nil
}
