//go:build linux

package trace_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/base/units"
	"plimsoll/internal/base/vtime"
	"plimsoll/internal/lab/blockdev"
	"plimsoll/internal/lab/disk"
	"plimsoll/internal/model/volume"
	"plimsoll/internal/trace"
	"plimsoll/internal/trace/events"
	"plimsoll/internal/trace/target"
	"plimsoll/internal/trace/tracer"
)

// The test binary has three more roles: the neighbour, a program that writes directly with many
// requests in flight; a tracer in a separate process; and a server for a volume.
func TestMain(m *testing.M) {
	if text := os.Getenv("PLIMSOLL_TEST_TRACER"); text != "" {
		choice := target.Choice{Path: text}
		if pid, err := strconv.Atoi(text); err == nil {
			choice = target.Choice{PID: pid}
		}
		if err := childTrace(choice); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}

	if path := os.Getenv("PLIMSOLL_TEST_NEIGHBOUR"); path != "" {
		if err := neighbour(path); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}

	if text := os.Getenv("PLIMSOLL_TEST_VOLUME"); text != "" {
		if err := serveDelayed(os.Args[1], text); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}

	os.Exit(m.Run())
}

// childTrace traces, as the command does, until it is interrupted. Each line of input detaches or
// reattaches its programs; the answer is the number of syncs seen so far.
func childTrace(choice target.Choice) error {
	if err := trace.GiveWay(); err != nil {
		return err
	}

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	_, err := trace.Run(ctx, trace.Options{Target: choice, For: time.Hour, Slower: 20 * time.Millisecond, Started: func(p *tracer.Tracer) {
		go func() {
			lines := bufio.NewScanner(os.Stdin)
			for on := true; lines.Scan(); on = !on {
				if on {
					p.Detach()
				} else if err := p.Attach(); err != nil {
					fmt.Fprintln(os.Stderr, err)
					os.Exit(1)
				}

				h, err := p.Totals()
				if err != nil {
					fmt.Fprintln(os.Stderr, err)
					os.Exit(1)
				}

				syncs := uint64(0)
				for _, kind := range []events.Kind{events.Fsync, events.Fdatasync, events.Msync, events.SyncFileRange} {
					syncs += h.Counts[kind].Calls
				}

				fmt.Println(syncs)
			}
		}()
	}})

	return err
}

// neighbour writes blocks of 16 KiB directly from 32 threads until it is killed.
func neighbour(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|unix.O_DIRECT, 0o600)
	if err != nil {
		return err
	}

	const part, parts = 16 << 10, 32
	if err := f.Truncate(64 << 20); err != nil && !errors.Is(err, unix.EINVAL) { // a device's size is fixed
		return err
	}

	memory, err := unix.Mmap(-1, 0, part, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE) // aligned
	if err != nil {
		return err
	}

	errs := make(chan error)
	for i := range parts {
		go func() {
			for n := 0; ; n++ {
				if _, err := f.WriteAt(memory, int64((i*64+n%64)*part)); err != nil {
					errs <- err
					return
				}
			}
		}()
	}

	return <-errs
}

// seen wraps a volume and records its answers.
type seen struct {
	volume.Volume
	mu  sync.Mutex
	all []answer
}

// An answer is a request with the latency that the volume assigned to it.
type answer struct {
	r     volume.Request
	now   vtime.Instant // submission time on the disk's clock
	seen  int64         // the same on the events' clock, or slightly later
	asked time.Duration
}

func (s *seen) Submit(now vtime.Instant, r volume.Request) volume.Completion {
	seenAt := tracer.Clock()
	c := s.Volume.Submit(now, r)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, answer{r, now, seenAt, c.Done.Sub(now)})
	return c
}

// answers returns the answers so far. (The disk is locked during Submit, so do not call the disk
// while holding this lock.)
func (s *seen) answers() []answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.all)
}

// An emulated is a volume of 1,000 IOPS and 40 MiB/s as a block device, with a file system if one is
// named.
type emulated struct {
	device string // "/dev/loop3"
	dir    string // where the file system is mounted
	volume *seen
	disk   *disk.Disk
}

