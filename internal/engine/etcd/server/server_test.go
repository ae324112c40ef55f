//go:build linux

package server

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"

	"plimsoll/internal/base/units"
	etcd "plimsoll/internal/engine/etcd/model"
	"plimsoll/internal/lab"
	"plimsoll/internal/model/simulate"
	"plimsoll/internal/model/workload"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
)

const patience = 2 * time.Minute

// bench is a cluster in plain folders.
type bench struct {
	*Server
	m     *lab.Machine
	mu    sync.Mutex
	lines []string
}

// folder makes a folder that other users may enter.
func folder(t testing.TB, dir string) string {
	t.Helper()
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// sharedByTest is how many HTTP/2 connections a benchmark uses; 0: the default.
var sharedByTest int

// start starts a cluster in folders with the given names, or skips the test.
func start(t testing.TB, dir string, cfg etcd.Config, text string, names ...string) *bench {
	t.Helper()
	sc, err := language.Parse("test.yaml", []byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}

	b := &bench{m: &lab.Machine{Dirs: map[string]string{}, Scratch: filepath.Join(dir, "scratch"), Scenario: sc}}
	b.m.Log = func(line string) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.lines = append(b.lines, line)
	}

	for _, name := range append(names, "scratch") {
		at := filepath.Join(dir, name)
		if err := os.MkdirAll(at, 0o755); err != nil {
			t.Fatal(err)
		}
		b.m.Dirs[name] = at
	}

	server, err := New(cfg)
	if errors.Is(err, errMissing) {
		t.Skip(err)
	}

	if err != nil {
		t.Fatal(err)
	}

	b.Server = server.(*Server)
	if sharedByTest > 0 {
		b.shared = sharedByTest
	}

	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		for range 2 { // a second call must do no harm
			if err := b.Stop(ctx); err != nil {
				t.Error(err)
			}
		}
	})

	var last [2]int64
	err = b.Start(ctx, b.m, func(_ string, done, total int64) { last = [2]int64{done, total} })
	if err != nil {
		t.Fatal(err)
	}

	if n := int64(sc.Workloads().Documents()); last != [2]int64{n, n} {
		t.Errorf("the last progress was %v of %d documents", last, n)
	}

	return b
}

const text = `
plimsoll: 1
volumes: {data: {type: gp3, size: 50GiB}}
engine: {etcd: {}}
workload:
  arrivals: {poisson: 100/s}
  mix: {update: 100%}
  keys: {count: 300}
  document: {size: 300B}
  connections: 4
`

func TestOneMember(t *testing.T) {
	cfg := etcd.Defaults()
	cfg.Segment = 32 * units.MB
	b := start(t, folder(t, t.TempDir()), cfg, text, "data", "wal")
	if !strings.HasPrefix(b.Describe(), "etcd 3.") || strings.Contains(b.Describe(), "loopback") {
		t.Errorf("it describes itself as %q", b.Describe())
	}

	b.mu.Lock()
	lines := slices.Clone(b.lines)
	b.mu.Unlock()

	if !slices.ContainsFunc(lines, func(l string) bool { return strings.Contains(l, "engine.etcd.wal_segment is 32MB") }) {
		t.Error("no message that the segment's size is compiled in")
	}

	logs, err := filepath.Glob(filepath.Join(b.m.Dirs["wal"], "etcd-m1", "wal", "*.wal"))
	if err != nil || len(logs) == 0 {
		t.Errorf("there is no log on its volume: %v %v", logs, err)
	}

	ctx := t.Context()
	for _, key := range []uint64{0, 299} {
		b.reads(t, key, 0, true)
	}

	b.reads(t, 300, 0, false)
	b.do(t, 0, workload.Update, 7, 1001, 300)
	b.do(t, 1, workload.Insert, 300, 1002, 5000)
	b.do(t, 2, workload.Push, 8, 1003, 40)
	b.do(t, 3, workload.Read, 7, 0, 300)
	b.do(t, 3, workload.Scan, 0, 0, 3000)
	b.do(t, 0, workload.Update, 9, 1<<63+5, 3)

	got, err := b.links.Load().kv(0).Range(ctx, &etcdserverpb.RangeRequest{Key: keys{}.of(300)})
	if err != nil || len(got.Kvs) != 1 || len(got.Kvs[0].Value) != 5000 {
		t.Errorf("the inserted document: %v, %v", got.GetCount(), err)
	}

	if err := b.Do(ctx, 4, &lab.Op{}); err == nil || !strings.Contains(err.Error(), "connection 4 of 4") {
		t.Errorf("a connection too many: %v", err)
	}

	b.crash(t, func() {
		b.reads(t, 7, 1001, true)
		b.reads(t, 300, 1002, true)
		b.reads(t, 8, 1003, true)
		b.reads(t, 9, 1<<63+5, true)
		b.reads(t, 10, 0, true)
	})

	big := &lab.Op{Op: workload.Op{Kind: workload.Update, Key: 1, Size: 2 * units.MiB, Document: 2 * units.MiB}}
	if err := b.Do(ctx, 0, big); err == nil || !strings.Contains(err.Error(), "use smaller documents") {
		t.Errorf("a document that is too large: %v", err)
	}
}

