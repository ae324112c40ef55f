//go:build linux

package trace_test

import (
	"errors"
	"flag"
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

var saveTo = flag.String("save-traces", "", "save the traces of real engines into this folder")

// A scene is a real program whose syncs wait for something known.
type scene struct {
	name, fs string
	turn     int // 0 runs for every commit, others in make nightly
	// least is how long it is traced at least: what is in the way may come only now and then.
	least time.Duration
	// while, if there is one, has a part of the name of the files that the known culprit writes: only
	// calls that lasted while it did are judged.
	while string
	// set starts everything on a volume, and says what to trace and what is slow.
	set func(t *testing.T, e *emulated) (target.Choice, time.Duration)
	// guilty reports whether a cause is the known one.
	guilty func(t *testing.T, c *chain.Cause) bool
}

const (
	wiredTiger = "{wiredtiger: {cache: 256MB, checkpoint: 3s, log_bytes: 4200B, oplog: false}}"
	updates4K  = "{arrivals: {poisson: 300/s}, mix: {update: 100%}, keys: {count: 20000}, document: {size: 4KiB}, connections: 16}"
	postgreSQL = "{postgres: {shared_buffers: 256MiB, max_wal_size: 1GiB, checkpoint_timeout: 30s, checkpoint_completion_target: 0, checkpoint_flush_after: 0B, rows: 400000}}"
	// A checkpoint has some 5,000 pages to write: seconds of the volume.
	updates100 = "{arrivals: {poisson: 300/s}, mix: {update: 100%}, keys: {count: 400000}, document: {size: 100B}, connections: 16}"
	etcdAlone  = "{etcd: {members: 1, rtt: 100us}}"
	updates512 = "{arrivals: {poisson: 100/s}, mix: {update: 100%}, keys: {count: 200}, document: {size: 512B}}"
)

var scenes = []scene{
	{"WiredTiger", "xfs", 0, 0, "", wiredTigerOn(false), others(func(c *chain.Culprit) bool { return strings.HasSuffix(c.File, ".wt") })},
	{"WiredTiger apart", "ext4", 1, 0, "", wiredTigerOn(true), device},
	{"PostgreSQL", "ext4", 2, 35 * time.Second, "/base/", postgres, others(func(c *chain.Culprit) bool { return strings.Contains(c.File, "/base/") })},
	{"etcd beside dd", "ext4", 0, 0, "", etcdBeside, others(func(c *chain.Culprit) bool { return c.Comm == "dd" })},
	{"Redis beside dd", "ext4", 1, 0, "", redis, others(func(c *chain.Culprit) bool { return c.Comm == "dd" })},
	{"limit", "ext4", 2, 0, "", limited, func(_ *testing.T, c *chain.Cause) bool { return c.Kind == chain.TheLimit }},
	{"container", "ext4", 0, 0, "", container, func(t *testing.T, c *chain.Cause) bool {
		if c.Kind != chain.Others || c.Culprit.Comm != "dd" {
			return false
		}
		if !strings.Contains(c.Culprit.Cgroup, groupName) {
			t.Errorf("dd is in cgroup %q, not in %s", c.Culprit.Cgroup, groupName)
		}
		return true
	}},
}

func others(who func(*chain.Culprit) bool) func(*testing.T, *chain.Cause) bool {
	return func(_ *testing.T, c *chain.Cause) bool { return c.Kind == chain.Others && who(&c.Culprit) }
}

// device is the disk itself, and what the call's own program gave it.
func device(_ *testing.T, c *chain.Cause) bool {
	return c.Kind == chain.TheDevice || c.Kind == chain.TheFlush || c.Kind == chain.Others && (c.Culprit.Self || c.Culprit.Why == chain.WhyJournal)
}

// takesTurn skips what has its turn in another commit's CI, and elsewhere all that has a turn: it takes
// minutes of real time, on a machine that should do nothing else.
func takesTurn(t *testing.T, turn int) {
	t.Helper()
	if now := os.Getenv("PLIMSOLL_TURN"); turn >= 0 && now != "all" && now != strconv.Itoa(turn) {
		t.Skipf("runs in make nightly; PLIMSOLL_TURN=%d or PLIMSOLL_TURN=all runs it", turn)
	}
}

// Real engines whose culprit is known.
func TestDatabaseCulprit(t *testing.T) {
	for _, x := range scenes {
		t.Run(x.name, func(t *testing.T) {
			takesTurn(t, x.turn)
			e := emulate(t, x.fs, 0)
			choice, slower := x.set(t, e)
			r := traced(t, choice, slower, x.least, *saveTo != "" || x.while != "")

			if *saveTo != "" {
				file := filepath.Join(*saveTo, strings.ReplaceAll(x.name, " ", "-")+".trace")
				if err := events.SaveFile(file, r.Report.Header, r.Events); err != nil {
					t.Error(err)
				}
			}

			if x.while != "" {
				r.Report = during(r, x.while)
			}

			judge(t, e, r.Report, x.guilty)
		})
	}
}

// during explains again the calls that lasted while requests of some files were under way.
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

// engineOn starts an engine, whose files are made while the volume does not wait, and clients.
func engineOn(t *testing.T, engine, load string, rate float64, volumes map[string]*emulated) *stored {
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

// wiredTigerOn has its journal on the data's volume, where a checkpoint writes all that is new every
// few seconds, or on one of its own.
func wiredTigerOn(apart bool) func(*testing.T, *emulated) (target.Choice, time.Duration) {
	return func(t *testing.T, e *emulated) (target.Choice, time.Duration) {
		t.Helper()
		if os.Getenv("PLIMSOLL_WIREDTIGER") == "" {
			built, err := filepath.Abs("../../bin/plimsoll-wiredtiger")
			if err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(built); err != nil {
				t.Skip("no worker was built: make worker")
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

// postgres has checkpoints that write all at once.
func postgres(t *testing.T, e *emulated) (target.Choice, time.Duration) {
	t.Helper()
	engineOn(t, postgreSQL, updates100, 300, map[string]*emulated{"data": e})
	wal, err := filepath.Glob(filepath.Join(e.dir, "*", "pg_wal"))
	if err != nil || len(wal) != 1 {
		t.Fatal(wal, err)
	}
	return target.Choice{Path: wal[0]}, 50 * time.Millisecond
}

func etcdBeside(t *testing.T, e *emulated) (target.Choice, time.Duration) {
	t.Helper()
	engineOn(t, etcdAlone, updates512, 100, map[string]*emulated{"data": e})
	copying(t, e.dir)
	return target.Choice{Path: e.dir + "/" + firstFolder(t, e.dir)}, 50 * time.Millisecond
}

// firstFolder is the folder that an engine made on its volume.
func firstFolder(t *testing.T, dir string) string {
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

// redis syncs its log after each round of commands.
func redis(t *testing.T, e *emulated) (target.Choice, time.Duration) {
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

// groupName is that of the cgroups that these tests make.
const groupName = "plimsoll-trace-test"

// group makes a cgroup with a controller, in either version of the hierarchy; "" and the reason if
// there is none.
func group(t *testing.T, v1, v2, name string) (dir string, unified bool, why string) {
	t.Helper()
	dir = filepath.Join("/sys/fs/cgroup", v1, name)
	if text, err := os.ReadFile("/sys/fs/cgroup/cgroup.subtree_control"); err == nil {
		if !strings.Contains(" "+strings.TrimSpace(string(text))+" ", " "+v2+" ") {
			return "", true, "the cgroup controller " + v2 + " is not available to groups here"
		}
		dir, unified = filepath.Join("/sys/fs/cgroup", name), true
	}

	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", unified, fmt.Sprintf("no cgroup with controller %s can be made: %v", v2, err)
	}

	t.Cleanup(func() {
		until(t, "a cgroup is left", func() bool { return os.Remove(dir) == nil }) // its processes were killed
		for above := filepath.Dir(dir); strings.Contains(above, groupName); above = filepath.Dir(above) {
			_ = os.Remove(above) // another test may use it
		}
	})

	return dir, unified, ""
}

// limited has a fio in a cgroup that may write 40 times a second.
func limited(t *testing.T, e *emulated) (target.Choice, time.Duration) {
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
		t.Skipf("this kernel has no limit of operations for cgroups: %v", err)
	}

	p := direct1(t, filepath.Join(e.dir, "limited"))
	enter(t, dir, p.Pid)
	return target.Choice{PID: p.Pid}, 20 * time.Millisecond
}

// direct1 starts a fio that writes directly, one block after the other.
func direct1(t *testing.T, file string) *os.Process {
	t.Helper()
	need(t, "fio")
	return start(t, nil, "fio", "--name=limited", "--filename="+file, "--rw=write", "--bs=4k", "--size=16m", "--direct=1", "--ioengine=sync",
		"--time_based", "--runtime=600", "--thread", "--output=/dev/null")
}

// enter puts a process into a cgroup.
func enter(t *testing.T, dir string, pid int) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0o644); err != nil {
		t.Fatal(err)
	}
}

// container has a dd in a cgroup that makes pages dirty without a sync, and a small bound for this
// device's dirty pages, so that the kernel's flusher writes them.
func container(t *testing.T, e *emulated) (target.Choice, time.Duration) {
	t.Helper()

	// A container is in the same place of all hierarchies; this one is only in one, so deeper.
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
		t.Skipf("this kernel cannot bound a device's dirty pages: %v", err)
	}

	if err := errors.Join(os.WriteFile(bdi+"max_bytes", []byte("33554432"), 0o644), os.WriteFile(bdi+"strict_limit", []byte("1"), 0o644)); err != nil {
		t.Skip(err)
	}

	t.Cleanup(func() {
		_ = os.WriteFile(bdi+"strict_limit", []byte("0"), 0o644)
		// The bound outlives the volume. As bytes it would become another one with other limits.
		_ = os.WriteFile(bdi+"max_ratio", []byte("100"), 0o644)
	})

	journal := appending(t, e.dir)
	file := filepath.Join(e.dir, "big")
	shell := start(t, nil, "sh", "-c", "sleep 1; while dd if=/dev/zero of="+strconv.Quote(file)+" bs=1M count=200 conv=notrunc 2>/dev/null; do :; done")
	enter(t, dir, shell.Pid)

	return target.Choice{PID: journal.Pid}, 20 * time.Millisecond
}
