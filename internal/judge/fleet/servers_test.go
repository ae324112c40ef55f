package fleet_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"plimsoll/internal/judge/fleet"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/testkit"
)

// A metricsServer is a metrics server under test, with its programs.
type metricsServer struct {
	name     string
	write    string // where samples are pushed
	read     string
	programs []*program
}

// peak returns the programs' total peak memory, in bytes.
func (e *metricsServer) peak(t testing.TB) (sum int64) {
	for _, p := range e.programs {
		sum += peakOf(t, p.cmd.Process.Pid)
	}
	return sum
}

// peakOf returns a process' highest resident memory (VmHWM of /proc/PID/status, kB).
func peakOf(t testing.TB, pid int) int64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}

	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "VmHWM:" {
			kb, err := strconv.ParseInt(f[1], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return kb << 10
		}
	}

	t.Fatalf("process %d tells no peak of memory", pid)
	return 0
}

// cpu returns the programs' total processor time.
func (e *metricsServer) cpu(t testing.TB) (sum time.Duration) {
	for _, p := range e.programs {
		sum += cpuOf(t, p.cmd.Process.Pid)
	}
	return sum
}

// cpuOf returns a process' processor time: fields 14 and 15 of /proc/PID/stat, in hundredths of a
// second (proc(5)).
func cpuOf(t testing.TB, pid int) time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}

	_, after, _ := strings.Cut(string(text), ") ")
	f := strings.Fields(after) // from field 3 on

	var ticks int64
	for _, x := range f[11:13] {
		n, err := strconv.ParseInt(x, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		ticks += n
	}

	return time.Duration(ticks) * 10 * time.Millisecond
}

// A program is a process that a test started; it ends with the test.
type program struct {
	cmd *exec.Cmd
	log string
}

func start(t testing.TB, path string, args ...string) *program {
	t.Helper()
	p := &program{cmd: exec.Command(path, args...), log: filepath.Join(t.TempDir(), "log")}
	f, err := os.Create(p.log)
	if err != nil {
		t.Fatal(err)
	}

	p.cmd.Stdout, p.cmd.Stderr = f, f
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
		_ = f.Close()
		if t.Failed() {
			if text, err := os.ReadFile(p.log); err == nil {
				t.Logf("%s: %s", filepath.Base(path), tail(text))
			}
		}
	})

	return p
}

func tail(text []byte) []byte { return text[max(0, len(text)-2000):] }

// free returns an address on which nothing listens.
func free(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// ready waits until an address answers with status 200.
func ready(t testing.TB, p *program, url string) {
	t.Helper()
	for range 600 {
		resp, err := http.Get(url) //nolint:noctx // a loopback address; the test has its own timeout
		if err == nil {
			_ = resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return
			}
		}
		time.Sleep(100 * time.Millisecond)
	}
	text, _ := os.ReadFile(p.log)
	t.Fatalf("%s does not answer: %s", url, tail(text))
}

// prometheus starts Debian's Prometheus with rule files.
func prometheus(t testing.TB, ruleFiles ...string) *metricsServer {
	path, err := exec.LookPath("prometheus")
	if err != nil {
		t.Skip("no prometheus here (Debian: prometheus)")
	}

	dir, at := t.TempDir(), free(t)
	config := filepath.Join(dir, "prometheus.yml")
	text, err := json.Marshal(map[string]any{"rule_files": ruleFiles}) // JSON is YAML
	if err != nil {
		t.Fatal(err)
	}

	if err := os.WriteFile(config, text, 0o600); err != nil {
		t.Fatal(err)
	}

	p := start(t, path, "--config.file="+config, "--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+at,
		"--web.enable-remote-write-receiver", "--storage.tsdb.retention.time=100y")
	ready(t, p, "http://"+at+"/-/ready")
	return &metricsServer{name: "Prometheus", write: "http://" + at + "/api/v1/write", read: "http://" + at, programs: []*program{p}}
}