// crash cuts the power and restores it.
func (b *bench) crash(t *testing.T, after func()) {
	t.Helper()
	var family []int
	for _, p := range b.procs {
		family = append(family, p.PID())
	}

	if err := b.Crash(); err != nil {
		t.Fatal(err)
	}

	for _, pid := range family {
		if _, err := os.Stat(fmt.Sprintf("/proc/%d", pid)); err == nil {
			t.Errorf("process %d lives", pid)
		}
	}

	if err := b.Do(t.Context(), 0, &lab.Op{}); err == nil {
		t.Error("a dead cluster answers")
	}

	if err := b.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}

	after()
}

func (b *bench) do(t *testing.T, conn int, kind workload.Kind, key, seq uint64, size units.Size) {
	t.Helper()
	if err := b.Do(t.Context(), conn, &lab.Op{Op: workload.Op{Kind: kind, Key: key, Size: size, Document: size}, Seq: seq}); err != nil {
		t.Errorf("%v of %d: %v", kind, key, err)
	}
}

func (b *bench) reads(t *testing.T, key, want uint64, there bool) {
	t.Helper()
	seq, found, err := b.Read(t.Context(), key)
	if err != nil || seq != want || found != there {
		t.Errorf("document %d: write %d, found %v, %v; not write %d, %v", key, seq, found, err, want, there)
	}
}

func TestThreeMembers(t *testing.T) {
	cfg := etcd.Defaults()
	cfg.Members, cfg.Leader = 3, 3

	// keeps the test short
	cfg.Heartbeat, cfg.Election = units.Duration(50*time.Millisecond), units.Duration(500*time.Millisecond)
	b := start(t, folder(t, t.TempDir()), cfg, strings.Replace(text, "etcd: {}", "etcd: {members: 3, leader: 3}", 1), "m1/data", "m2/data", "m3/data", "m3/wal")
	b.led(t, 2)
	b.do(t, 0, workload.Update, 1, 11, 300)
	b.crash(t, func() {
		b.led(t, 2)
		b.reads(t, 1, 11, true)
	})

	if !strings.Contains(b.Describe(), "3 members over loopback: the scenario's round trip of 200 us is not emulated") {
		t.Errorf("it describes itself as %q", b.Describe())
	}

	for k, src := range b.Sources() {
		m := gather(t, src)
		want := fmt.Sprintf(`{__name__="etcd_server_is_leader", instance="m%d"}`, k+1)
		if v, ok := m[want]; !ok || v != map[bool]float64{true: 1}[k == 2] {
			t.Errorf("%s is %v, %v", want, v, ok)
		}
	}

	cycles, err := b.Cycles(t.Context())
	if cycles != nil || err != nil {
		t.Errorf("cycles: %v, %v", cycles, err)
	}
}

// led fails if another member is the leader.
func (b *bench) led(t *testing.T, want int) {
	t.Helper()
	s, err := etcdserverpb.NewMaintenanceClient(b.links.Load().members[want]).Status(t.Context(), &etcdserverpb.StatusRequest{})
	if err != nil || s.Leader != s.Header.MemberId {
		t.Errorf("member %d does not lead: %v", want+1, err)
	}
}

// page is a recording of one scrape.
type page struct {
	recording.Writer
	values map[string]float64
	cancel context.CancelFunc
}

func (p *page) Append(_ context.Context, b *recording.Batch) error {
	for _, c := range b.Columns {
		p.values[c.Labels.String()] = c.Values[0]
	}
	return nil
}

func (p *page) Source(recording.Source) { p.cancel() } // end after one page
func (*page) Note(recording.Note)       {}

func gather(t *testing.T, src source.Source) map[string]float64 {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	p := &page{values: map[string]float64{}, cancel: cancel}
	if err := src.Read(ctx, p, source.Options{}); err != nil {
		t.Fatal(err)
	}
	return p.values
}

