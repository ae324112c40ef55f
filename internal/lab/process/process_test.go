//go:build linux

package process

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// patience bounds the waits of tests; no test asserts durations.
const patience = 30 * time.Second

func TestMain(m *testing.M) {
	if os.Getenv("PLIMSOLL_TEST_OWNER") != "" {
		owner()
		return
	}
	os.Exit(m.Run())
}

// owner starts a program and waits to be killed.
func owner() {
	p, err := Start(Options{Path: "/bin/sh", Args: []string{"-c", "exec sleep 600"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(p.PID())
	select {}
}

// lines collects a program's output.
type lines struct {
	mu   sync.Mutex
	text []string
	more chan struct{}
}

func newLines() *lines { return &lines{more: make(chan struct{}, 1000)} }

func (l *lines) add(line string) {
	l.mu.Lock()
	l.text = append(l.text, line)
	l.mu.Unlock()
	l.more <- struct{}{}
}

func (l *lines) wait(t *testing.T, n int) []string {
	t.Helper()
	for range n {
		select {
		case <-l.more:
		case <-time.After(patience):
			t.Fatalf("the program did not print %d lines", n)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.text)
}

func TestOutput(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	l := newLines()
	p, err := Start(Options{
		Path: "/bin/sh", Log: log, Line: l.add, Env: []string{"WORD=three"},
		Args: []string{"-c", `echo one; echo two >&2; echo $WORD $TZ; head -c 20000 /dev/zero | tr '\0' x; echo; echo last; exit 7`},
	})
	if err != nil {
		t.Fatal(err)
	}

	got := l.wait(t, 5)
	<-p.Done()
	want := []string{"one", "two", "three UTC", strings.Repeat("x", lineBytesMax), "last"}
	if !slices.Equal(got, want) {
		t.Errorf("lines: %.60q", got)
	}

	if err := p.Err(); err == nil || !strings.Contains(err.Error(), "sh ended unexpectedly: exit status 7: one\ntwo\n") {
		t.Errorf("error: %.100v", err)
	}

	text, err := os.ReadFile(log)
	if err != nil || len(text) != len("one\ntwo\nthree UTC\n")+20001+len("last\n") {
		t.Errorf("log: %d bytes, %v", len(text), err)
	}
}

func TestFinish(t *testing.T) {
	run := func(ctx context.Context, script string) error {
		p, err := Start(Options{Path: "/bin/sh", Args: []string{"-c", script}})
		if err != nil {
			t.Fatal(err)
		}
		return p.Finish(ctx)
	}

	if err := run(t.Context(), "echo fine"); err != nil {
		t.Error(err)
	}

	if err := run(t.Context(), "echo no room >&2; exit 3"); err == nil || !strings.Contains(err.Error(), "exit status 3: no room") {
		t.Errorf("status 3: %v", err)
	}

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := run(ctx, "exec sleep 600"); err == nil || !strings.Contains(err.Error(), "was killed") {
		t.Errorf("a long line: %v", err)
	}
}

func TestStop(t *testing.T) {
	l := newLines()
	p, err := Start(Options{Path: "/bin/sh", Line: l.add, Args: []string{"-c", `trap 'echo bye; exit 0' TERM; echo up; while :; do sleep 0.01; done`}})
	if err != nil {
		t.Fatal(err)
	}

	l.wait(t, 1)
	if p.Err() != nil {
		t.Fatalf("error while running: %v", p.Err())
	}

	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := p.Stop(ctx, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}

	if got := l.wait(t, 1); got[1] != "bye" {
		t.Errorf("lines: %q", got)
	}

	if err := p.Stop(ctx, syscall.SIGTERM); err != nil {
		t.Errorf("stopping twice: %v", err)
	}

	if err := p.Kill(); err != nil {
		t.Errorf("killing a stopped process: %v", err)
	}
}

func TestStopKillsWhatIgnoresTheSignal(t *testing.T) {
	l := newLines()
	p, err := Start(Options{Path: "/bin/sh", Line: l.add, Args: []string{"-c", `trap '' INT; echo up; while :; do sleep 0.01; done`}})
	if err != nil {
		t.Fatal(err)
	}
	l.wait(t, 1)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := p.Stop(ctx, syscall.SIGINT); err == nil || !strings.Contains(err.Error(), "was killed") {
		t.Errorf("stop: %v", err)
	}
	gone(t, p.PID())
}

func TestKillEndsDescendants(t *testing.T) {
	if _, err := exec.LookPath("setsid"); err != nil {
		t.Skip("no setsid here")
	}

	l := newLines()
	p, err := Start(Options{Path: "/bin/sh", Line: l.add, Args: []string{"-c",
		`setsid sh -c 'echo $$; sleep 600 & echo $!; wait' & sleep 600 & echo $!; wait`}})
	if err != nil {
		t.Fatal(err)
	}

	family := l.wait(t, 3)
	known, err := p.Family()
	if err != nil || known[0] != p.PID() {
		t.Errorf("family %v, %v", known, err)
	}

	for _, text := range family {
		if pid, err := strconv.Atoi(text); err != nil || !slices.Contains(known, pid) {
			t.Errorf("%s is not in the family %v", text, known)
		}
	}

	if err := p.Kill(); err != nil {
		t.Fatal(err)
	}

	for _, text := range family {
		pid, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		gone(t, pid)
	}
}

func TestEndsWithParent(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}

	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), "PLIMSOLL_TEST_OWNER=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}

	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}

	text, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}

	pid, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil {
		t.Fatalf("the owner printed %q", text)
	}

	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		t.Fatal(err)
	}

	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if err := (member{pid, fd}).wait(patience); err != nil {
		t.Error(err)
	}
}

