//go:build linux

package emit_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclparse"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"sigs.k8s.io/yaml"

	"plimsoll/internal/advise/emit"
	"plimsoll/internal/engine"
	"plimsoll/internal/lab/process"
)

// freePort returns a port that is free now.
func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Skip("no loopback here: ", err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// An existing member never gets a path for its log, because it would start without the log before that
// has moved there. A new one gets the path of its volume.
func TestEtcdKeepsItsLog(t *testing.T) {
	text, err := os.ReadFile("../../../examples/scenarios/etcd.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, isNew := range []bool{false, true} {
		l, err := (&emit.Request{File: "etcd.yaml", Text: string(text), Sets: []string{"engine.etcd.quota=4GiB", "volumes.wal={type: gp3, size: 20GiB}"}, New: isNew}).Transition(engine.All().Deployments())
		if err != nil {
			t.Fatal(err)
		}
		files := filesOf(t, l, emit.Options{}, "etcd")
		if got := strings.Contains(files["etcd/etcd.env"], "ETCD_WAL_DIR=") && strings.Contains(files["etcd/etcd.conf.yml"], "wal-dir:"); got != isNew {
			t.Errorf("new: %v, a path for the log: %v\n%s", isNew, got, files["etcd/etcd.env"])
		}
	}
}

// etcd itself starts with the environment and with the file, and reports that it uses every
// setting.
func TestEtcdAcceptsItsSettings(t *testing.T) {
	bin, err := exec.LookPath("etcd")
	if err != nil {
		t.Skip("etcd is not installed")
	}

	out, err := exec.Command(bin, "--version").Output()
	if err != nil {
		t.Fatal(err)
	}

	l := layoutOf(t, "lab-etcd.yaml", "engine.etcd.heartbeat=150ms", "engine.etcd.election=1500ms", "engine.etcd.batch_interval=20ms", "engine.etcd.batch_limit=1000", "engine.etcd.snapshot_count=5000", "engine.etcd.catchup_entries=2000", "engine.etcd.quota=1500MiB")
	files := filesOf(t, l, emit.Options{}, "etcd")
	want := []string{`"heartbeat-interval":"150ms"`, `"election-timeout":"1.5s"`, `"snapshot-count":5000`, `"quota-size-bytes":1572864000`}

	if strings.Contains(string(out), "Version: 3.6") || strings.Contains(string(out), "Version: 3.7") {
		want = append(want, `"snapshot-catchup-entries":2000`)
	}

	for _, way := range []string{"environment", "file"} {
		t.Run(way, func(t *testing.T) {
			dir, client, peer := t.TempDir(), freePort(t), freePort(t)
			settings := map[string]string{"name": "m1", "data-dir": filepath.Join(dir, "data"), "logger": "zap",
				"listen-client-urls": fmt.Sprintf("http://127.0.0.1:%d", client), "advertise-client-urls": fmt.Sprintf("http://127.0.0.1:%d", client),
				"listen-peer-urls": fmt.Sprintf("http://127.0.0.1:%d", peer), "initial-advertise-peer-urls": fmt.Sprintf("http://127.0.0.1:%d", peer), "initial-cluster": fmt.Sprintf("m1=http://127.0.0.1:%d", peer)}
			c := exec.Command(bin)

			if way == "environment" {
				c.Env = os.Environ()
				for line := range strings.Lines(files["etcd/etcd.env"]) {
					if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
						c.Env = append(c.Env, line)
					}
				}
				for name, value := range settings {
					c.Args = append(c.Args, "--"+name+"="+value)
				}
			} else {
				text, err := yaml.Marshal(settings)
				if err != nil {
					t.Fatal(err)
				}
				path := filepath.Join(dir, "etcd.yml")
				if err := os.WriteFile(path, append(text, files["etcd/etcd.conf.yml"]...), 0o600); err != nil {
					t.Fatal(err)
				}
				c.Args = append(c.Args, "--config-file="+path)
			}

			said := runUntilHealthy(t, c, dir, fmt.Sprintf("http://127.0.0.1:%d/health", client))
			for _, w := range want {
				if !strings.Contains(said, w) {
					t.Errorf("it does not say %s:\n%s", w, said)
				}
			}

			if strings.Contains(said, "unrecognized") && !strings.Contains(said, "CATCHUP") {
				t.Errorf("it does not know a setting:\n%s", said)
			}
		})
	}
}