func TestModelAndServerAgreeOnNames(t *testing.T) {
	b := start(t, folder(t, t.TempDir()), etcd.Defaults(), text, "data")
	have := map[string]bool{}
	for series := range gather(t, b.Sources()[0]) {
		name, _, _ := strings.Cut(strings.TrimPrefix(series, `{__name__="`), `"`)
		have[name] = true
	}

	// etcd 3.6 and newer have metrics that 3.4 and 3.5 lack.
	major, minor := release(b.version)
	old := major == 3 && minor < 6

	later := map[string]bool{"etcd_disk_wal_write_duration_seconds": old, "etcd_disk_wal_write_bytes_total": old}
	for name := range modelled(t) {
		base := strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(name, "_bucket"), "_sum"), "_count")
		if !have[name] && !later[base] {
			t.Errorf("the model has %s, and the server has not", name)
		}
	}
}

func TestStartFails(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	bad := etcd.Defaults()
	bad.Members = 2

	if _, err := New(bad); err == nil || !strings.Contains(err.Error(), "members") {
		t.Errorf("two members: %v", err)
	}

	t.Setenv(EnvBinary, "/nowhere/etcd")
	if _, err := New(etcd.Defaults()); err == nil || !strings.Contains(err.Error(), EnvBinary) {
		t.Errorf("a missing binary: %v", err)
	}

	if _, err := NewAt("/nowhere/asked", etcd.Defaults()); err == nil || !strings.Contains(err.Error(), "cannot find etcd") || !strings.Contains(err.Error(), "/nowhere/asked") {
		t.Errorf("a binary that was asked for: %v", err)
	}

	t.Setenv(EnvBinary, "")
	t.Setenv("PATH", "/nowhere")
	if _, err := New(etcd.Defaults()); !errors.Is(err, errMissing) || !strings.Contains(err.Error(), "apt-get install etcd-server") {
		t.Errorf("no etcd: %v", err)
	}

	fake := filepath.Join(folder(t, t.TempDir()), "etcd")
	script := "#!/bin/sh\n[ \"$1\" = --version ] && echo 'etcd Version: 9.9' || echo no such flag >&2\nexit 0\n"
	if err := os.WriteFile(fake, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}

	t.Setenv(EnvBinary, fake)
	server, err := New(etcd.Defaults())
	if err != nil {
		t.Fatal(err)
	}

	sc, err := language.Parse("test.yaml", []byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}

	dir := folder(t, t.TempDir())
	m := &lab.Machine{Dirs: map[string]string{}, Scratch: dir, Scenario: sc}
	if err := server.Start(ctx, m, nil); err == nil || !strings.Contains(err.Error(), "has no volume") {
		t.Errorf("no volume: %v", err)
	}

	m.Dirs["data"] = filepath.Join(dir, "data")
	if err := os.Mkdir(m.Dirs["data"], 0o755); err != nil {
		t.Fatal(err)
	}

	if err := server.Start(ctx, m, nil); err == nil || !strings.Contains(err.Error(), "no such flag") {
		t.Errorf("a server that ends at once: %v", err)
	}

	if err := server.Stop(ctx); err != nil {
		t.Errorf("stopping after a failed start: %v", err)
	}

	if _, _, err := server.Read(ctx, 1); !errors.Is(err, errNotRunning) {
		t.Errorf("reading from it: %v", err)
	}

	if err := server.Restart(ctx); !errors.Is(err, errNotRunning) {
		t.Errorf("restarting after a stop: %v", err)
	}
}

// modelled returns the metric names that the model emits.
func modelled(t *testing.T) map[string]bool {
	t.Helper()
	sc, err := language.Parse("test.yaml", []byte(text), []string{"run={duration: 1s, warmup: 1s}"})
	if err != nil {
		t.Fatal(err)
	}

	w := &page{values: map[string]float64{}, cancel: func() {}}
	if _, err := simulate.Run(t.Context(), sc, simulate.Options{Record: w}); err != nil {
		t.Fatal(err)
	}

	out := map[string]bool{}
	for series := range w.values {
		if name, ok := strings.CutPrefix(series, `{__name__="etcd_`); ok {
			name, _, _ = strings.Cut(name, `"`)
			out["etcd_"+name] = true
		}
	}

	if len(out) < 10 {
		t.Fatalf("the model has only %d names", len(out))
	}

	return out
}