// gone fails if a process is running. Zombies do not count.
func gone(t *testing.T, pid int) {
	t.Helper()
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return
	}
	if !strings.HasPrefix(string(stat[strings.LastIndexByte(string(stat), ')'):]), ") Z") {
		t.Errorf("process %d is still running: %s", pid, stat)
	}
}

func TestStartFails(t *testing.T) {
	if _, err := Start(Options{Path: "/nowhere/engine"}); err == nil || !strings.Contains(err.Error(), "cannot start /nowhere/engine") {
		t.Errorf("error: %v", err)
	}
	if _, err := Start(Options{Path: "/bin/sh", Log: "/nowhere/log"}); err == nil {
		t.Error("a log in a missing folder was accepted")
	}
}

func TestUserNamespaces(t *testing.T) {
	all, one := inMap("0 0 4294967295\n"), inMap("0 1000 1\n1 100000 10\n")
	if !all(65534) || !all(0) {
		t.Error("the initial namespace lacks an ID")
	}
	if !one(0) || !one(10) || one(11) || one(65534) {
		t.Error("a namespace has exactly the IDs in its map")
	}
	if inMap("x\n1 2\n")(1) {
		t.Error("an invalid map contains an id")
	}
}

func TestAnotherUser(t *testing.T) {
	u, err := Unprivileged("nobody-of-this-name", "nobody")
	if err != nil {
		t.Skip("running as root without another user: " + err.Error())
	}

	if u == nil {
		t.Skip("not root: everything runs as this user")
	}

	dir := t.TempDir()
	if err := u.Admit(dir); err == nil || !strings.Contains(err.Error(), "chmod o+x "+filepath.Dir(dir)) {
		t.Errorf("a folder below one that only root may enter: %v", err)
	}

	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}

	own := filepath.Join(dir, "own")
	if err := u.Own(own); err != nil {
		t.Fatal(err)
	}

	if err := u.Admit(own); err != nil {
		t.Error(err)
	}

	l := newLines()
	p, err := Start(Options{Path: "/bin/sh", User: u, Line: l.add, Args: []string{"-c", "id -u; id -G; echo hello > " + own + "/file && echo wrote"}})
	if err != nil {
		t.Fatal(err)
	}

	got := l.wait(t, 3)
	<-p.Done()
	if want := []string{strconv.Itoa(int(u.UID)), strconv.Itoa(int(u.GID)), "wrote"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestNoOtherUser(t *testing.T) {
	u, err := Unprivileged("nobody-of-this-name")
	if os.Geteuid() == 0 && (err == nil || !strings.Contains(err.Error(), "nobody-of-this-name")) {
		t.Errorf("as root: got %v, %v", u, err)
	}
	if os.Geteuid() != 0 && (u != nil || err != nil) {
		t.Errorf("not as root: got %v, %v", u, err)
	}
	if err := u.Own(filepath.Join(t.TempDir(), "a", "b")); os.Geteuid() != 0 && err != nil {
		t.Error(err)
	}
}
