package live_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"plimsoll/internal/engine/postgres/judge"
	"plimsoll/internal/engine/postgres/live"
	"plimsoll/internal/engine/postgres/postgrestest"
	"plimsoll/internal/judge/corerules"
	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/recognise"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
)

// A bench is a real server with clients that commit, and a recording of its live source.
type bench struct {
	t      *testing.T
	server *postgrestest.Server
	mem    *recording.Memory

	mu      sync.Mutex
	taken   int
	seen    map[string]float64 // the sums of the last sample, by metric and backend_type
	changed chan struct{}      // closed at each sample

	every time.Duration // from one commit of a client to its next
	worst time.Duration // the longest commit, as measured by its client
	errs  chan error    // of the clients and the source
}

// clients is the number of sessions that commit, each to a different row.
const clients = 8

// benchOf starts a server with a table, or skips the test.
func benchOf(t *testing.T, conf string) *bench {
	t.Helper()

	// In memory if there is room, so that other activity on the machine's disk does not affect the test.
	const memory = "/dev/shm"
	parent := ""
	if _, err := os.Stat(memory); err == nil {
		parent = memory
	}

	dir, err := os.MkdirTemp(parent, "plimsoll-judged-")
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}

	s, err := postgrestest.Start(filepath.Join(dir, "pg"), postgrestest.Options{Conf: conf})
	if errors.Is(err, postgrestest.ErrMissing) {
		t.Skip(err)
	}

	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { _ = s.Stop() })
	b := &bench{t: t, every: 20 * time.Millisecond, server: s, mem: recording.NewMemory(recording.MemoryOptions{}), seen: map[string]float64{}, changed: make(chan struct{}), errs: make(chan error, clients+1)}
	b.exec(fmt.Sprintf("CREATE TABLE accounts AS SELECT id, 0 AS balance FROM generate_series(1, %d) AS id", clients))

	return b
}

func (b *bench) exec(sql string) []string {
	b.t.Helper()
	rows, err := b.server.Exec(sql)
	if err != nil {
		b.t.Fatal(err)
	}
	return rows
}

// Append implements [recording.Writer].
func (b *bench) Append(ctx context.Context, batch *recording.Batch) error {
	err := b.mem.Append(ctx, batch)
	b.mu.Lock()
	defer b.mu.Unlock()
	clear(b.seen)
	for _, c := range batch.Columns {
		b.seen[c.Labels.Get("__name__")+" "+c.Labels.Get("backend_type")] += c.Values[0]
	}
	b.taken++
	close(b.changed)
	b.changed = make(chan struct{})
	return err
}

func (b *bench) Note(n recording.Note)     { b.mem.Note(n) }
func (b *bench) Source(s recording.Source) { b.mem.Source(s) }

// patience is the maximum number of samples to wait for a condition.
const patience = 40

// until waits for the given number of samples, and then for a condition.
func (b *bench) until(more int, holds func() bool) {
	b.t.Helper()
	b.mu.Lock()

	first := b.taken
	for b.taken < first+more || holds != nil && !holds() {
		changed, given := b.changed, b.taken-first
		b.mu.Unlock()
		if given > more+patience {
			b.t.Fatal("what is waited for does not come")
		}
		select {
		case <-changed:
		case err := <-b.errs:
			b.t.Fatalf("a client or the source ended: %v", err)
		}
		b.mu.Lock()
	}

	b.mu.Unlock()
}

// commit is one client. It updates its row at a fixed rate, but not before the previous commit has
// returned.
func (b *bench) commit(ctx context.Context, row int) error {
	c, err := pgconn.Connect(ctx, b.server.Socket("postgres", "postgres"))
	if err != nil {
		return err
	}

	defer func() { _ = c.Close(context.WithoutCancel(ctx)) }()
	tick := time.NewTicker(b.every)
	defer tick.Stop()

	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}

		update := fmt.Sprintf("UPDATE accounts SET balance = balance + 1 WHERE id = %d", row)
		if err := b.timed(ctx, c, update); err != nil && ctx.Err() == nil {
			return err
		}
	}
}

// write executes transactions, one after the other. Each must be as short as a commit, and counts as one: a
// session that executes for longer is part of what makes a stall.
func (b *bench) write(times int, transactions ...string) {
	b.t.Helper()
	c, err := pgconn.Connect(b.t.Context(), b.server.Socket("postgres", "postgres"))
	if err != nil {
		b.t.Fatal(err)
	}

	defer func() { _ = c.Close(context.WithoutCancel(b.t.Context())) }()
	for range times {
		for _, sql := range transactions {
			if err := b.timed(b.t.Context(), c, sql); err != nil {
				b.t.Fatal(err)
			}
		}
	}
}

// timed executes one transaction.
func (b *bench) timed(ctx context.Context, c *pgconn.PgConn, sql string) error {
	began := time.Now()
	_, err := c.Exec(ctx, sql).ReadAll()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.worst = max(b.worst, time.Since(began))
	return err
}

// judged returns the diagnosis of what happens while clients commit. incident begins and ends within the
// one-second samples.
func (b *bench) judged(incident func()) *diagnose.Report {
	b.t.Helper()
	src, err := live.Open(b.t.Context(), b.server.Socket("postgres", "postgres"), recognise.LiveOptions{})
	if err != nil {
		b.t.Fatal(err)
	}

	ctx, cancel := context.WithCancel(b.t.Context())
	defer cancel()

	for row := range clients {
		go func() { b.errs <- b.commit(ctx, row+1) }()
	}

	go func() { b.errs <- src.Read(ctx, b, source.Options{Period: time.Second}) }()

	incident()
	cancel()

	for range clients + 1 {
		if err := <-b.errs; err != nil {
			b.t.Fatal(err)
		}
	}

	r, err := diagnose.Run(context.WithoutCancel(ctx), []recording.Reader{b.mem}, diagnose.Options{Pack: corerules.NewPack([]rules.Knowledge{judge.Knowledge()})})
	if err != nil {
		b.t.Fatal(err)
	}

	return r
}

