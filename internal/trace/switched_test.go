//go:build linux

package trace_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/trace/target"
)

// A switched is a trace in a separate process whose programs can be attached and detached. While
// they are detached, the process is stopped.
type switched struct {
	t       testing.TB
	cmd     *exec.Cmd
	stdin   io.Writer
	answers *bufio.Scanner

	attached bool
	since    time.Time
	syncs    float64 // seen so far
	rate     float64 // syncs per second while last attached
}

// tracing starts a trace and waits until its programs run.
func tracing(t testing.TB, c target.Choice) *switched {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}

	until(t, "another trace is running", func() bool { return attached() == 0 })
	x := &switched{t: t, cmd: exec.CommandContext(context.Background(), self), attached: true}
	x.cmd.Env = append(os.Environ(), "PLIMSOLL_TEST_TRACER="+c.Path)

	x.cmd.Stderr = os.Stderr
	x.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: unix.SIGKILL} // nothing else ends a stopped process
	in, err1 := x.cmd.StdinPipe()
	out, err2 := x.cmd.StdoutPipe()

	if err := errors.Join(err1, err2, x.cmd.Start()); err != nil {
		t.Fatal(err)
	}

	x.stdin, x.answers = in, bufio.NewScanner(out)
	t.Cleanup(func() {
		_ = x.cmd.Process.Kill() // the kernel removes its programs
		_ = x.cmd.Wait()         // killed
		until(t, "the process left programs behind", func() bool { return attached() == 0 })
	})

	until(t, "no program was attached", func() bool { return attached() > 0 })
	time.Sleep(time.Second) // it reads all processes' open files first
	return x
}

// attach attaches or detaches the programs, and waits for the disturbance to pass.
func (x *switched) attach(on bool) {
	x.t.Helper()
	const settles = 100 * time.Millisecond
	if on == x.attached {
		return
	}

	if on {
		x.signal(unix.SIGCONT)
	}

	if _, err := fmt.Fprintln(x.stdin, on); err != nil {
		x.t.Fatal(err)
	}

	if !x.answers.Scan() {
		x.t.Fatal("the trace ended")
	}

	seen, err := strconv.ParseFloat(x.answers.Text(), 64)
	if err != nil {
		x.t.Fatal(err)
	}

	if on {
		x.since = time.Now()
	} else {
		x.signal(unix.SIGSTOP)
		if !x.since.IsZero() {
			x.rate = (seen - x.syncs) / time.Since(x.since).Seconds()
		}
	}

	x.attached, x.syncs = on, seen
	time.Sleep(settles)
}

func (x *switched) signal(s unix.Signal) {
	x.t.Helper()
	if err := x.cmd.Process.Signal(s); err != nil {
		x.t.Fatal(err)
	}
}
