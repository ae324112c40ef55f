package main

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/advise/plan"
)

// A Prometheus server has the metrics of a MongoDB exporter and a node exporter from a time when a
// volume reached its limit. The plan is made from its address, and emit accepts it.
func TestPlanFromPrometheus(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "capped.yaml")
	if err := os.WriteFile(file, []byte(`plimsoll: 1
name: capped
run: {duration: 125s, warmup: 10s}
host: {instance: m6i.xlarge}
volumes: {data: {type: gp3, size: 100GiB}}
engine: {mongodb: {cache: 1GiB, checkpoint: 30s}}
workload: {arrivals: {poisson: 1600/s}, mix: {insert: 100%}, document: {size: 3kB}, keys: {count: 100k}}
`), 0o600); err != nil {
		t.Fatal(err)
	}

	data := filepath.Join(dir, "recording") // a recording consists of Prometheus blocks
	if code, text := finished(t, "simulate", file, "--out", data); code != exitFine {
		t.Fatal(text)
	}

	address := prometheusOver(t, data)

	// Without a time, the last hour is selected, which has no samples.
	code, text := finished(t, "plan", address, "--objective", "write_p99 < 25ms")
	if code != exitFailure || !strings.Contains(text, "nothing to fit: the sources contain none of the metrics the rules read from 2") || !strings.Contains(text, "(use --from and --to to select another time)") {
		t.Errorf("%d: %s", code, text)
	}

	when := []string{"--from", "2026-01-01T00:00:10Z", "--to", "2026-01-01T00:02:15Z"}
	asked := append([]string{"plan", address, "--objective", "write_p99 < 25ms", "--set", "host.instance=m6i.xlarge"}, when...)
	code, text = finished(t, asked...)
	if code != exitFine || !strings.Contains(text, "plimsoll fit "+address+" --from 2026-01-01T00:00:10Z --to 2026-01-01T00:02:15Z > fitted.yaml") {
		t.Errorf("%d: %s", code, text)
	}

	out, err := exec.Command("plimsoll", append(asked, "-o", "json")...).Output()
	if err != nil {
		t.Fatal(err)
	}

	var p plan.Plan
	if err := json.Unmarshal(out, &p); err != nil {
		t.Fatal(err)
	}

	// The values measured there appear in the scenario.
	for _, want := range []string{"type: gp3", "size: 100GiB", "throughput: 125MiB/s", "cache: 1GiB", "filesystem: xfs"} {
		if !strings.Contains(p.Scenario.Text, want) {
			t.Errorf("no %q in\n%s", want, p.Scenario.Text)
		}
	}

	if p.Chosen == nil || len(p.Chosen.Changes) == 0 {
		t.Fatalf("chosen: %+v", p.Chosen)
	}

	made := filepath.Join(dir, "plan.json")
	if err := os.WriteFile(made, out, 0o600); err != nil {
		t.Fatal(err)
	}

	if code, text := finished(t, "emit", made, "--target", "aws", "--out", filepath.Join(dir, "layout")); code != exitFine {
		t.Errorf("%d: %s", code, text)
	}
}

// prometheusOver serves a closed recording's blocks with a real server, and returns its address.
func prometheusOver(t *testing.T, data string) string {
	t.Helper()
	program, err := exec.LookPath("prometheus")
	if err != nil {
		t.Skip("no prometheus on the PATH: install Debian's package prometheus to run this")
	}

	config := filepath.Join(t.TempDir(), "prometheus.yml")
	if err := os.WriteFile(config, []byte("{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}

	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}

	at := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}

	cmd := exec.Command(program, "--config.file="+config, "--storage.tsdb.path="+data, "--storage.tsdb.retention.time=50y", "--web.listen-address="+at)
	cmd.Stderr = io.Discard
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}

	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait() // it is killed
	}()

	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-ended
	})

	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()

	for !answers(ctx, "http://"+at+"/-/ready") {
		select {
		case <-ended:
			t.Fatal("prometheus has ended")
		case <-ctx.Done():
			t.Fatal("prometheus does not answer")
		case <-time.After(50 * time.Millisecond):
		}
	}

	return "http://" + at
}

// answers reports whether a page returns 200.
func answers(ctx context.Context, page string) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, page, nil)
	if err != nil {
		return false
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}