// runUntilHealthy starts etcd, waits until it serves, stops it, and returns its output.
func runUntilHealthy(t *testing.T, c *exec.Cmd, dir, url string) string {
	t.Helper()
	path := filepath.Join(dir, "log")
	log, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}

	defer log.Close()
	c.Stdout, c.Stderr = log, log
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}

	if err := c.Start(); err != nil {
		t.Fatal(err)
	}

	ended := make(chan string, 1)
	go func() { ended <- fmt.Sprint(c.Wait()) }()

	healthy := false
	for range 300 {
		select {
		case how := <-ended:
			text, _ := os.ReadFile(path)
			t.Fatalf("etcd ended: %s\n%s", how, text)
		case <-time.After(100 * time.Millisecond):
		}
		if r, err := http.Get(url); err == nil {
			r.Body.Close()
			if healthy = r.StatusCode == http.StatusOK; healthy {
				break
			}
		}
	}

	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}

	<-ended
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}

	if !healthy {
		t.Fatalf("etcd did not serve:\n%s", text)
	}

	return string(text)
}

// pgBin returns the folder of PostgreSQL's programs.
func pgBin(t *testing.T) string {
	t.Helper()
	dirs, err := filepath.Glob("/usr/lib/postgresql/*/bin")
	if err != nil {
		t.Fatal(err)
	}

	if path, err := exec.LookPath("postgres"); err == nil {
		dirs = append(dirs, filepath.Dir(path))
	}

	for _, dir := range slices.Backward(dirs) {
		if _, err := os.Stat(filepath.Join(dir, "initdb")); err == nil {
			return dir
		}
	}

	t.Skip("PostgreSQL's server is not installed")
	return ""
}

