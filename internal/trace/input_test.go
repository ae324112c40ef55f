//go:build linux

package trace_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/trace"
	"plimsoll/internal/trace/chain"
	"plimsoll/internal/trace/events"
	"plimsoll/internal/trace/target"
)

// On btrfs, calls and the disk's requests are traced, and a note says what is not.
func TestBtrfs(t *testing.T) {
	takesTurn(t, 1)
	need(t, "mkfs.btrfs", "fio", "dd")
	e := emulate(t, "btrfs", 0)
	appending(t, e.dir)
	copying(t, e.dir)

	r := traced(t, target.Choice{Path: e.dir}, 20*time.Millisecond, 0, false).Report
	if !slices.ContainsFunc(r.Notes, func(n string) bool { return strings.Contains(n, "btrfs's log") }) {
		t.Errorf("no note about btrfs: %q", r.Notes)
	}

	if len(r.Header.Disks) == 0 || r.Header.Disks[0].Name != filepath.Base(e.device) {
		t.Errorf("disks %+v, want %s", r.Header.Disks, e.device)
	}

	if r.Slow < enough {
		t.Errorf("%d slow calls", r.Slow)
	}
}

// If no call is slow, the slowest is still known; and a process that uses Linux AIO gets a note.
func TestNothingSlow(t *testing.T) {
	need(t, "fio")
	e := emulate(t, "ext4", 0)
	e.disk.Pace(false, nil)
	p := start(t, nil, "fio", "--name=aio", "--directory="+e.dir, "--rw=write", "--bs=4k", "--size=16m", "--direct=1", "--ioengine=libaio",
		"--iodepth=2", "--fdatasync=8", "--time_based", "--runtime=600", "--thread", "--output=/dev/null")
	until(t, "fio has no AIO context", func() bool {
		f, err := target.Find(target.Choice{PID: p.Pid})
		return err == nil && slices.ContainsFunc(f.Notes, func(n string) bool { return strings.Contains(n, "io_submit") })
	})

	j := appending(t, e.dir)
	r, err := trace.Run(t.Context(), trace.Options{Target: target.Choice{PID: j.Pid}, For: 2 * time.Second, Slower: time.Hour})
	if err != nil {
		t.Fatal(err)
	}

	if _, most := r.Report.Header.Totals.Slowest(); r.Report.Slow > 0 || most == 0 {
		t.Errorf("%d slow calls, the slowest took %v", r.Report.Slow, most)
	}
}

// Operations submitted through io_uring are counted, but not as calls.
func TestRings(t *testing.T) {
	need(t, "fio")
	e := emulate(t, "ext4", 0)
	e.disk.Pace(false, nil)
	p := start(t, nil, "fio", "--name=rings", "--directory="+e.dir, "--rw=write", "--bs=4k", "--size=16m", "--ioengine=io_uring",
		"--iodepth=2", "--fdatasync=8", "--time_based", "--runtime=600", "--thread", "--output=/dev/null")
	until(t, "fio does not use io_uring", func() bool {
		f, err := target.Find(target.Choice{PID: p.Pid})
		return err == nil && f.Rings
	})

	r, err := trace.Run(t.Context(), trace.Options{Target: target.Choice{PID: p.Pid}, For: 2 * time.Second, Slower: time.Hour})
	if err != nil {
		t.Fatal(err)
	}

	if n := r.Report.Header.Totals.Counts; n[events.Fsync].Rings == 0 || n[events.Write].Rings < n[events.Fsync].Rings {
		t.Errorf("%+v", n)
	}

	if !slices.ContainsFunc(r.Report.Notes, func(n string) bool { return strings.Contains(n, "syncs") && strings.Contains(n, "io_uring") }) {
		t.Errorf("no note about io_uring: %q", r.Report.Notes)
	}
}

// A sync of a file on an overlay waits for the file system below.
func TestOverlay(t *testing.T) {
	need(t, "fio", "dd")
	e := emulate(t, "ext4", 0)
	dir := func(name string) string {
		path := filepath.Join(e.dir, name)
		if err := os.Mkdir(path, 0o755); err != nil {
			t.Fatal(err)
		}
		return path
	}

	merged := t.TempDir()
	options := "lowerdir=" + dir("lower") + ",upperdir=" + dir("upper") + ",workdir=" + dir("work")
	if err := unix.Mount("overlay", merged, "overlay", 0, options); err != nil {
		t.Skipf("cannot mount an overlay here: %v", err)
	}

	t.Cleanup(func() { unmount(t, merged) })
	appending(t, merged)
	copying(t, e.dir)
	r := traced(t, target.Choice{Path: merged}, 20*time.Millisecond, 0, false).Report
	judge(t, e, r, others(func(c *chain.Culprit) bool { return c.Comm == "dd" }))

	for i := range r.Worst {
		if c := &r.Worst[i]; !strings.HasPrefix(c.File, merged+"/") && !strings.HasPrefix(c.File, e.dir+"/upper/") {
			t.Errorf("a slow call on %q, not below %s", c.File, merged)
		}
	}
}