func victoria(t testing.TB) *metricsServer {
	path, err := exec.LookPath("victoria-metrics")
	if err != nil {
		t.Skip("no victoria-metrics here (Debian: victoria-metrics)")
	}
	at := free(t)
	p := start(t, path, "-storageDataPath="+t.TempDir(), "-httpListenAddr="+at, "-retentionPeriod=100y")
	ready(t, p, "http://"+at+"/health")
	return &metricsServer{name: "VictoriaMetrics", write: "http://" + at + "/api/v1/write", read: "http://" + at, programs: []*program{p}}
}

func thanosPath(t testing.TB) string {
	path, err := filepath.Abs(filepath.Join("..", "..", "..", "bin", "thanos"))
	if err == nil {
		_, err = os.Stat(path)
	}
	if err != nil {
		t.Skip("no bin/thanos here: make thanos builds it, in some minutes")
	}
	return path
}

// thanos starts the given number of receivers in a hashring, and a query over them and other
// endpoints.
func thanos(t testing.TB, receivers int, others ...string) *metricsServer {
	path := thanosPath(t)
	e := &metricsServer{name: fmt.Sprintf("Thanos, %d receivers", receivers)}
	if receivers == 1 {
		e.name = "Thanos, 1 receiver"
	}

	dir := t.TempDir()
	var grpc []string
	for range receivers {
		grpc = append(grpc, free(t))
	}

	ring, err := json.Marshal([]map[string]any{{"endpoints": grpc}})
	if err != nil {
		t.Fatal(err)
	}

	hashring := filepath.Join(dir, "hashring.json")
	if err := os.WriteFile(hashring, ring, 0o600); err != nil {
		t.Fatal(err)
	}

	query := []string{"query"}
	for _, o := range others {
		query = append(query, "--endpoint="+o)
	}

	for i, at := range grpc {
		web, in := free(t), free(t)
		p := start(t, path, "receive", "--tsdb.path="+filepath.Join(dir, fmt.Sprint(i)), "--grpc-address="+at, "--http-address="+web,
			"--remote-write.address="+in, fmt.Sprintf("--label=receiver=%q", fmt.Sprint(i)), "--receive.hashrings-file="+hashring,
			"--receive.local-endpoint="+at, "--receive.hashrings-algorithm=ketama", "--receive.capnproto-address="+free(t),
			"--tsdb.retention=100y")
		ready(t, p, "http://"+web+"/-/ready")
		e.programs = append(e.programs, p)
		e.write = "http://" + in + "/api/v1/receive"
		query = append(query, "--endpoint="+at)
	}

	web := free(t)
	p := start(t, path, append(query, "--http-address="+web, "--grpc-address="+free(t))...)
	ready(t, p, "http://"+web+"/-/ready")
	e.programs = append(e.programs, p)
	e.read = "http://" + web
	e.await(t, receivers)

	return e
}

// await waits until the query sees its stores.
func (e *metricsServer) await(t testing.TB, stores int) {
	t.Helper()
	for range 300 {
		resp, err := http.Get(e.read + "/api/v1/stores") //nolint:noctx // as in ready
		if err == nil {
			var body struct {
				Data map[string][]any `json:"data"`
			}
			err = json.NewDecoder(bufio.NewReader(resp.Body)).Decode(&body)
			_ = resp.Body.Close()

			if n := 0; err == nil {
				for _, s := range body.Data {
					n += len(s)
				}
				if n >= stores {
					return
				}
			}
		}

		time.Sleep(100 * time.Millisecond)
	}

	t.Fatalf("%s sees no %d stores", e.read, stores)
}

// recently returns a time for which every engine accepts samples, whatever its retention.
func recently(span time.Duration) time.Time {
	return time.Now().Add(-span - time.Hour).Truncate(time.Minute).UTC()
}

func TestEngines(t *testing.T) {
	if underRace {
		t.Skip("an hour of many series; held without the race detector")
	}
	for name, open := range map[string]func(testing.TB) *metricsServer{
		"prometheus": func(t testing.TB) *metricsServer { return prometheus(t) }, "victoria-metrics": victoria, "thanos": func(t testing.TB) *metricsServer { return thanos(t, 2) },
	} {
		t.Run(name, func(t *testing.T) {
			e := open(t)
			f := newSynthetic(hour(), 10, recently(time.Hour), time.Hour)
			f.push(t, e.write)
			equal(t, f, e.diagnose(t, f, 2))
		})
	}
}

