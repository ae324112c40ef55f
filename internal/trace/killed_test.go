//go:build linux

package trace_test

import (
	"context"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/cilium/ebpf"

	"plimsoll/internal/trace/target"
	"plimsoll/internal/trace/tracer"
)

// attached returns how many copies of the trace's programs the kernel has loaded.
func attached() (n int) {
	for id := ebpf.ProgramID(0); ; {
		next, err := ebpf.ProgramGetNextID(id)
		if err != nil {
			return n
		}

		id = next
		p, err := ebpf.NewProgramFromID(id)
		if err != nil {
			continue
		}

		if i, err := p.Info(); err == nil && i.Name == "commit_logging" {
			n++
		}

		_ = p.Close()
	}
}

// until waits for a condition.
func until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !ok(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal(what)
		}
	}
}

// The kernel removes the programs however the tracing process ends.
func TestKilled(t *testing.T) {
	if err := tracer.Available(); err != nil {
		t.Skip(err)
	}

	if _, err := target.Find(target.Choice{PID: os.Getpid()}); err != nil {
		t.Skip(err)
	}

	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}

	before := attached()
	cmd := exec.CommandContext(context.Background(), self)
	cmd.Env = append(os.Environ(), "PLIMSOLL_TEST_TRACER="+strconv.Itoa(os.Getpid()))

	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}

	until(t, "no program was attached", func() bool { return attached() > before })
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}

	_ = cmd.Wait() // killed
	until(t, "a killed process left programs behind", func() bool { return attached() <= before })
}
