//go:build linux

package trace_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/trace"
	"plimsoll/internal/trace/chain"
	"plimsoll/internal/trace/events"
	"plimsoll/internal/trace/target"
)

// A scene is a real program whose syncs have a known cause of waiting.
type scene struct {
	name, fs string
	turn     int // 0 runs for every commit, the others in make nightly
	// least is the minimum duration of the trace: the culprit may be active only sometimes.
	least time.Duration
	// while, if set, is part of the names of the files that the known culprit writes: only calls
	// that overlap its writes are judged.
	while string
	// set starts everything on a volume, and returns the target and the threshold.
	set func(t testing.TB, e *emulated) (target.Choice, time.Duration)
	// guilty reports whether a cause is the expected one.
	guilty func(t testing.TB, c *chain.Cause) bool
}

const (
	wiredTiger = "{mongodb: {cache: 256MB, checkpoint: 3s, log_bytes: 4200B, oplog: false}}"
	updates4K  = "{arrivals: {poisson: 300/s}, mix: {update: 100%}, keys: {count: 20000}, document: {size: 4KiB}, connections: 16}"
	postgreSQL = "{postgres: {shared_buffers: 256MiB, max_wal_size: 1GiB, checkpoint_timeout: 30s, checkpoint_completion_target: 0, checkpoint_flush_after: 0B, rows: 400000}}"
	// A checkpoint writes some 5,000 pages, which takes the volume seconds.
	updates100 = "{arrivals: {poisson: 300/s}, mix: {update: 100%}, keys: {count: 400000}, document: {size: 100B}, connections: 16}"
	etcdAlone  = "{etcd: {members: 1, rtt: 100us}}"
	updates512 = "{arrivals: {poisson: 100/s}, mix: {update: 100%}, keys: {count: 200}, document: {size: 512B}}"
)

var scenes = []scene{
	{"WiredTiger", "xfs", 0, 0, "", wiredTigerOn(false), others(func(c *chain.Culprit) bool { return strings.HasSuffix(c.File, ".wt") })},
	{"WiredTiger, separate journal", "ext4", 1, 0, "", wiredTigerOn(true), device},
	{"PostgreSQL", "ext4", 2, 35 * time.Second, "/base/", postgres, others(func(c *chain.Culprit) bool { return strings.Contains(c.File, "/base/") })},
	{"etcd next to dd", "ext4", 0, 0, "", etcdBeside, others(func(c *chain.Culprit) bool { return c.Comm == "dd" })},
	{"Redis next to dd", "ext4", 1, 0, "", redis, others(func(c *chain.Culprit) bool { return c.Comm == "dd" })},
	{"limit", "ext4", 2, 0, "", limited, func(_ testing.TB, c *chain.Cause) bool { return c.Kind == chain.TheLimit }},
	{"container", "ext4", 0, 0, "", container, func(t testing.TB, c *chain.Cause) bool {
		if c.Kind != chain.Others || c.Culprit.Comm != "dd" {
			return false
		}
		if !strings.Contains(c.Culprit.Cgroup, groupName) {
			t.Errorf("dd is in cgroup %q, not %s", c.Culprit.Cgroup, groupName)
		}
		return true
	}},
}

func others(who func(*chain.Culprit) bool) func(testing.TB, *chain.Cause) bool {
	return func(_ testing.TB, c *chain.Cause) bool { return c.Kind == chain.Others && who(&c.Culprit) }
}

// device matches the disk itself, and the call's own program's requests.
func device(_ testing.TB, c *chain.Cause) bool {
	return c.Kind == chain.TheDevice || c.Kind == chain.TheFlush || c.Kind == chain.Others && (c.Culprit.Self || c.Culprit.Why == chain.WhyJournal)
}

// takesTurn skips tests whose turn is in another commit's CI run and, outside CI, all tests with a
// turn: they take minutes of real time on an otherwise idle machine.
func takesTurn(t testing.TB, turn int) {
	t.Helper()
	if now := os.Getenv("PLIMSOLL_TURN"); turn >= 0 && now != "all" && now != strconv.Itoa(turn) {
		t.Skipf("runs in make nightly; PLIMSOLL_TURN=%d or PLIMSOLL_TURN=all runs it", turn)
	}
}

// Real engines with a known culprit.
func TestDatabaseCulprit(t *testing.T) {
	for _, x := range scenes {
		t.Run(x.name, func(t *testing.T) {
			takesTurn(t, x.turn)
			e := emulate(t, x.fs, 0)
			choice, slower := x.set(t, e)
			r := traced(t, choice, slower, x.least, x.while != "")

			if x.while != "" {
				r.Report = during(r, x.while)
			}

			judge(t, e, r.Report, x.guilty)
		})
	}
}

