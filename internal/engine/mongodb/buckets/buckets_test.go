//go:build linux

package buckets

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"plimsoll/internal/base/units"
	"plimsoll/internal/lab/blockdev"
	"plimsoll/internal/lab/mount"
)

// The test binary also serves the volumes.
func TestMain(m *testing.M) {
	if root := os.Getenv("PLIMSOLL_TEST_LAB_ROOT"); root != "" {
		mount.Root = root
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM) // as in the program
		err := mount.Serve(ctx, language, os.Stdin, os.Stdout)
		stop()
		if err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// config is a short measurement. The test fails if anything is left behind.
func config(t *testing.T) Config {
	t.Helper()
	if err := blockdev.Available(); err != nil {
		t.Skip(err)
	}

	if _, err := exec.LookPath("mkfs.xfs"); err != nil {
		t.Skip("mkfs.xfs is not installed")
	}

	if os.Getenv("PLIMSOLL_WIREDTIGER") == "" {
		built, err := filepath.Abs("../../../../bin/plimsoll-wiredtiger")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(built); err != nil {
			t.Skip("no worker was built: make worker")
		}
		t.Setenv("PLIMSOLL_WIREDTIGER", built)
	}

	before := mount.Root
	mount.Root = t.TempDir()

	for _, dir := range []string{mount.Root, filepath.Dir(mount.Root)} { // the engine does not run as root
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}

	t.Setenv("PLIMSOLL_TEST_LAB_ROOT", mount.Root)
	t.Cleanup(func() {
		mounts, err := os.ReadFile("/proc/self/mounts")
		if err != nil || bytes.Contains(mounts, []byte(mount.Root)) {
			t.Errorf("mounts are left below %s: %v", mount.Root, err)
		}
		if entries, err := os.ReadDir(mount.Root); err != nil || len(entries) > 0 {
			t.Errorf("states are left: %v, %v", entries, err)
		}
		mount.Root = before
	})

	return Config{
		Language: language,
		Entries:  []int{12, 60}, Sensors: sensorsMin, Sustained: units.Duration(100 * time.Millisecond),
		Daemon: []string{os.Args[0]}, Log: func(line string) { t.Log(line) },
	}
}

// The results must be plausible: no file is smaller than its content, and the volume writes at least
// the new data.
func TestMeasured(t *testing.T) {
	cfg := config(t)
	reports := 0
	cfg.Progress = func(string, int, int) { reports++ }

	r, err := Run(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}

	if len(r.Rows) != 3 || reports < 3 || !strings.HasPrefix(r.Server, "WiredTiger ") || r.Path <= 0 || len(r.Notes) < 3 {
		t.Fatalf("%d reports of progress; %+v", reports, r)
	}

	for _, row := range r.Rows {
		if len(row.Fills) != 3 || row.PushesPerSecond <= 0 {
			t.Fatalf("%+v", row)
		}

		for i, f := range row.Fills {
			if f.Name != []string{"first", "half", "full"}[i] || f.P50 <= 0 || f.P99 < f.P50 || f.From < 1 || f.To > row.Entries {
				t.Errorf("%d readings: %+v", row.Entries, f)
			}
			if f.PerPush < float64(Entry) {
				t.Errorf("%d readings, %s: %v bytes reached the volume for each push of %v", row.Entries, f.Name, f.PerPush, Entry)
			}
		}

		if least := float64(row.DocumentsPerDay * row.DocumentBytes); row.StoragePerDay < least {
			t.Errorf("%d readings: files of %v bytes a day for documents of %v", row.Entries, row.StoragePerDay, least)
		}
	}
}

// If interrupted halfway, a run ends and everything is undone (config checks).
func TestInterrupted(t *testing.T) {
	cfg := config(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	cfg.Progress = func(what string, _, _ int) {
		if strings.HasPrefix(what, "measuring") {
			time.AfterFunc(300*time.Millisecond, cancel)
		}
	}
	cfg.Sustained = sustainedMax
	if _, err := Run(ctx, cfg); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
}

// A document is filled in order, one checkpoint after another.
func TestSegments(t *testing.T) {
	for _, n := range []int{12, 13, 35, 36, 60, 720} {
		last := 0
		fills := map[string]int{}
		for _, s := range segments(n) {
			if s.from <= last || s.to < s.from || s.to > n {
				t.Errorf("%d: %+v after %d", n, s, last)
			}
			last = s.to
			for e := s.from; e <= s.to; e++ {
				fills[s.fill(e)]++
			}
		}

		if last != n || len(fills) != 3 {
			t.Errorf("%d: until %d, %v", n, last, fills)
		}
	}
}

func TestRows(t *testing.T) {
	for n, want := range map[int]Row{
		12:  {SpanSeconds: 60, DocumentBytes: 480, DocumentsPerDay: 14_400_000, DayDocuments: 1440},
		60:  {SpanSeconds: 300, DocumentBytes: 2400, DocumentsPerDay: 2_880_000, DayDocuments: 288},
		720: {SpanSeconds: 3600, DocumentBytes: 28_800, DocumentsPerDay: 240_000, DayDocuments: 24},
	} {
		got := rowOf(n, true)
		if got.SpanSeconds != want.SpanSeconds || got.DocumentBytes != want.DocumentBytes || got.DocumentsPerDay != want.DocumentsPerDay || got.DayDocuments != want.DayDocuments {
			t.Errorf("%d: %+v", n, got)
		}
		// The published table's figures per day are correct, where it has them.
		if p := got.Published; p == nil || p.DocumentsPerDay != got.DocumentsPerDay {
			t.Errorf("%d: published %+v", n, p)
		}
	}
	// mongod passes on differences for documents over 1 KiB.
	for n, want := range map[int]bool{12: false, 25: false, 26: true, 720: true} {
		if differs(n) != want {
			t.Errorf("%d readings, %s: a difference: %v", n, size(n), !want)
		}
	}
}

func TestWhatCannotBeMeasured(t *testing.T) {
	for want, change := range map[string]func(*Config){
		"granularities, not 0": func(c *Config) { c.Entries = nil },
		"3 readings":           func(c *Config) { c.Entries = []int{3} },
		"1000000 readings":     func(c *Config) { c.Entries = []int{60, 1_000_000} },
		"1 sensors":            func(c *Config) { c.Sensors = 1 },
		"must be positive":     func(c *Config) { c.Sustained = 0 },
		"volumes.data.iops":    func(c *Config) { c.Sets = []string{"volumes.data.iops=1"} },
		"another engine":       func(c *Config) { c.Sets = []string{"engine={etcd: {}}", "workload.connections=1"} },
	} {
		cfg := Defaults()
		cfg.Language = language
		change(&cfg)
		if _, err := Run(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}