// PostgreSQL itself starts with the file in its conf.d, applies every line of it, and returns the
// settings' values.
func TestPostgresAcceptsItsSettings(t *testing.T) {
	bin := pgBin(t)
	user, err := process.Unprivileged("postgres", "nobody")
	if err != nil {
		t.Skip(err)
	}

	l := layoutOf(t, "postgres.yaml", "engine.postgres.shared_buffers=48MiB", "engine.postgres.max_connections=50", "engine.postgres.checkpoint_timeout=15min", "engine.postgres.checkpoint_completion_target=0.7",
		"engine.postgres.checkpoint_flush_after=0B", "engine.postgres.max_wal_size=16GB", "engine.postgres.min_wal_size=1GB", "engine.postgres.full_page_writes=false", "engine.postgres.wal_buffers=3MiB",
		"engine.postgres.synchronous_commit=false", "engine.postgres.wal_writer_delay=50ms", "engine.postgres.commit_delay=100us", "engine.postgres.commit_siblings=7", "engine.postgres.bgwriter_delay=50ms",
		"engine.postgres.bgwriter_lru_maxpages=400", "engine.postgres.bgwriter_lru_multiplier=0.5", "engine.postgres.bgwriter_flush_after=256KiB", "engine.postgres.backend_flush_after=128KiB")

	conf := filesOf(t, l, emit.Options{}, "postgres")["postgres/90-plimsoll.conf"]
	dir, err := os.MkdirTemp("", "emit-pg-") // short, because it contains a socket
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	data := filepath.Join(dir, "data")
	for _, d := range []string{dir, data} {
		if err := user.Own(d); err != nil {
			t.Fatal(err)
		}
	}

	if err := user.Admit(data); err != nil {
		t.Fatal(err)
	}

	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var mu sync.Mutex
	var log []string
	keep := func(line string) {
		mu.Lock()
		defer mu.Unlock()
		log = append(log, line)
	}

	start := func(program string, args ...string) *process.Process {
		p, err := process.Start(process.Options{Path: filepath.Join(bin, program), Args: args, User: user, Line: keep})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}

	said := func() string {
		mu.Lock()
		defer mu.Unlock()
		return strings.Join(log, "\n")
	}

	if err := start("initdb", "--pgdata="+data, "--username=me", "--auth=trust", "--no-sync", "--locale=C").Finish(ctx); err != nil {
		t.Fatalf("initdb: %v\n%s", err, said())
	}

	if err := os.Mkdir(filepath.Join(data, "conf.d"), 0o755); err != nil {
		t.Fatal(err)
	}

	if err := os.WriteFile(filepath.Join(data, "conf.d", "90-plimsoll.conf"), []byte(conf), 0o644); err != nil {
		t.Fatal(err)
	}

	f, err := os.OpenFile(filepath.Join(data, "postgresql.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}

	if _, err := fmt.Fprintf(f, "include_dir = 'conf.d'\nlisten_addresses = ''\nunix_socket_directories = '%s'\n", dir); err != nil {
		t.Fatal(err)
	}

	if err := f.Close(); err != nil {
		t.Fatal(err)
	}

	server := start("postgres", "-D", data)
	defer server.Kill()
	lines := settingsOf(ctx, t, dir)
	if len(lines) != 18 {
		t.Errorf("it read %d settings of the file, want 18", len(lines))
	}

	for _, s := range lines {
		if !s.applied || s.err != "" {
			t.Errorf("%s = %s is not applied: %s", s.name, s.value, s.err)
		}
		if want := settingsWanted[s.name]; s.shown != want {
			t.Errorf("%s is %s, want %s", s.name, s.shown, want)
		}
	}
}

// settingsWanted are the results of SHOW for the test's settings.
var settingsWanted = map[string]string{
	"shared_buffers": "48MB", "max_connections": "50", "checkpoint_timeout": "15min", "checkpoint_completion_target": "0.7", "checkpoint_flush_after": "0", "max_wal_size": "15259MB", "min_wal_size": "954MB",
	"full_page_writes": "off", "wal_buffers": "3MB", "synchronous_commit": "off", "wal_writer_delay": "50ms", "commit_delay": "100", "commit_siblings": "7", "bgwriter_delay": "50ms",
	"bgwriter_lru_maxpages": "400", "bgwriter_lru_multiplier": "0.5", "bgwriter_flush_after": "256kB", "backend_flush_after": "128kB",
}

// The file is formatted like terraform fmt does, parses without warnings, and every reference is
// defined.
func TestTerraform(t *testing.T) {
	for _, l := range []*emit.Transition{
		layoutOf(t, "iris.yaml", "volumes.data.stripe=12", "volumes.wij.iops=4000", "volumes.journal.size=200GiB"),
		layoutOf(t, "telemetry.yaml", `name="${var.x} %{if true}"`, "volumes.data.type=io2", "volumes.data.throughput=", "volumes.journal={type: st1, size: 125GiB}"),
		layoutOf(t, "etcd.yaml", "members.3.volumes.wal={type: gp3, size: 60GiB}"),
	} {
		text := filesOf(t, l, emit.Options{}, "terraform")["terraform/volumes.tf"]
		if got := string(hclwrite.Format([]byte(text))); got != text {
			t.Errorf("terraform fmt would write it otherwise:\n%s", emit.Unified("volumes.tf", []byte(text), []byte(got)))
		}

		file, diags := hclparse.NewParser().ParseHCL([]byte(text), "volumes.tf")
		if diags.HasErrors() {
			t.Errorf("%v\n%s", diags, text)
			continue
		}

		content, diags := file.Body.Content(&hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{{Type: "variable", LabelNames: []string{"name"}}, {Type: "resource", LabelNames: []string{"type", "name"}}}})
		if diags.HasErrors() {
			t.Error(diags)
		}

		volumes, devices := map[string]bool{}, map[string]bool{}
		for _, b := range content.Blocks {
			if b.Type == "resource" && b.Labels[0] == "aws_ebs_volume" {
				volumes[b.Labels[1]] = true
			}
		}

		for _, b := range content.Blocks {
			attrs, _ := b.Body.JustAttributes()
			if b.Type != "resource" || b.Labels[0] != "aws_volume_attachment" {
				continue
			}

			of := attrs["volume_id"].Expr.Variables()
			if len(of) == 0 || !volumes[of[0][1].(hcl.TraverseAttr).Name] {
				t.Errorf("%v attaches an undefined volume", b.Labels)
			}

			name, diags := attrs["device_name"].Expr.Value(nil)
			if diags.HasErrors() || devices[name.AsString()] {
				t.Errorf("%v: device %v, %v", b.Labels, name, diags)
			}

			devices[name.AsString()] = true
		}

		if path, err := exec.LookPath("terraform"); err == nil {
			c := exec.Command(path, "fmt", "-check", "-diff", "-")
			c.Stdin = strings.NewReader(text)
			if out, err := c.CombinedOutput(); err != nil {
				t.Errorf("terraform fmt: %v\n%s", err, out)
			}
		}
	}
}

// The kernel has every emitted setting.
func TestSysctlNamesAreTheKernels(t *testing.T) {
	if _, err := os.Stat("/proc/sys/vm"); err != nil {
		t.Skip("there is no /proc/sys/vm here")
	}

	seen := map[string]bool{}
	for _, l := range []*emit.Transition{
		layoutOf(t, "telemetry.yaml", "host.dirty_background_bytes=8MB", "host.dirty_bytes=64MB", "host.dirty_expire=5s", "host.writeback_interval=1s"),
		layoutOf(t, "telemetry.yaml", "host.dirty_background_ratio=0.03", "host.dirty_ratio=0.1"),
	} {
		for line := range strings.Lines(filesOf(t, l, emit.Options{}, "sysctl")["sysctl/90-plimsoll.conf"]) {
			name, _, ok := strings.Cut(line, " = ")
			if !ok || strings.HasPrefix(line, "#") {
				continue
			}
			seen[name] = true
			if _, err := os.Stat("/proc/sys/" + strings.ReplaceAll(name, ".", "/")); err != nil {
				t.Error(err)
			}
		}
	}

	if len(seen) != 6 {
		names, _ := json.Marshal(seen)
		t.Errorf("settings are %s, want 6", names)
	}
}
