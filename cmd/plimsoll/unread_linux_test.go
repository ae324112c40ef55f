package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// unreadPipe returns a small pipe that no process reads.
func unreadPipe(t *testing.T) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err == nil {
		_, err = unix.FcntlInt(w.Fd(), unix.F_SETPIPE_SZ, 4096)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = errors.Join(r.Close(), w.Close()) })
	return r, w
}

// holds returns the number of bytes that wait in a pipe.
func holds(t *testing.T, r *os.File) int {
	t.Helper()
	n, err := unix.IoctlGetInt(int(r.Fd()), unix.TIOCINQ)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// signalled runs plimsoll, sends one SIGTERM once ready reports true, and returns the exit code.
func signalled(t *testing.T, cmd *exec.Cmd, ready func() bool) int {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	run := exec.CommandContext(ctx, "plimsoll", cmd.Args[1:]...)
	run.Stdin, run.Stdout, run.Stderr, run.Dir = cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.Dir

	if err := run.Start(); err != nil {
		t.Fatal(err)
	}

	for !ready() {
		if ctx.Err() != nil {
			t.Fatal("it never came so far")
		}
		time.Sleep(10 * time.Millisecond)
	}

	if err := run.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}

	err := run.Wait()
	if ctx.Err() != nil {
		t.Fatalf("%v: it needed a second signal: %v", cmd.Args[1:], err)
	}

	return run.ProcessState.ExitCode()
}

// The first signal ends a command whose output no process reads.
func TestSignalWhileOutputIsUnread(t *testing.T) {
	dir := t.TempDir()
	var page strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&page, "node_memory_Dirty_bytes{n=\"%d\"} %d %d\n", i%300, i, 1_764_000_000+i/300)
	}

	file := filepath.Join(dir, "x.prom")
	if err := os.WriteFile(file, []byte(page.String()+"# EOF\n"), 0o600); err != nil {
		t.Fatal(err)
	}

	for _, args := range [][]string{
		{"export", file, "--to", "csv"},
		{"query", file, "node_memory_Dirty_bytes", "-o", "json"},
		{"simulate", "../../examples/scenarios/etcd.yaml", "--set", "run.duration=5s", "-o", "html"},
		{"rules", "list"},
	} {
		t.Run(args[0], func(t *testing.T) {
			r, w := unreadPipe(t)
			cmd := exec.Command("plimsoll", args...)
			cmd.Stdout = w
			if code := signalled(t, cmd, func() bool { return holds(t, r) == 4096 }); code != exitInterrupted {
				t.Errorf("code %d", code)
			}
		})
	}
}

// A full pipe at stderr stops neither a recording nor its end.
func TestSignalWhileStderrIsUnread(t *testing.T) {
	out := filepath.Join(t.TempDir(), "recording")
	for _, args := range [][]string{
		{"record", "host", "--period", "20ms", "--out", out},
		{"watch", "host", "--web.listen-address", "127.0.0.1:0", "--period", "20ms", "--out", out + "-ring"},
	} {
		t.Run(args[0], func(t *testing.T) {
			_, w := unreadPipe(t)
			if _, err := w.Write(make([]byte, 4096)); err != nil {
				t.Fatal(err)
			}

			cmd := exec.Command("plimsoll", args...)
			cmd.Stderr = w
			code := signalled(t, cmd, func() bool {
				wal, err := os.Stat(filepath.Join(args[len(args)-1], "wal", "00000000"))
				return err == nil && wal.Size() > 0
			})
			if code != exitFine {
				t.Errorf("code %d", code)
			}
		})
	}
}

// silentServer accepts connections and never answers. asked has an element for each.
func silentServer(t *testing.T) (address string, asked chan struct{}) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { _ = l.Close() })
	asked = make(chan struct{}, 100)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			defer c.Close()
			asked <- struct{}{}
		}
	}()

	return l.Addr().String(), asked
}

// The first signal ends a command that waits for a file or a server, and it leaves no temporary file.
func TestSignalWhileInputBlocks(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}

	for _, args := range [][]string{
		{"diagnose", "http://SILENT/metrics"},
		{"query", "http://SILENT", "up"},
		{"diagnose", "mongodb://SILENT/"},
		{"catalog", "import", pipe},
		{"rules", "test", pipe},
		{"export", "http://SILENT", "--out", filepath.Join(dir, "x.csv")},
	} {
		t.Run(args[0], func(t *testing.T) {
			address, asked := silentServer(t)
			for i := range args {
				args[i] = strings.Replace(args[i], "SILENT", address, 1)
			}

			ready := func() bool { // a reader waits for the pipe's writer
				w, err := os.OpenFile(pipe, os.O_WRONLY|syscall.O_NONBLOCK, 0)
				if err == nil {
					t.Cleanup(func() { _ = w.Close() })
				}
				return err == nil
			}

			if args[len(args)-1] != pipe {
				ready = func() bool {
					select {
					case <-asked:
						return true
					default:
						return false
					}
				}
			}

			if code := signalled(t, exec.Command("plimsoll", args...), ready); code != exitInterrupted {
				t.Errorf("code %d", code)
			}

			if left := temporaries(t, dir); len(left) > 0 {
				t.Errorf("left over: %q", left)
			}
		})
	}
}
