//go:build linux

package tracer

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/trace/events"
)

// started returns a tracer, or skips the test with the reason why there is none.
func started(t *testing.T, c Config) *Tracer {
	t.Helper()
	p, err := Start(c)
	var not *UnavailableError
	if errors.As(err, &not) && (Available() != nil || os.Geteuid() != 0) {
		t.Skip(err)
	}

	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})

	return p
}

// The kernel accepts the programs, and they see a sync of this process with the file's name.
func TestOwnSync(t *testing.T) {
	p := started(t, Config{Slower: 1})
	dir := t.TempDir()
	var st unix.Stat_t

	if err := unix.Stat(dir, &st); err != nil {
		t.Fatal(err)
	}

	dev := unix.Major(st.Dev)<<20 | unix.Minor(st.Dev)
	if err := p.Watch([]uint32{uint32(os.Getpid())}, []uint32{dev}, []uint32{dev}); err != nil {
		t.Fatal(err)
	}

	f, err := os.Create(filepath.Join(dir, "traced"))
	if err != nil {
		t.Fatal(err)
	}

	defer f.Close()
	if _, err := f.WriteString("x"); err != nil {
		t.Fatal(err)
	}

	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}

	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	named := ""
	var call *events.Call

	if err := p.Run(ctx, func(b *events.Batch) {
		for i := range b.Calls {
			if c := &b.Calls[i]; c.Kind == events.Fsync {
				call = c
			}
		}

		for _, u := range b.Files {
			if len(u.Names) > 0 && u.Names[0] == "traced" {
				named = u.Comm
			}
		}

		if call != nil && named != "" {
			cancel()
		}
	}); err != nil {
		t.Fatal(err)
	}

	if call == nil || named == "" {
		t.Fatalf("call %+v, file name reported by %q", call, named)
	}

	if call.File.Dev != dev || call.PID != uint32(os.Getpid()) || call.Exit <= call.Enter || call.Result != 0 {
		t.Errorf("%+v", call)
	}

	n, err := p.Totals()
	if err != nil || n.Counts[events.Fsync].Calls == 0 || n.Lost != 0 {
		t.Errorf("%+v, %v", n, err)
	}
}

// A ring that is too small loses events and counts them.
func TestLost(t *testing.T) {
	p := started(t, Config{Slower: 1, ringBytes: uint32(os.Getpagesize())})
	if err := p.Watch([]uint32{uint32(os.Getpid())}, nil, nil); err != nil {
		t.Fatal(err)
	}

	f, err := os.Create(filepath.Join(t.TempDir(), "traced"))
	if err != nil {
		t.Fatal(err)
	}

	defer f.Close()
	for range 100 {
		if _, err := f.WriteString("x"); err != nil {
			t.Fatal(err)
		}
		if err := f.Sync(); err != nil {
			t.Fatal(err)
		}
	}

	n, err := p.Totals()
	if err != nil || n.Lost == 0 || n.Counts[events.Fsync].Calls < 100 {
		t.Errorf("%+v, %v", n, err)
	}
}

// Detached programs see nothing. Once reattached, they see what begins after that.
func TestDetached(t *testing.T) {
	p := started(t, Config{Slower: time.Second})
	dir := t.TempDir()
	var st unix.Stat_t

	if err := unix.Stat(dir, &st); err != nil {
		t.Fatal(err)
	}

	dev := unix.Major(st.Dev)<<20 | unix.Minor(st.Dev)
	if err := p.Watch([]uint32{uint32(os.Getpid())}, []uint32{dev}, []uint32{dev}); err != nil {
		t.Fatal(err)
	}

	f, err := os.Create(filepath.Join(dir, "traced"))
	if err != nil {
		t.Fatal(err)
	}

	defer f.Close()
	runtime.LockOSThread() // a thread's first call may have begun before, and is not counted
	defer runtime.UnlockOSThread()
	const syncs = 20
	seen := func() uint64 {
		t.Helper()
		for range syncs {
			if _, err := f.WriteString("x"); err != nil {
				t.Fatal(err)
			}
			if err := f.Sync(); err != nil {
				t.Fatal(err)
			}
		}

		n, err := p.Totals()
		if err != nil {
			t.Fatal(err)
		}

		return n.Counts[events.Fsync].Calls
	}

	first := seen()
	p.Detach()
	detached := seen()

	if err := p.Attach(); err != nil {
		t.Fatal(err)
	}

	again := seen()
	if first == 0 || detached != first || again < detached+syncs/2 {
		t.Errorf("%d calls, %d after a run with detached programs, %d after reattaching them", first, detached, again)
	}
}