// emulate creates one, or skips the test with the reason why it cannot.
func emulate(t testing.TB, fs string, slots int) *emulated {
	t.Helper()
	if err := errors.Join(blockdev.Available(), tracer.Available()); err != nil {
		t.Skip(err)
	}

	if testing.Short() {
		t.Skip("takes some ten seconds of real time: not with -short")
	}

	cfg := volume.Config{Name: "traced", Size: 2 * units.GiB, Operation: 256 * units.KiB,
		Sustained: volume.Rate{IOPS: 1000, Throughput: 40 << 20}}
	for op := range cfg.Latency {
		cfg.Latency[op] = volume.Constant(units.Duration(time.Millisecond))
	}

	e := &emulated{volume: &seen{Volume: volume.MustNew(cfg, 1, nil)}}
	h, err := disk.NewHost(disk.Options{Path: blockdev.DefaultPath})
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})

	e.disk, err = h.Add(disk.Config{Name: "traced", Size: cfg.Size, Volume: e.volume})
	if err != nil {
		t.Fatal(err)
	}

	v, err := blockdev.Attach(context.Background(), e.disk, t.TempDir(), blockdev.Options{WbtLatUsec: 2000, Slots: slots, MaxRequest: 256 * units.KiB})
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		if err := v.Detach(context.Background()); err != nil {
			t.Error(err)
		}
	})

	e.device = v.Path()
	if fs == "" {
		return e
	}

	e.disk.Pace(false, nil)
	args := []string{"-q", e.device}
	if fs == "ext4" {
		args = append([]string{"-E", "lazy_itable_init=0,lazy_journal_init=0"}, args...)
	}

	program(t, "mkfs."+fs, args...)
	e.dir = t.TempDir()
	program(t, "mount", e.device, e.dir)
	t.Cleanup(func() {
		e.disk.Pace(false, nil) // write back the remaining dirty pages without delay
		unmount(t, e.dir)
	})

	e.disk.Pace(true, nil)
	return e
}

// unmount waits for killed processes, which end only after their requests.
func unmount(t testing.TB, dir string) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); ; {
		err := unix.Unmount(dir, 0)
		if err == nil {
			return
		}
		if !errors.Is(err, unix.EBUSY) || time.Now().After(deadline) {
			t.Errorf("cannot unmount %s: %v", dir, err)
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// need skips the test if a program is missing.
func need(t testing.TB, names ...string) {
	t.Helper()
	for _, name := range names {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("%s is not installed", name)
		}
	}
}

func program(t testing.TB, name string, args ...string) {
	t.Helper()
	need(t, name)
	if text, err := exec.CommandContext(context.Background(), name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, text)
	}
}

// start runs a command until the test ends, and returns its process.
func start(t testing.TB, env []string, name string, args ...string) *os.Process {
	t.Helper()
	cmd := exec.CommandContext(context.Background(), name, args...)
	cmd.Env = append(os.Environ(), env...)
	cmd.SysProcAttr = &unix.SysProcAttr{Setpgid: true, Pdeathsig: unix.SIGKILL}
	var out strings.Builder
	cmd.Stderr = &out

	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		_ = unix.Kill(-cmd.Process.Pid, unix.SIGKILL) // it may have ended already
		_ = cmd.Wait()                                // killed
		if out.Len() > 0 {
			t.Logf("%s: %s", name, out.String())
		}
	})

	return cmd.Process
}

// direct starts the neighbour under that program name.
func direct(t testing.TB, path string) *os.Process {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "neighbour")
	if err := os.Symlink(self, name); err != nil {
		t.Fatal(err)
	}
	return start(t, []string{"PLIMSOLL_TEST_NEIGHBOUR=" + path}, name)
}

// copying starts a dd that keeps writing a large file, with a sync each time.
func copying(t testing.TB, dir string) *os.Process {
	t.Helper()
	file := filepath.Join(dir, "big")
	return start(t, nil, "sh", "-c", "while dd if=/dev/zero of="+strconv.Quote(file)+" bs=1M count=200 conv=fsync 2>/dev/null; do :; done")
}

// appending starts a fio that appends 4 KiB blocks to a journal and syncs each one.
func appending(t testing.TB, dir string) *os.Process {
	t.Helper()
	need(t, "fio")
	return start(t, nil, "fio", "--name=journal", "--directory="+dir, "--rw=write", "--bs=4k", "--size=64m", "--fdatasync=1",
		"--ioengine=sync", "--time_based", "--runtime=600", "--thread", "--output=/dev/null")
}
