//go:build linux

package mount

import (
	"bytes"
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"plimsoll/internal/lab/blockdev"
	"plimsoll/internal/lab/disk"
)

// The test binary also serves as the daemon, and as a process that holds kernel settings.
func TestMain(m *testing.M) {
	if value := os.Getenv("PLIMSOLL_TEST_SETTING"); value != "" {
		holdSetting(value)
	}

	if file := os.Getenv("PLIMSOLL_TEST_LAB_OWNER"); file != "" {
		holdLab(file)
	}

	if root := os.Getenv("PLIMSOLL_TEST_LAB_ROOT"); root != "" {
		Root = root
		dieAt(os.Getenv("PLIMSOLL_TEST_LAB_STEP"), os.Getenv("PLIMSOLL_TEST_LAB_AFTER"))
		if err := Serve(context.Background(), language, os.Stdin, os.Stdout); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}

	os.Exit(m.Run())
}

// lab gives a test its own state folder, and returns the command of a daemon that uses it. The
// folder must be empty at the end.
func lab(t *testing.T) []string {
	t.Helper()
	if err := blockdev.Available(); err != nil {
		t.Skip(err)
	}

	for _, p := range []string{"mkfs.ext4", "mkfs.xfs"} {
		if _, err := exec.LookPath(p); err != nil {
			t.Skipf("%s is not installed", p)
		}
	}

	before := Root
	Root = t.TempDir()
	t.Setenv("PLIMSOLL_TEST_LAB_ROOT", Root)
	t.Cleanup(func() {
		_, err := Sweep()
		if err != nil {
			t.Error(err)
		}
		nothingLeft(t, Root)
		Root = before
	})

	return []string{os.Args[0]}
}

func nothingLeft(t *testing.T, root string) {
	t.Helper()
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil || bytes.Contains(mounts, []byte(root)) {
		t.Errorf("mounts were left below %s: %v", root, err)
	}

	files, err := filepath.Glob("/sys/block/loop*/loop/backing_file")
	if err != nil {
		t.Error(err)
	}

	for _, f := range files {
		if text, err := os.ReadFile(f); err == nil && bytes.Contains(text, []byte(root)) {
			t.Errorf("%s is still over %s", f, text)
		}
	}

	if entries, err := os.ReadDir(root); err != nil || len(entries) > 0 {
		t.Errorf("states were left: %v %v", entries, err)
	}
}

const two = `plimsoll: 1
name: two volumes
host: {filesystem: xfs}
volumes:
  data: {type: gp3, size: 2GiB}
  journal: {type: custom, size: 1GiB, iops: 200, latency: {like: gp3}}
engine: {mongodb: {cache: 1GB}}
workload: {preset: telemetry, keys: {count: 1000}}
`

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "scenario.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func start(t *testing.T, opt Options) *Machine {
	t.Helper()
	opt.Log = func(line string) { t.Log(line) }
	m, err := Start(context.Background(), opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(context.Background(), true); err != nil {
			t.Error(err)
		}
	})
	return m
}

// synced writes a file and syncs it.
func synced(path string, data []byte) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Sync(), f.Close())
}

func TestMountsScenarioVolumes(t *testing.T) {
	command := lab(t)
	m := start(t, Options{File: write(t, two), Command: command})
	for _, name := range []string{"data", "journal"} {
		if err := synced(filepath.Join(m.Dirs[name], "file"), bytes.Repeat([]byte("x"), 1<<16)); err != nil {
			t.Error(err)
		}
	}

	s, err := m.Status(context.Background())
	if err != nil {
		t.Fatal(err)
	}

	if len(s.Volumes) != 2 || !s.Paced || s.Backing != "memory" {
		t.Fatalf("%+v", s)
	}

	for _, v := range s.Volumes {
		if v.Bytes["write"] < 1<<16 || v.FileSystem != "xfs" || len(v.Gives) == 0 || v.Resident == 0 {
			t.Errorf("%+v", v)
		}
	}

	// Limits can change while the volumes are in use; sizes cannot.
	if s, err = m.Set(context.Background(), []string{"volumes.journal.iops=500"}); err != nil || !strings.Contains(strings.Join(s.Volumes[1].Gives, " "), "500 IOPS") {
		t.Errorf("%+v: %v", s, err)
	}

	for _, set := range []string{"volumes.data.size=3GiB", "volumes.wal={type: gp3, size: 1GiB}", "volumes.data.iops=5"} {
		if _, err := m.Set(context.Background(), []string{set}); err == nil {
			t.Errorf("%s was accepted", set)
		}
	}

	// An open file prevents an orderly shutdown.
	f, err := os.Open(filepath.Join(m.Dirs["data"], "file"))
	if err != nil {
		t.Fatal(err)
	}

	if err := m.Close(context.Background(), false); err == nil || !strings.Contains(err.Error(), "in use") {
		t.Errorf("closed while a file was open: %v", err)
	}

	if _, err := os.Stat(filepath.Join(m.Dirs["journal"], "file")); err != nil {
		t.Errorf("the other volume was not mounted again: %v", err)
	}

	if err := f.Close(); err != nil {
		t.Fatal(err)
	}

	if err := m.Close(context.Background(), false); err != nil {
		t.Error(err)
	}
}