// foremost returns the first cause of a report.
func foremost(r *diagnose.Report) string {
	for _, f := range r.Findings {
		if f.Kind == "cause" {
			return f.Rule
		}
	}
	return "none"
}

const (
	calm    = 7 // samples before and after an incident
	stalled = 6 // samples of one
)

// On a real server, sessions that wait for a lock are distinguished from those that wait for a standby
// that does not answer, and neither is blamed on the disk. commit_delay is not among the cases: whether
// a backend sleeps depends on how many others are in a transaction just then, so a busy machine may
// show no stall.
func TestRealStalls(t *testing.T) {
	if testing.Short() {
		t.Skip("each takes some twenty seconds")
	}
	for _, x := range []struct {
		name, conf, begin, end, cause, verdict string
	}{
		{"a lock", "fsync = off", "", "", "postgres/lock-wait", "No volume fixes this: clients waited for locks."},
		{"a synchronous standby", "fsync = off", "ALTER SYSTEM SET synchronous_standby_names = 'gone'", "ALTER SYSTEM RESET synchronous_standby_names",
			"postgres/standby-wait", "No volume of this host fixes this: commits waited for a synchronous standby."},
	} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			b := benchOf(t, x.conf)
			r := b.judged(func() {
				b.until(calm, nil)
				end := b.hold(x.begin, x.end)
				b.until(stalled, nil)
				end()
				b.until(calm, nil)
			})
			if got := foremost(r); got != x.cause || !strings.HasPrefix(r.Verdict, x.verdict) {
				t.Errorf("the foremost cause is %s, want %s; the verdict is %q", got, x.cause, r.Verdict)
			}

			for _, f := range r.Findings {
				if strings.HasPrefix(f.Rule, "disk/") && f.Kind == "cause" || f.Rule == "postgres/checkpoint-burst" && f.Severity != "info" {
					t.Errorf("the storage is accused: %s", f.Summary)
				}
			}
		})
	}
}

// hold begins an incident with a setting, or with a lock if none is given, and returns a function that ends
// it.
func (b *bench) hold(begin, end string) func() {
	b.t.Helper()
	if begin != "" {
		set := func(sql string) {
			b.exec(sql)
			b.exec("SELECT pg_reload_conf()")
		}
		set(begin)
		return func() { set(end) }
	}

	c, err := pgconn.Connect(b.t.Context(), b.server.Socket("postgres", "postgres"))
	if err != nil {
		b.t.Fatal(err)
	}

	if _, err := c.Exec(b.t.Context(), "BEGIN; LOCK TABLE accounts IN ACCESS EXCLUSIVE MODE").ReadAll(); err != nil {
		b.t.Fatal(err)
	}

	return func() { _ = c.Close(context.WithoutCancel(b.t.Context())) }
}

// Autovacuum and a dump are not waiting clients: commits are as fast as usual, and the report says so.
func TestRealBackgroundIsNoStall(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes some twenty seconds")
	}

	t.Run("autovacuum", func(t *testing.T) {
		t.Parallel()

		// A worker that sleeps most of the time appears in many samples.
		b := benchOf(t, "fsync = off\nautovacuum_naptime = 1\nautovacuum_vacuum_cost_limit = 10\nautovacuum_vacuum_cost_delay = 20\nautovacuum_vacuum_threshold = 10\n")
		b.exec("CREATE TABLE dead AS SELECT id, repeat('x', 500) AS filler FROM generate_series(1, 50000) AS id")
		r := b.judged(func() {
			b.until(calm, nil)
			b.exec("DELETE FROM dead WHERE id % 2 = 0")
			workers := func() bool { return b.seen["pg_stat_activity_count autovacuum worker"] > 0 }
			b.until(1, workers)
			b.until(stalled, workers)
		})

		b.quiet(r)
	})

	t.Run("a slot that nobody reads", func(t *testing.T) {
		t.Parallel()
		b := benchOf(t, "fsync = off\nwal_init_zero = off\nmax_wal_size = 128MB\n")
		b.exec("SELECT pg_create_physical_replication_slot('gone', true)")
		r := b.judged(func() {
			b.until(calm, nil)
			// 70 segments of 16 MB each
			b.write(70, "SELECT pg_logical_emit_message(false, 'x', 'x')", "SELECT pg_switch_wal()")
			b.until(calm, func() bool { return b.seen["plimsoll_postgres_slot_kept_bytes "] > 1<<30 })
		})

		b.quiet(r)
		if !slices.ContainsFunc(r.Findings, func(f diagnose.Finding) bool { return f.Rule == "postgres/wal-kept" }) {
			t.Errorf("the slot is not named: %s", r.Verdict)
		}
	})
}

// feltStall is how long a commit must take before a stall may be reported: the threshold for latencies
// that are computed from counted sessions.
const feltStall = 50 * time.Millisecond

// quiet checks that no stall is reported unless a client did wait, because other programs run on this
// machine too.
func (b *bench) quiet(r *diagnose.Report) {
	b.t.Helper()
	if b.worst < feltStall && slices.ContainsFunc(r.Findings, func(f diagnose.Finding) bool { return f.Rule == "postgres/commit-stall" && f.Severity != "info" }) {
		b.t.Errorf("a stall, where no commit took over %v: %s", b.worst, r.Verdict)
	}
}