// during explains again only the calls that overlap requests of some files.
func during(r *trace.Result, part string) *chain.Report {
	wanted := map[events.FileID]bool{}
	for i := range r.Events.Files {
		f := &r.Events.Files[i]
		names := slices.Clone(f.Names)
		slices.Reverse(names)
		wanted[f.ID] = wanted[f.ID] || strings.Contains(f.Path+"/"+strings.Join(names, "/"), part)
	}
	b := *r.Events
	b.Calls = slices.DeleteFunc(slices.Clone(b.Calls), func(c events.Call) bool {
		return !slices.ContainsFunc(b.Requests, func(q events.Request) bool {
			return wanted[q.File] && q.Begin() < c.Exit && q.Done > c.Enter
		})
	})
	return chain.Replay(r.Report.Header, &b)
}

// engineOn starts an engine and its clients. The engine creates its files while the volume runs
// unthrottled.
func engineOn(t testing.TB, engine, load string, rate float64, volumes map[string]*emulated) *stored {
	t.Helper()
	dirs := map[string]string{}

	var names []string
	for name, e := range volumes {
		e.disk.Pace(false, nil)
		dirs[name] = e.dir
		names = append(names, name)
	}

	s := store(t, scenarioOf(t, engine, load, names...), dirs)
	unix.Sync()

	for _, e := range volumes {
		e.disk.Pace(true, nil)
	}

	t.Cleanup(func() {
		for _, e := range volumes {
			e.disk.Pace(false, nil)
		}
	})

	s.updating(t, rate)
	return s
}

// wiredTigerOn runs WiredTiger with its journal on the data volume, where a checkpoint writes all
// new data every few seconds, or on a separate volume.
func wiredTigerOn(apart bool) func(testing.TB, *emulated) (target.Choice, time.Duration) {
	return func(t testing.TB, e *emulated) (target.Choice, time.Duration) {
		t.Helper()
		if os.Getenv("PLIMSOLL_WIREDTIGER") == "" {
			built, err := filepath.Abs("../../bin/plimsoll-wiredtiger")
			if err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(built); err != nil {
				t.Skip("no worker was built: run make worker")
			}
			t.Setenv("PLIMSOLL_WIREDTIGER", built)
		}

		volumes := map[string]*emulated{"data": e}
		if apart {
			volumes["journal"] = emulate(t, "ext4", 0)
			engineOn(t, wiredTiger, updates4K, 100, volumes)
			return target.Choice{Path: volumes["journal"].dir}, 2 * time.Millisecond
		}

		engineOn(t, wiredTiger, updates4K, 300, volumes)
		return target.Choice{Path: filepath.Join(e.dir, "db", "journal")}, 50 * time.Millisecond
	}
}

// postgres runs with checkpoints that write everything in one burst.
func postgres(t testing.TB, e *emulated) (target.Choice, time.Duration) {
	t.Helper()
	engineOn(t, postgreSQL, updates100, 300, map[string]*emulated{"data": e})
	wal, err := filepath.Glob(filepath.Join(e.dir, "*", "pg_wal"))
	if err != nil || len(wal) != 1 {
		t.Fatal(wal, err)
	}
	return target.Choice{Path: wal[0]}, 50 * time.Millisecond
}

func etcdBeside(t testing.TB, e *emulated) (target.Choice, time.Duration) {
	t.Helper()
	engineOn(t, etcdAlone, updates512, 100, map[string]*emulated{"data": e})
	copying(t, e.dir)
	return target.Choice{Path: e.dir + "/" + firstFolder(t, e.dir)}, 50 * time.Millisecond
}

// firstFolder returns the folder that an engine created on its volume.
func firstFolder(t testing.TB, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range entries {
		if x.IsDir() && x.Name() != "lost+found" {
			return x.Name()
		}
	}
	t.Fatalf("no folder in %s", dir)
	return ""
}

// redis syncs its log after each batch of commands.
func redis(t testing.TB, e *emulated) (target.Choice, time.Duration) {
	t.Helper()
	need(t, "redis-server", "redis-benchmark")
	socket := filepath.Join(t.TempDir(), "redis")
	server := start(t, nil, "redis-server", "--port", "0", "--unixsocket", socket, "--dir", e.dir, "--appendonly", "yes", "--appendfsync", "always",
		"--save", "", "--auto-aof-rewrite-percentage", "0", "--logfile", filepath.Join(t.TempDir(), "log"))
	until(t, "redis-server does not serve", func() bool { _, err := os.Stat(socket); return err == nil })
	start(t, nil, "redis-benchmark", "-s", socket, "-t", "set", "-n", "100000000", "-c", "4", "-q")
	copying(t, e.dir)
	return target.Choice{PID: server.Pid}, 20 * time.Millisecond
}

