//go:build linux

package probe

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"golang.org/x/sys/unix"

	"plimsoll/internal/base/random"
	"plimsoll/internal/base/units"
	"plimsoll/internal/lab/ioloop"
	"plimsoll/internal/model/catalog"
)

func parsed(t *testing.T, text string) *Profile {
	t.Helper()
	p, err := Parse("test.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// direct skips the test if the folder does not support direct I/O, or the kernel asynchronous I/O.
func direct(t *testing.T, dir string) {
	t.Helper()
	f, err := os.OpenFile(filepath.Join(dir, "direct"), os.O_CREATE|os.O_RDWR|unix.O_DIRECT, 0o600)
	if err != nil {
		t.Skipf("no direct I/O here: %v", err)
	}

	if err := errors.Join(f.Close(), os.Remove(f.Name())); err != nil {
		t.Fatal(err)
	}

	q, err := newQueue(1, ioloop.Alignment)
	if err != nil {
		t.Skipf("no asynchronous I/O here: %v", err)
	}

	if err := q.close(); err != nil {
		t.Fatal(err)
	}
}

func empty(t *testing.T, dir string) {
	t.Helper()
	left, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestRun: the counts are consistent, each companion has a stage, and nothing is left behind.
func TestRun(t *testing.T) {
	dir := t.TempDir()
	r, err := Run(context.Background(), parsed(t, small), Options{Path: dir, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}

	empty(t, dir)
	if len(r.Stages) != 4 || r.Criterion == nil || !r.Criterion.Met || len(r.Criterion.Stages) != 4 || r.Blame.Text == "" {
		t.Fatalf("%+v", r)
	}

	for _, st := range r.Stages {
		wal := st.Streams[0]

		// 200/s for 200 ms are 40 due operations, done or missed.
		if wal.Name != "wal" || wal.Latency.Operations != 40 {
			t.Errorf("%s: %d operations of %s", st.Name, wal.Latency.Operations, wal.Name)
		}

		if done := wal.Latency.Operations - wal.Missed; wal.Bytes != units.Size(2300*done) || wal.Fdatasync == nil || wal.Fdatasync.Operations != done {
			t.Errorf("%s: %d done, %v bytes, fdatasync %+v", st.Name, done, wal.Bytes, wal.Fdatasync)
		}

		if x := wal.Share; x == nil || x.Waited+x.Moved+x.Synced < 0.999 || x.Waited+x.Moved+x.Synced > 1.001 {
			t.Errorf("%s: shares %+v", st.Name, x)
		}

		for _, w := range st.While {
			if w.On.Operations+w.Off.Operations != wal.Latency.Operations {
				t.Errorf("%s: %d while %s is on and %d while off", st.Name, w.On.Operations, w.Companion, w.Off.Operations)
			}
		}
	}

	burst := r.Stages[1].Streams[1]
	if burst.Name != "checkpoint" || burst.Fdatasync == nil || burst.Bytes > 3*256*units.KiB || burst.Bytes == 0 {
		t.Errorf("%+v", burst)
	}

	if n := r.Stages[2].Streams[1].Latency.Operations; n == 0 {
		t.Error("no reads")
	}
}

// TestDeep: several operations in flight with direct I/O, in an open and a closed loop.
func TestDeep(t *testing.T) {
	dir := t.TempDir()
	direct(t, dir)
	p := parsed(t, `measured: reads
stage: 200ms
streams:
  reads: {kind: random-read, size: 8KiB, rate: 500/s, arrivals: even, depth: 8, direct: true, file: 2MiB}
  writes: {kind: append, size: 64KiB, depth: 4, direct: true, file: 1MiB, on: 40ms, off: 40ms, burst: 640KiB}
`)

	r, err := Run(context.Background(), p, Options{Path: dir, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}

	empty(t, dir)
	for _, st := range r.Stages {
		if n := st.Streams[0].Latency.Operations; n != 100 {
			t.Errorf("%s: %d reads were due", st.Name, n)
		}
	}

	w := r.Stages[1].Streams[1]
	if w.Bytes == 0 || w.Bytes%(64*units.KiB) != 0 || w.Bytes > 3*640*units.KiB || w.Latency.Operations*int64(64*units.KiB) != int64(w.Bytes) {
		t.Errorf("%+v", w)
	}
}

// TestLateStart: a stream whose time is over before its thread runs ends immediately, and
// everything that was due counts as missed.
func TestLateStart(t *testing.T) {
	dir := t.TempDir()
	f, err := os.Create(filepath.Join(dir, "f"))
	if err != nil {
		t.Fatal(err)
	}

	defer f.Close()
	for _, rate := range []units.Frequency{0, 1000} {
		s := &Stream{Name: "late", Kind: RandomWrite, Size: 4096, Depth: 1, File: units.MiB, Rate: rate}
		c := clock{time.Now().Add(-time.Hour)}
		j := &job{Stream: s, file: f, clock: c, chance: random.Seed(1).Stream("late"), begin: 0, end: int64(time.Second)}
		if err := errors.Join(j.prepare(), j.run(context.Background())); err != nil {
			t.Fatal(err)
		}
		if j.missed != int64(rate) || j.bytes != 0 || j.all.Count() != int64(rate) {
			t.Errorf("%v: %d missed, %d bytes", rate, j.missed, j.bytes)
		}
	}
}

// TestInterrupted: cancelling the context, as Ctrl-C does, leaves nothing behind.
func TestInterrupted(t *testing.T) {
	dir := t.TempDir()
	p := parsed(t, small)
	p.Stage = units.Duration(time.Hour)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()

	_, err := Run(ctx, p, Options{Path: dir, Seed: 1, Progress: func(what string, _, _ int) {
		if strings.HasPrefix(what, "measuring") {
			empty(t, dir) // even now: the files have no names, so even SIGKILL leaves nothing
			cancel()
		}
	}})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}

	empty(t, dir)
}

// TestWithoutNamelessFiles: on file systems without nameless files, a file is unlinked as soon as it is
// open. If the probe is killed in between, the next probe removes the file.
func TestWithoutNamelessFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a [folder]*")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}

	f, err := openUnlinked(dir, os.O_RDWR)
	if err != nil {
		t.Fatal(err)
	}

	defer f.Close()
	empty(t, dir)

	mine := []string{"data", namePrefix + "mine", namePrefix + "2"}
	for _, name := range append(mine, namePrefix+"1") {
		text := ""
		if name == namePrefix+"2" {
			text = "a probe's file has no content while it has a name"
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	newFolder(dir)
	if left, err := os.ReadDir(dir); err != nil || len(left) != len(mine) {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestPlaces: existing files are not touched, and disks are not filled without consent.
func TestPlaces(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "mine")
	if err := os.WriteFile(file, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}

	p := parsed(t, small)
	if _, err := Run(context.Background(), p, Options{Path: file}); err == nil || !strings.Contains(err.Error(), "is not a folder") {
		t.Errorf("a file: %v", err)
	}

	if b, err := os.ReadFile(file); err != nil || string(b) != "mine" {
		t.Errorf("the file holds %q, %v", b, err)
	}

	if _, err := Look(filepath.Join(dir, "new")); err == nil || !strings.Contains(err.Error(), "new does not exist") {
		t.Errorf("a folder that does not exist: %v, want it refused", err)
	}

	p.Streams[0].File = fileMax
	p.Streams[1].File = fileMax
	var full *FullError

	place, err := Look(dir)
	if err != nil {
		t.Fatal(err)
	}

	if place.Free > 2*fileMax {
		t.Skip("more space is free than a profile can request")
	}

	if _, err := Run(context.Background(), p, Options{Path: dir, Yes: true}); !errors.As(err, &full) || !full.Never {
		t.Errorf("two files of %v: %v", fileMax, err)
	}
}

// TestFit: the fitted volume is valid in a scenario.
func TestFit(t *testing.T) {
	dir := t.TempDir()
	direct(t, dir)
	r, err := Run(context.Background(), parsed(t, small), Options{Path: dir, Seed: 1, Fit: true, fitStep: 50 * time.Millisecond, fitFile: 16 * units.MiB})
	if err != nil {
		t.Fatal(err)
	}
	var o catalog.Order
	if err := yaml.UnmarshalWithOptions([]byte(r.Fitted.YAML), &o, yaml.Strict()); err != nil {
		t.Fatalf("%v\n%s", err, r.Fitted.YAML)
	}
	if err := o.Check().Err(); err != nil || o.Type != "custom" || o.IOPS < 1 || o.Latency.Read == nil || o.Latency.Flush == nil {
		t.Errorf("%v: %+v", err, o)
	}
	empty(t, dir)
}