// A scenario's mount options and queue settings apply, also after a power loss.
func TestMountOptionsAndScheduler(t *testing.T) {
	command := lab(t)
	text := strings.Replace(two, "host: {filesystem: xfs}", "host: {filesystem: ext4, mount_options: 'noatime,commit=7', scheduler: mq-deadline}", 1)
	m := start(t, Options{File: write(t, text), PowerLoss: true, Command: command})
	check := func(when string) {
		t.Helper()
		mounts, err := os.ReadFile("/proc/self/mounts")
		if err != nil {
			t.Fatal(err)
		}

		for name, device := range m.Devices {
			_, line, _ := strings.Cut(string(mounts), "/dev/"+device+" ")
			line, _, _ = strings.Cut(line, "\n")
			for _, want := range []string{"noatime", "commit=7"} {
				if !strings.Contains(line, want) {
					t.Errorf("%s: %s is mounted as %q, without %s", when, name, line, want)
				}
			}
			schedulers, err := os.ReadFile(filepath.Join("/sys/block", device, "queue/scheduler"))
			if err != nil || !strings.Contains(string(schedulers), "[mq-deadline]") {
				t.Errorf("%s: %s is scheduled by %q, %v", when, name, schedulers, err)
			}
		}
	}

	check("at first")
	if _, err := m.Set(context.Background(), []string{"host.scheduler=none"}); err == nil || !strings.Contains(err.Error(), "cannot change") {
		t.Errorf("a scheduler was changed: %v", err)
	}

	if _, err := m.Cut(context.Background(), disk.Cut{Seed: 1}); err != nil {
		t.Fatal(err)
	}

	if err := m.Recover(context.Background()); err != nil {
		t.Fatal(err)
	}

	check("after a power loss")
}

// A power loss only loses what was not synced, and the file systems mount again.
func TestPowerLoss(t *testing.T) {
	command := lab(t)
	for _, fs := range []string{"ext4", "xfs"} {
		m := start(t, Options{File: write(t, "type: gp3\nsize: 1GiB\n"), FileSystem: fs, PowerLoss: true, Command: command})
		dir := m.Dirs["data"]
		if err := synced(filepath.Join(dir, "kept"), []byte("kept")); err != nil {
			t.Fatal(err)
		}

		folder, err := os.Open(dir)
		if err != nil {
			t.Fatal(err)
		}

		if err := errors.Join(folder.Sync(), folder.Close()); err != nil {
			t.Fatal(err)
		}

		if err := os.WriteFile(filepath.Join(dir, "lost"), bytes.Repeat([]byte("lost"), 1<<18), 0o600); err != nil {
			t.Fatal(err)
		}

		if _, err := m.Cut(context.Background(), disk.Cut{Seed: 1, Lose: .5, Torn: .5}); err != nil {
			t.Fatal(err)
		}

		if err := synced(filepath.Join(dir, "more"), []byte("more")); err == nil {
			t.Errorf("%s: written without power", fs)
		}

		if err := m.Recover(context.Background()); err != nil {
			t.Fatal(err)
		}

		if got, err := os.ReadFile(filepath.Join(dir, "kept")); err != nil || string(got) != "kept" {
			t.Errorf("%s: the synced file is %q, %v", fs, got, err)
		}

		if got, err := os.ReadFile(filepath.Join(dir, "lost")); err == nil && len(got) == 4<<18 {
			t.Errorf("%s: a file that was never written back survived", fs)
		}

		if err := synced(filepath.Join(dir, "more"), []byte("more")); err != nil {
			t.Errorf("%s: after the recovery: %v", fs, err)
		}

		if err := m.Close(context.Background(), true); err != nil {
			t.Error(err)
		}
	}
}