// groupName is the name of the cgroups that these tests create.
const groupName = "plimsoll-trace-test"

// group creates a cgroup with a controller, in either version of the hierarchy; it returns "" and
// the reason if it cannot.
func group(t testing.TB, v1, v2, name string) (dir string, unified bool, why string) {
	t.Helper()
	dir = filepath.Join("/sys/fs/cgroup", v1, name)
	if text, err := os.ReadFile("/sys/fs/cgroup/cgroup.subtree_control"); err == nil {
		if !strings.Contains(" "+strings.TrimSpace(string(text))+" ", " "+v2+" ") {
			return "", true, "the cgroup controller " + v2 + " is not available to groups here"
		}
		dir, unified = filepath.Join("/sys/fs/cgroup", name), true
	}

	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", unified, fmt.Sprintf("cannot create a cgroup with controller %s: %v", v2, err)
	}

	t.Cleanup(func() {
		until(t, "the cgroup cannot be removed", func() bool { return os.Remove(dir) == nil }) // its processes were killed
		for above := filepath.Dir(dir); strings.Contains(above, groupName); above = filepath.Dir(above) {
			_ = os.Remove(above) // another test may still use it
		}
	})

	return dir, unified, ""
}

// limited runs fio in a cgroup limited to 40 writes per second.
func limited(t testing.TB, e *emulated) (target.Choice, time.Duration) {
	t.Helper()
	dir, unified, why := group(t, "blkio", "io", groupName+"/limit")
	if why != "" {
		t.Skip(why)
	}

	var st unix.Stat_t
	if err := unix.Stat(e.device, &st); err != nil {
		t.Fatal(err)
	}

	number := fmt.Sprintf("%d:%d", unix.Major(st.Rdev), unix.Minor(st.Rdev))
	file, text := "blkio.throttle.write_iops_device", number+" 40"
	if unified {
		file, text = "io.max", number+" wiops=40"
	}

	if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644); err != nil {
		t.Skipf("this kernel cannot limit the IOPS of cgroups: %v", err)
	}

	p := direct1(t, filepath.Join(e.dir, "limited"))
	enter(t, dir, p.Pid)
	return target.Choice{PID: p.Pid}, 20 * time.Millisecond
}

// direct1 starts a fio that writes directly, one block at a time.
func direct1(t testing.TB, file string) *os.Process {
	t.Helper()
	need(t, "fio")
	return start(t, nil, "fio", "--name=limited", "--filename="+file, "--rw=write", "--bs=4k", "--size=16m", "--direct=1", "--ioengine=sync",
		"--time_based", "--runtime=600", "--thread", "--output=/dev/null")
}

// enter moves a process into a cgroup.
func enter(t testing.TB, dir string, pid int) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0o644); err != nil {
		t.Fatal(err)
	}
}

// container runs dd in a cgroup, dirtying pages without syncing, and limits this device's dirty
// pages so that the kernel's flusher writes them.
func container(t testing.TB, e *emulated) (target.Choice, time.Duration) {
	t.Helper()

	// A container has the same path in all hierarchies. This one is in a single hierarchy, so its path
	// is made deeper to win over the others.
	dir, _, why := group(t, "pids", "pids", groupName+"/containers/of/neighbour")
	if why != "" {
		t.Skip(why)
	}

	var st unix.Stat_t
	if err := unix.Stat(e.device, &st); err != nil {
		t.Fatal(err)
	}

	bdi := fmt.Sprintf("/sys/class/bdi/%d:%d/", unix.Major(st.Rdev), unix.Minor(st.Rdev))
	if _, err := os.Stat(bdi + "max_bytes"); err != nil {
		t.Skipf("this kernel cannot limit a device's dirty pages: %v", err)
	}

	if err := errors.Join(os.WriteFile(bdi+"max_bytes", []byte("33554432"), 0o644), os.WriteFile(bdi+"strict_limit", []byte("1"), 0o644)); err != nil {
		t.Skip(err)
	}

	t.Cleanup(func() {
		_ = os.WriteFile(bdi+"strict_limit", []byte("0"), 0o644)
		// The limit outlives the volume, and would change with other limits if it stayed in bytes.
		_ = os.WriteFile(bdi+"max_ratio", []byte("100"), 0o644)
	})

	journal := appending(t, e.dir)
	file := filepath.Join(e.dir, "big")
	shell := start(t, nil, "sh", "-c", "sleep 1; while dd if=/dev/zero of="+strconv.Quote(file)+" bs=1M count=200 conv=notrunc 2>/dev/null; do :; done")
	enter(t, dir, shell.Pid)

	return target.Choice{PID: journal.Pid}, 20 * time.Millisecond
}
