//go:build unix

package watch_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"plimsoll/internal/engine"
	"plimsoll/internal/engine/postgres/postgrestest"
	"plimsoll/internal/record/recognise"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
	"plimsoll/internal/testkit"
	"plimsoll/internal/watch"
)

// Load of BenchmarkUnmoved: the length of a leg, 2 s with -short, and the transactions per second.
const (
	leg  = 20 * time.Second
	rate = 200
)

// envChild makes the test binary a watch of these sources, which ends with SIGTERM; envRing is its
// ring.
const (
	envChild = "WATCH_TEST_CHILD_SOURCES"
	envRing  = "WATCH_TEST_CHILD_RING"
)

func TestMain(m *testing.M) {
	if sources := os.Getenv(envChild); sources != "" {
		if err := childWatch(strings.Fields(sources), os.Getenv(envRing)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func childWatch(args []string, dir string) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	defer watch.OneCore()()

	var inputs []watch.Input
	for _, arg := range args {
		in, err := recognise.For(engine.All().Sources()).Open(ctx, arg, recognise.OpenOptions{})
		if err != nil {
			return err
		}
		inputs = append(inputs, watch.Input{Source: in.Source, Options: source.Options{Period: time.Second}})
	}

	ring, err := recording.Create(dir, recording.DiskOptions{Keep: 24 * time.Hour, KeepBytes: 2 << 30})
	if err != nil {
		return err
	}

	return errors.Join(watch.New(inputs, watch.Options{Pack: testkit.Pack(), Ring: ring}).Run(ctx), ring.Close())
}

// BenchmarkUnmoved loads a real PostgreSQL with pgbench at a fixed rate, in legs without and with a
// watch, and prints the latencies of each leg and their medians. An iteration is a pair of legs. The order
// within a pair alternates, so that drift over time affects both. The figures in docs/watch.md come from
//
// \tgo test ./internal/watch -run '^$' -bench Unmoved -benchtime 8x
func BenchmarkUnmoved(b *testing.B) {
	pgbench, err := exec.LookPath("pgbench")
	if err != nil {
		b.Skip("pgbench is not installed")
	}

	// Unlike b.TempDir, a folder that other users may enter.
	dir, err := os.MkdirTemp("", "plimsoll-watch-")
	if err != nil {
		b.Fatal(err)
	}

	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o755); err != nil {
		b.Fatal(err)
	}

	server, err := postgrestest.Start(filepath.Join(dir, "pg"), postgrestest.Options{Conf: "max_connections = 30\n"})
	if errors.Is(err, postgrestest.ErrMissing) {
		b.Skip(err)
	}

	if err != nil {
		b.Fatal(err)
	}

	defer func() {
		if err := server.Stop(); err != nil {
			b.Error(err)
		}
	}()

	dsn := server.Address("postgres:"+postgrestest.Password, "postgres")
	run(b, dir, pgbench, "--initialize", "--quiet", "--scale=5", dsn)

	p50, p99 := map[bool][]float64{}, map[bool][]float64{}
	pair := 0
	for b.Loop() {
		for _, watching := range []bool{pair%2 == 1, pair%2 == 0} {
			end := func() {}
			if watching {
				end = startWatch(b, dsn, filepath.Join(dir, fmt.Sprintf("ring-%d", pair)))
			}
			ms := pgbenchLeg(b, dir, pgbench, dsn)
			end()
			p50[watching] = append(p50[watching], quantile(ms, 0.50))
			p99[watching] = append(p99[watching], quantile(ms, 0.99))
			b.Logf("pair %2d, watched %-5v: %6d transactions, p50 %.2f ms, p99 %.2f ms", pair, watching, len(ms), quantile(ms, 0.50), quantile(ms, 0.99))
		}
		pair++
	}

	b.ReportMetric(quantile(p50[false], 0.5), "p50-ms-alone")
	b.ReportMetric(quantile(p50[true], 0.5), "p50-ms-watched")
	b.ReportMetric(quantile(p99[false], 0.5), "p99-ms-alone")
	b.ReportMetric(quantile(p99[true], 0.5), "p99-ms-watched")
	b.ReportMetric(0, "ns/op")
}

// startWatch watches in a separate process, which end stops.
func startWatch(b *testing.B, dsn, ring string) (end func()) {
	b.Helper()
	cmd := exec.CommandContext(b.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), envChild+"=host "+dsn, envRing+"="+ring)
	cmd.Stderr = os.Stderr

	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}

	return func() {
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			b.Fatal(err)
		}
		if err := cmd.Wait(); err != nil {
			b.Fatalf("the watch: %v", err)
		}
		use := cmd.ProcessState.SysUsage().(*syscall.Rusage)
		b.Logf("the watch took %.2f s of CPU in a leg, %.0f MB", (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds(), float64(use.Maxrss)/1000)
	}
}

// pgbenchLeg runs one leg and returns the transactions' latencies from their intended starts, in
// milliseconds.
func pgbenchLeg(b *testing.B, dir, pgbench, dsn string) (ms []float64) {
	b.Helper()
	log, seconds := filepath.Join(dir, "leg"), int(leg.Seconds())
	if testing.Short() {
		seconds = 2
	}

	run(b, dir, pgbench, "--client=4", "--rate="+strconv.Itoa(rate), "--time="+strconv.Itoa(seconds), "--no-vacuum", "--log", "--log-prefix="+log, dsn)

	files, err := filepath.Glob(log + ".*")
	if err != nil || len(files) == 0 {
		b.Fatalf("pgbench left no log: %v", err)
	}

	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			b.Fatal(err)
		}

		for lines := bufio.NewScanner(f); lines.Scan(); {
			// Fields: client, transaction, microseconds, script, time, and the lag behind the
			// schedule, which is part of the latency.
			if fields := strings.Fields(lines.Text()); len(fields) > 2 {
				if us, err := strconv.ParseFloat(fields[2], 64); err == nil {
					ms = append(ms, us/1000)
				}
			}
		}

		f.Close()
		if err := os.Remove(name); err != nil {
			b.Fatal(err)
		}
	}

	return ms
}

func run(b *testing.B, dir, name string, args ...string) {
	b.Helper()
	cmd := exec.CommandContext(b.Context(), name, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("%s: %v\n%s", filepath.Base(name), err, out)
	}
}

func quantile(values []float64, q float64) float64 {
	if len(values) == 0 {
		return 0
	}
	v := slices.Sorted(slices.Values(values))
	return v[min(len(v)-1, int(q*float64(len(v))))]
}
