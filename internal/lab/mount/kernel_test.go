//go:build linux

package mount

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/base/units"
)

// The verdict after ten identical seconds.
func TestComparison(t *testing.T) {
	const ms = units.Duration(time.Millisecond)
	for name, tt := range map[string]struct {
		each  sight // of one second
		added units.Duration
		slow  bool
	}{
		"as planned":          {sight{1000, 1000 * ms, 1000 * ms}, 0, false},
		"within the bounds":   {sight{1000, 1250 * ms, 1000 * ms}, ms / 4, false},
		"over both":           {sight{1000, 1400 * ms, 1000 * ms}, ms * 4 / 10, true},
		"a small share":       {sight{1000, 10900 * ms, 10000 * ms}, ms * 9 / 10, false},
		"too few requests":    {sight{9, 900 * ms, 9 * ms}, 0, false},
		"faster than planned": {sight{1000, 900 * ms, 1000 * ms}, 0, false},
	} {
		start := sight{77, 5 * ms, 0}
		c, now := comparison{from: start, span: start}, start
		for range slowSeconds {
			now = sight{now.requests + tt.each.requests, now.took + tt.each.took, now.asked + tt.each.asked}
			c.second(now)
		}

		if c.worst != tt.added || c.slow != tt.slow {
			t.Errorf("%s: added %v, slow %v", name, c.worst, c.slow)
		}

		c.second(now) // a second without requests changes nothing
		if c.worst != tt.added || c.slow != tt.slow {
			t.Errorf("%s, a second later: added %v, slow %v", name, c.worst, c.slow)
		}

		// A slow span is not forgotten.
		for range 2 * slowSeconds {
			now.requests += 1000
			now.took, now.asked = now.took+1000*ms, now.asked+1000*ms
			c.second(now)
		}

		if c.slow != tt.slow {
			t.Errorf("%s, followed by good spans: slow %v", name, c.slow)
		}
	}
}

// Requests delayed before they reach the emulator are late. The emulator cannot measure that delay, but the
// kernel can.
func TestKernelSeesThePath(t *testing.T) {
	command := lab(t)
	m := start(t, Options{File: write(t, "type: custom\nsize: 1GiB\niops: 20000\nlatency: {write: {p50: 2ms, p99: 2ms}, read: {p50: 2ms, p99: 2ms}}\n"), Command: command})
	name := filepath.Join(m.Dirs["data"], "file")

	if err := synced(name, make([]byte, 1<<20)); err != nil {
		t.Fatal(err)
	}

	if err := m.ResetStats(t.Context()); err != nil {
		t.Fatal(err)
	}

	const at, readers = 16, 16
	s := status(t, m)
	if s.Kernel != nil || s.Asked != nil || s.Slow {
		t.Errorf("before any request: %+v", s)
	}

	readDirect(t, name, readers, at, func() {})
	s = status(t, m)

	// The emulator answers early by the time spent on the path, so the kernel's mean may be
	// slightly below the planned one.
	if s.Kernel == nil || s.Asked == nil || *s.Asked < 1.5e-3 || *s.Kernel < *s.Asked/2 {
		t.Fatalf("asked %v s, the kernel saw %v s", s.Asked, s.Kernel)
	}

	// A busy machine may have been slow before; only what follows counts.
	if err := m.ResetStats(t.Context()); err != nil {
		t.Fatal(err)
	}

	// A stopped process receives no requests and answers none.
	pid := m.owned.cmd.Process.Pid
	readDirect(t, name, readers, at, func() {
		for range 5 {
			for _, sig := range []syscall.Signal{syscall.SIGSTOP, syscall.SIGCONT} {
				if err := syscall.Kill(pid, sig); err != nil {
					t.Error(err)
				}
				time.Sleep(50 * time.Millisecond)
			}
		}
	})

	s = status(t, m)
	if *s.Kernel <= *s.Asked || !s.Slow || !s.Saturated || s.Added < float64(slowBeyond)/1e9 {
		t.Errorf("asked %v s, the kernel saw %v s, added %v, slow %v, saturated %v", *s.Asked, *s.Kernel, s.Added, s.Slow, s.Saturated)
	}

	if err := m.ResetStats(t.Context()); err != nil {
		t.Fatal(err)
	}

	if s := status(t, m); s.Slow || s.Saturated || s.Kernel != nil {
		t.Errorf("the counters restarted: %+v", s)
	}
}

func status(t *testing.T, m *Machine) *VolumeStatus {
	t.Helper()
	s, err := m.Status(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return &s.Volumes[0]
}

// readDirect reads a file with direct I/O and several readers, each at least the given number of times,
// and until f returns.
func readDirect(t *testing.T, name string, readers, times int, f func()) {
	t.Helper()
	done := make(chan struct{})
	var all sync.WaitGroup
	for range readers {
		all.Go(func() {
			if err := readOne(name, times, done); err != nil {
				t.Error(err)
			}
		})
	}
	f()
	close(done)
	all.Wait()
}

func readOne(name string, times int, done <-chan struct{}) error {
	f, err := os.OpenFile(name, os.O_RDONLY|unix.O_DIRECT, 0)
	if err != nil {
		return err
	}

	defer f.Close()
	buf, err := unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return err
	}

	defer func() { _ = unix.Munmap(buf) }()
	for i := 0; ; i++ {
		if i >= times {
			select {
			case <-done:
				return nil
			default:
			}
		}
		if _, err := f.ReadAt(buf, int64(i%256)*4096); err != nil {
			return err
		}
	}
}
