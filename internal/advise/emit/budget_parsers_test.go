//go:build linux

package emit_test

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// written writes a file of a budget to the place where its parser expects it.
func written(t *testing.T, files map[string]string, path string) string {
	t.Helper()
	text, ok := files[path]
	if !ok {
		t.Fatalf("there is no %s", path)
	}
	to := filepath.Join(t.TempDir(), filepath.Base(path))
	if err := os.WriteFile(to, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return to
}

// sysctl parses the kernel's file and recognises every name; the test writes nothing.
func TestSysctlReadsItsBudget(t *testing.T) {
	path, err := exec.LookPath("sysctl")
	if err != nil {
		path = "/usr/sbin/sysctl"
	}
	if _, err := os.Stat(path); err != nil {
		t.Skip("sysctl is not installed (Debian: procps)")
	}
	conf := written(t, onSmallMachine(t, "telemetry.yaml"), "budget/90-dirty-bytes.conf")
	out, err := exec.Command(path, "--dry-run", "-p", conf).CombinedOutput()
	if want := "vm.dirty_background_bytes = 8125000\nvm.dirty_bytes = 81250000\n"; err != nil || string(out) != want {
		t.Errorf("%q, %v; want %q", out, err, want)
	}
}

// MariaDB's own parser accepts the file and reads its values.
func TestMariaDBAcceptsItsBudget(t *testing.T) {
	path, err := exec.LookPath("mariadbd")
	if err != nil {
		path = "/usr/sbin/mariadbd"
	}

	if _, err := os.Stat(path); err != nil {
		t.Skip("mariadbd is not installed (Debian: mariadb-server-core)")
	}

	conf := written(t, onSmallMachine(t, "telemetry.yaml"), "budget/innodb.cnf")
	out, err := exec.Command(path, "--defaults-file="+conf, "--verbose", "--help").Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}

	got := map[string]string{}
	for line := range strings.Lines(string(out)) {
		if f := strings.Fields(line); len(f) == 2 {
			got[f[0]] = f[1]
		}
	}

	for name, want := range map[string]string{"innodb-io-capacity": "1800", "innodb-io-capacity-max": "3600"} {
		if got[name] != want {
			t.Errorf("%s is %q, want %s", name, got[name], want)
		}
	}
}

// A real mongod starts with the file, and its WiredTiger uses the budget.
func TestMongodAcceptsItsBudget(t *testing.T) {
	path := os.Getenv("PLIMSOLL_MONGOD")
	if path == "" {
		t.Skip("PLIMSOLL_MONGOD names no mongod")
	}

	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}

	port := l.Addr().(*net.TCPAddr).Port //nolint:forcetypeassert // it listens on TCP
	_ = l.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	conf := written(t, onSmallMachine(t, "telemetry.yaml"), "budget/mongod.conf")
	cmd := exec.CommandContext(ctx, path, "--config", conf, "--dbpath", t.TempDir(), "--bind_ip", "127.0.0.1", "--port", strconv.Itoa(port), "--nounixsocket")
	var log strings.Builder
	up := watcher{to: &log, text: "Waiting for connections", seen: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = &up, &up

	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}

	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()

	select {
	case <-up.seen:
		_ = cmd.Process.Signal(os.Interrupt)
		if err := <-ended; err != nil {
			t.Errorf("mongod: %v", err)
		}
	case err := <-ended:
		t.Fatalf("mongod ended: %v\n%s", err, log.String())
	}

	if !strings.Contains(log.String(), "io_capacity=(total=77MB)") {
		t.Errorf("WiredTiger was opened without the budget:\n%s", log.String())
	}
}

// A watcher keeps a program's output, and signals when a text appears in it.
type watcher struct {
	to    *strings.Builder
	text  string
	seen  chan struct{}
	found bool
}

func (w *watcher) Write(p []byte) (int, error) {
	w.to.Write(p)
	if !w.found && strings.Contains(w.to.String(), w.text) {
		w.found = true
		close(w.seen)
	}
	return len(p), nil
}
