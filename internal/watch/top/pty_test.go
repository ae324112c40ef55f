//go:build unix

package top

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/term" //nolint:depguard // to compare the terminal's settings

	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/present/frame"
)

// childEnv makes the test binary show a screen instead of running tests; its value selects what
// happens.
const childEnv = "PLIMSOLL_TOP_CHILD"

func TestMain(m *testing.M) {
	if what := os.Getenv(childEnv); what != "" {
		os.Exit(child(what))
	}
	os.Exit(m.Run())
}

// failing is a feed that fails.
type failing struct {
	still
	what string
}

func (f failing) Load(context.Context, time.Time) (*rules.Case, *diagnose.Report, error) {
	switch f.what {
	case "panic":
		panic("a source failed")
	case "error":
		return nil, nil, errors.New("no such table")
	}
	return nil, nil, ErrWaiting
}

func child(what string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	err := Show(ctx, Options{Feed: failing{still{live: true}, what}, View: frame.View{Sources: "a source"}, Color: true})
	if err != nil {
		_, _ = os.Stdout.WriteString("error: " + err.Error() + "\n")
		return 1
	}
	return 0
}

// A session is a child on a pseudo-terminal.
type session struct {
	t      *testing.T
	cmd    *exec.Cmd
	tty    *os.File
	before *term.State

	mu     sync.Mutex
	output bytes.Buffer
	read   chan struct{}
}

func begin(t *testing.T, what string, env ...string) *session {
	t.Helper()
	s := &session{t: t, cmd: exec.CommandContext(t.Context(), os.Args[0]), read: make(chan struct{})}
	s.cmd.Env = append(os.Environ(), append([]string{childEnv + "=" + what, "TERM=xterm-256color"}, env...)...)

	master, slave, err := pty.Open()
	if err != nil {
		t.Skipf("no pseudo-terminal here: %v", err)
	}

	s.tty = master
	if err := pty.Setsize(master, &pty.Winsize{Rows: 24, Cols: 80}); err != nil {
		t.Fatal(err)
	}

	if s.before, err = term.GetState(int(slave.Fd())); err != nil {
		t.Fatal(err)
	}

	s.cmd.Stdin, s.cmd.Stdout, s.cmd.Stderr = slave, slave, slave
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { slave.Close(); master.Close() })
	go func() {
		defer close(s.read)
		buf := make([]byte, 4096)
		for {
			n, err := master.Read(buf)
			s.mu.Lock()
			s.output.Write(buf[:n])
			s.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()

	return s
}

func (s *session) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.output.String()
}

// await waits until the terminal has shown a text.
func (s *session) await(text string) {
	s.t.Helper()
	for range 1200 { // a minute: far more than it takes, on any machine
		if strings.Contains(s.text(), text) {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	s.t.Fatalf("%q is not shown: %q", text, s.text())
}

func (s *session) send(keys string) {
	s.t.Helper()
	if _, err := io.WriteString(s.tty, keys); err != nil {
		s.t.Fatal(err)
	}
}

// The alternate screen, and the cursor.
const (
	enter, leave = "\x1b[?1049h", "\x1b[?1049l"
	hide, unhide = "\x1b[?25l", "\x1b[?25h"
)

// restored fails unless the terminal is restored.
func (s *session) restored() {
	s.t.Helper()
	_ = s.cmd.Wait() // callers check the exit code if it matters
	after, err := term.GetState(int(s.tty.Fd()))
	if err != nil {
		s.t.Fatal(err)
	}

	if *s.before != *after {
		s.t.Errorf("the terminal's settings are %+v, were %+v", after, s.before)
	}

	s.await(leave)
	text := s.text()
	if strings.Count(text, enter) != strings.Count(text, leave) || strings.LastIndex(text, leave) < strings.LastIndex(text, enter) {
		s.t.Errorf("the alternate screen is entered %d times and left %d times", strings.Count(text, enter), strings.Count(text, leave))
	}

	if strings.LastIndex(text, unhide) < strings.LastIndex(text, hide) {
		s.t.Error("the cursor stays hidden")
	}
}

// However it ends, the terminal is restored.
func TestTerminalIsRestored(t *testing.T) {
	for _, c := range []struct {
		name, what string
		end        func(s *session)
		code       int
		shows      string // after the screen was left
	}{
		{name: "q", end: func(s *session) { s.send("q") }},
		{name: "Ctrl-C", end: func(s *session) { s.send("\x03") }},
		{name: "SIGTERM", end: func(s *session) { _ = s.cmd.Process.Signal(syscall.SIGTERM) }},
		{name: "SIGINT", end: func(s *session) { _ = s.cmd.Process.Signal(syscall.SIGINT) }},
		{name: "a panic", what: "panic", code: 2, shows: "a source failed"},
		{name: "an error", what: "error", code: 1, shows: "error: no such table"},
	} {
		t.Run(c.name, func(t *testing.T) {
			what := c.what
			if what == "" {
				what = "wait"
			}

			s := begin(t, what)
			if c.end != nil {
				s.await("quit")
				c.end(s)
			}

			s.restored()
			if got := s.cmd.ProcessState.ExitCode(); got != c.code {
				t.Errorf("exit code %d, want %d: %q", got, c.code, s.text())
			}

			s.await(c.shows)
			if _, after, _ := strings.Cut(s.text(), leave); !strings.Contains(after, c.shows) {
				t.Errorf("after the screen was left it shows %q, want %q", after, c.shows)
			}
		})
	}
}

// The screen follows the terminal's size, and draws nothing beyond it.
func TestTerminalIsResized(t *testing.T) {
	s := begin(t, "wait")
	s.await("quit")
	if err := pty.Setsize(s.tty, &pty.Winsize{Rows: 10, Cols: 50}); err != nil {
		t.Fatal(err)
	}

	if err := s.cmd.Process.Signal(syscall.SIGWINCH); err != nil {
		t.Fatal(err)
	}

	s.await("…") // the keys, cut at 50 columns
	s.send("?")
	s.await("oldest")
	s.send("?m" + "tuned" + "\r")
	s.await("quay")
	s.send("q")
	s.restored()
}

// With NO_COLOR, no colours are used.
func TestNoColor(t *testing.T) {
	s := begin(t, "wait", "NO_COLOR=1")
	s.await("quit")
	s.send("q")
	s.restored()
	for _, code := range []string{"\x1b[3", "\x1b[4"} {
		for _, part := range strings.Split(s.text(), code)[1:] {
			if i := strings.IndexAny(part, "mlhHJKABCDGd"); i >= 0 && part[i] == 'm' {
				t.Errorf("a colour is used: %q", code+part[:i+1])
			}
		}
	}
}