// diagnose waits until all pushed samples can be queried, and diagnoses them.
func (e *metricsServer) diagnose(t testing.TB, f *synthetic, parallel int) *fleet.Report {
	t.Helper()
	for range 300 {
		r, err := fleet.Run(context.Background(), dial(t, e.read, f, recording.RemoteOptions{Parallel: parallel}), fleet.Options{Pack: testkit.Pack(), Parallel: parallel, Force: true})
		if err == nil && r.Samples == f.samples() {
			return r
		}
		if err == nil && r.Samples > f.samples() {
			t.Fatalf("%d samples, %d were pushed", r.Samples, f.samples())
		}
		time.Sleep(200 * time.Millisecond)
	}
	t.Fatalf("%s: what was pushed does not appear", e.name)
	return nil
}

// visible waits until the last pushed sample can be queried.
func (e *metricsServer) visible(t testing.TB, f *synthetic) {
	t.Helper()
	names := f.names()
	for range 300 {
		r, err := fleet.One(context.Background(), dial(t, e.read, f, recording.RemoteOptions{}), names[len(names)-1], fleet.Options{Pack: testkit.Pack(), Force: true})
		if err == nil && len(r.Sources) == 1 && r.Sources[0].Samples == int64(f.steps) {
			return
		}
		time.Sleep(200 * time.Millisecond)
	}
	t.Fatalf("%s: what was pushed does not appear", e.name)
}

// BenchmarkClusters measures the table of docs/fleet.md: 200 clusters for a day, on every available
// engine.
//
//	go test ./internal/judge/fleet -run '^$' -bench Clusters -benchtime 1x -timeout 2h
func BenchmarkClusters(b *testing.B) {
	if testing.Short() {
		b.Skip("it reads a day of 200 clusters")
	}

	const (
		clusters = 200
		day      = 24 * time.Hour
	)
	bases := simulated(b, time.Hour)
	var table bytes.Buffer
	fmt.Fprintf(&table, "| engine | push | diagnosis, 1 at a time | 4 at a time | CPU of the engine | CPU of plimsoll | peak of the engine | peak of plimsoll |\n|---|---|---|---|---|---|---|---|\n")

	for _, open := range []func(testing.TB) *metricsServer{func(t testing.TB) *metricsServer { return prometheus(t) }, victoria,
		func(t testing.TB) *metricsServer { return thanos(t, 1) }, func(t testing.TB) *metricsServer { return thanos(t, 2) }} {
		b.Run("", func(t *testing.B) {
			e := open(t)
			f := newSynthetic(bases, clusters, recently(day), day)
			began := time.Now()
			f.push(t, e.write)
			pushed := time.Since(began)
			e.visible(t, f)
			row := fmt.Sprintf("| %s | %.0f s", e.name, pushed.Seconds())
			clearPeak(t)

			for _, parallel := range []int{1, 4} {
				engineBefore, mineBefore := e.cpu(t), cpuOf(t, os.Getpid())
				began := time.Now()
				r, err := fleet.Run(context.Background(), dial(t, e.read, f, recording.RemoteOptions{Parallel: parallel}), fleet.Options{Pack: testkit.Pack(), Parallel: parallel, Force: true})
				took := time.Since(began)

				if err != nil {
					t.Fatal(err)
				}

				row += fmt.Sprintf(" | %.0f s", took.Seconds())
				if parallel == 4 {
					mine := peakOf(t, os.Getpid())
					row += fmt.Sprintf(" | %.1f s | %.1f s | %.2f GB | %.2f GB |\n", (e.cpu(t) - engineBefore).Seconds(),
						(cpuOf(t, os.Getpid()) - mineBefore).Seconds(), float64(e.peak(t))/1e9, float64(mine)/1e9)
					t.Logf("%s: %s %d samples in %d databases", e.name, r.Verdict, r.Samples, r.Found)
					equal(t, f, r)
				}
			}

			table.WriteString(row)
			fmt.Println(row)
		})
	}

	fmt.Print(table.String())
}

// clearPeak resets this process' peak memory (proc(5), clear_refs).
func clearPeak(t testing.TB) {
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0o200); err != nil {
		t.Logf("the peak is of the whole test: %v", err)
	}
}
