//go:build linux

package trace_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/trace"
	"plimsoll/internal/trace/target"
)

// On btrfs the calls and the disk's requests are seen, and a note says what is not.
func TestBtrfs(t *testing.T) {
	takesTurn(t, 1)
	need(t, "mkfs.btrfs", "fio", "dd")
	e := emulate(t, "btrfs", 0)
	appending(t, e.dir)
	copying(t, e.dir)
	r := traced(t, target.Choice{Path: e.dir}, 20*time.Millisecond).Report
	if !slices.ContainsFunc(r.Notes, func(n string) bool { return strings.Contains(n, "btrfs's log") }) {
		t.Errorf("no note on btrfs: %q", r.Notes)
	}
	if len(r.Header.Disks) == 0 || r.Header.Disks[0].Name != filepath.Base(e.device) {
		t.Errorf("disks %+v, want %s", r.Header.Disks, e.device)
	}
	if r.Slow < enough {
		t.Errorf("%d slow calls", r.Slow)
	}
}

// Where no call is slow, the slowest is known; and a process that uses Linux AIO gets a note.
func TestNothingSlow(t *testing.T) {
	need(t, "fio")
	e := emulate(t, "ext4", 0)
	e.disk.Pace(false, nil)
	p := start(t, nil, "fio", "--name=aio", "--directory="+e.dir, "--rw=write", "--bs=4k", "--size=16m", "--direct=1", "--ioengine=libaio",
		"--iodepth=2", "--fdatasync=8", "--time_based", "--runtime=600", "--thread", "--output=/dev/null")
	until(t, "fio has no context for AIO", func() bool {
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
