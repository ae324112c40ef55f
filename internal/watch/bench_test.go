package watch_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os/exec"
	"testing"
	"time"

	"plimsoll/internal/engine"
	"plimsoll/internal/record/recognise"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
	"plimsoll/internal/testkit"
	"plimsoll/internal/watch"
)

// BenchmarkOverhead measures the cost of watching this machine and a real etcd once a second, with
// a ring: the share of one core and the largest resident set of the process (getrusage), including
// those of the test itself. An iteration is one second. Use minutes, because a ring's memory is full after one
// block. The figures in docs/watch.md come from
//
// \tgo test ./internal/watch -run '^$' -bench Overhead -benchtime 480x
func BenchmarkOverhead(b *testing.B) {
	address := startEtcd(b)
	inputs := []watch.Input{open(b, "host"), open(b, "http://"+address+"/metrics")}
	ring, err := recording.Create(b.TempDir(), recording.DiskOptions{Keep: 24 * time.Hour, KeepBytes: 2 << 30})
	if err != nil {
		b.Fatal(err)
	}

	defer watch.OneCore()()
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()

	before, ok := watch.ProcessCost()
	if !ok {
		b.Skip("this system does not report a process's usage")
	}

	began, ended := time.Now(), make(chan error, 1)
	go func() { ended <- watch.New(inputs, watch.Options{Pack: testkit.Pack(), Ring: ring}).Run(ctx) }()

	second := time.NewTicker(time.Second)
	defer second.Stop()
	for b.Loop() {
		select {
		case <-second.C:
		case err := <-ended:
			b.Fatalf("the watch ended: %v", err)
		}
	}

	cancel()
	if err := <-ended; err != nil {
		b.Fatal(err)
	}

	after, _ := watch.ProcessCost()
	took := time.Since(began)
	if err := ring.Close(); err != nil {
		b.Fatal(err)
	}

	b.ReportMetric(100*(after.CPU-before.CPU).Seconds()/took.Seconds(), "%core")
	b.ReportMetric(float64(after.PeakBytes)/1e6, "MB-peak")
	b.ReportMetric(0, "ns/op")
}

func open(b *testing.B, arg string) watch.Input {
	b.Helper()
	in, err := recognise.For(engine.All().Sources()).Open(b.Context(), arg, recognise.OpenOptions{})
	if err != nil {
		b.Skip(err)
	}
	return watch.Input{Source: in.Source, Options: source.Options{Period: time.Second}}
}

// startEtcd runs an etcd with one member on a free port until the benchmark ends. It does a few
// writes per second on its own.
func startEtcd(b *testing.B) (address string) {
	b.Helper()
	program, err := exec.LookPath("etcd")
	if err != nil {
		b.Skip("etcd is not installed")
	}

	address, peer := freeAddress(b), freeAddress(b)
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, program, "--data-dir", b.TempDir(), "--logger", "zap", "--log-outputs", "/dev/null",
		"--listen-client-urls", "http://"+address, "--advertise-client-urls", "http://"+address,
		"--listen-peer-urls", "http://"+peer, "--initial-advertise-peer-urls", "http://"+peer, "--initial-cluster", "default=http://"+peer)

	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}

	b.Cleanup(func() {
		cancel()
		_ = cmd.Wait() // it was killed
	})

	for range 1000 {
		resp, err := http.Get(fmt.Sprintf("http://%s/health", address)) //nolint:noctx // ends with the benchmark
		if err == nil {
			resp.Body.Close()
			return address
		}
		time.Sleep(10 * time.Millisecond)
	}

	b.Fatal("etcd does not respond")
	return ""
}

func freeAddress(b *testing.B) string {
	b.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