// If the daemon is killed, the next process removes what it left behind.
func TestSweepAfterKill(t *testing.T) {
	command := lab(t)
	m, err := Start(context.Background(), Options{File: write(t, two), Command: command})
	if err != nil {
		t.Fatal(err)
	}

	states, err := States()
	if err != nil || len(states) != 1 || !states[0].Alive() {
		t.Fatalf("%v, %v", states, err)
	}

	if did, err := sweepVolumes(); err != nil || len(did) > 0 {
		t.Errorf("a running daemon was swept: %v, %v", did, err)
	}

	m.owned.unguard() // the next process, not this owner
	if err := syscall.Kill(states[0].PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}

	_ = m.owned.cmd.Wait()
	did, err := sweepVolumes()
	if err != nil || len(did) != 1 || !strings.Contains(did[0], "volume journal on /dev/"+m.Devices["journal"]) {
		t.Errorf("%q, %v", did, err)
	}

	m.owned.gone = true
}

// sweepVolumes sweeps, and returns what it did apart from kernel settings, which all tests on this
// machine share.
func sweepVolumes() ([]string, error) {
	did, err := Sweep()
	return slices.DeleteFunc(did, func(line string) bool { return strings.HasPrefix(line, "restored ") }), err
}

// If the owner dies, the daemon notices and undoes everything.
func TestEndsWithItsOwner(t *testing.T) {
	command := lab(t)
	m, err := Start(context.Background(), Options{File: write(t, two), Command: command})
	if err != nil {
		t.Fatal(err)
	}
	_ = m.owned.stdin.Close() // the kernel does the same for a dead owner
	if err := m.owned.cmd.Wait(); err != nil {
		t.Error(err)
	}
	m.owned.unguard()
	m.owned.gone = true
	nothingLeft(t, Root)
}

// Closing the machine of a killed daemon reports that it was killed, and leaves nothing behind.
func TestCloseAfterKill(t *testing.T) {
	command := lab(t)
	m, err := Start(context.Background(), Options{File: write(t, two), Command: command})
	if err != nil {
		t.Fatal(err)
	}

	m.owned.unguard() // otherwise it would sweep first
	if err := m.owned.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}

	// Wait until the process has really exited, not just until the signal was sent: then its socket
	// refuses connections.
	for {
		c, err := net.Dial("unix", m.socket)
		if err != nil {
			break
		}
		_ = c.Close()
		runtime.Gosched()
	}

	if err := m.Close(context.Background(), true); err == nil {
		t.Error("no error")
	}

	nothingLeft(t, Root)
}

// A daemon without an owner keeps running and can be found again.
func TestDetached(t *testing.T) {
	command := lab(t)
	at := t.TempDir()
	if _, err := Start(context.Background(), Options{File: write(t, "type: gp3\nsize: 1GiB\n"), Dir: at, Detached: true, Command: command}); err != nil {
		t.Fatal(err)
	}

	if err := Free(at); err == nil {
		t.Error("a mount point in use is free")
	}

	states, err := States()
	if err != nil || len(states) != 1 {
		t.Fatalf("%v, %v", states, err)
	}

	m, err := Attach(states[0])
	if err != nil {
		t.Fatal(err)
	}

	if m.Dirs["data"] != at {
		t.Errorf("mounted at %v, want %s", m.Dirs, at)
	}

	if err := m.Close(context.Background(), false); err != nil {
		t.Fatal(err)
	}

	for end := time.Now().Add(time.Minute); states[0].Alive() && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond)
	}
}

func TestCannotMount(t *testing.T) {
	command := lab(t)
	for name, c := range map[string]struct {
		text, want string
		opt        Options
	}{
		"a bad volume":   {"type: gp3\nsize: 1GiB\niops: 90000\n", "iops", Options{}},
		"no volume":      {"hello", "", Options{}},
		"a file system":  {"type: gp3\nsize: 1GiB\n", "ext4 or xfs", Options{FileSystem: "zfs"}},
		"options of xfs": {"type: gp3\nsize: 1GiB\n", "rejects the mount options logbsize=32k", Options{FileSystem: "ext4", Sets: []string{"host.mount_options=logbsize=32k"}}},
		"too small":      {"type: custom\nsize: 1MiB\nlatency: {like: gp3}\n", "mkfs", Options{FileSystem: "xfs"}},
	} {
		c.opt.File, c.opt.Command = write(t, c.text), command
		m, err := Start(context.Background(), c.opt)
		if err == nil {
			_ = m.Close(context.Background(), true)
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}

	if _, err := Start(context.Background(), Options{File: "/nowhere", Command: command}); err == nil {
		t.Error("a missing file was mounted")
	}
}
