//go:build linux

package mount

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"plimsoll/internal/base/procfs"
	"plimsoll/internal/lab/blockdev"
)

const lone = "type: gp3\nsize: 1GiB\n"

// mountsAt counts the mounts on a folder.
func mountsAt(t *testing.T, dir string) (n int) {
	t.Helper()
	mounts, err := mounted()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range mounts {
		if m.dir == dir {
			n++
		}
	}
	return n
}

// another mounts a foreign file system with a file in it.
func another(t *testing.T, dir string) {
	t.Helper()
	if err := unix.Mount("theirs", dir, "tmpfs", 0, "size=1m"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	if err := os.WriteFile(filepath.Join(dir, "file"), []byte("theirs"), 0o600); err != nil {
		t.Fatal(err)
	}
}

func wants(t *testing.T, err error, words ...string) {
	t.Helper()
	for _, w := range words {
		if err == nil || !strings.Contains(err.Error(), w) {
			t.Errorf("%v, want %q", err, w)
		}
	}
}

// If several processes mount on the same folder, one succeeds and the others report what is already
// there.
func TestMountsOnOneFolderDoNotStack(t *testing.T) {
	command := lab(t)
	at := t.TempDir()
	file := write(t, lone)
	type result struct {
		m   *Machine
		err error
	}

	results := make(chan result)
	const several = 3
	for range several {
		go func() {
			m, err := Start(context.Background(), Options{File: file, Dir: at, Detached: true, Command: command})
			results <- result{m, err}
		}()
	}

	var m *Machine
	for range several {
		r := <-results
		switch {
		case r.err != nil:
			wants(t, r.err, "/dev/loop", "is already mounted on "+at)
		case m != nil:
			t.Error("mounted twice")
		default:
			m = r.m
		}
	}

	if n := mountsAt(t, at); m == nil || n != 1 {
		t.Fatalf("%d mounts", n)
	}

	if err := m.Close(context.Background(), false); err != nil {
		t.Error(err)
	}

	if n := mountsAt(t, at); n != 0 {
		t.Errorf("%d mounts are left", n)
	}

	nothingLeft(t, Root)
}

// If another program has mounted something on top of the volume, inside it or over its parent
// folder, even a forced close leaves that mount and the volume in place, and the error names it.
func TestAnothersMountOnTop(t *testing.T) {
	command := lab(t)
	parent := t.TempDir()
	at := filepath.Join(parent, "volume")

	if err := os.Mkdir(at, 0o755); err != nil {
		t.Fatal(err)
	}

	m := start(t, Options{File: write(t, lone), Dir: at, Detached: true, Command: command})
	inside := filepath.Join(at, "inside")
	if err := os.Mkdir(inside, 0o755); err != nil {
		t.Fatal(err)
	}

	for dir, words := range map[string]string{at: "on top of it", inside: "inside it", parent: "hides it"} {
		another(t, dir)
		for _, force := range []bool{false, true} {
			wants(t, m.Close(context.Background(), force), "tmpfs", words, "umount "+dir+",")
		}

		if text, err := os.ReadFile(filepath.Join(dir, "file")); err != nil || string(text) != "theirs" {
			t.Errorf("%s: their file is %q, %v", dir, text, err)
		}

		s, err := m.Status(context.Background())
		if err != nil || !strings.Contains(s.Volumes[0].Problem, words) {
			t.Errorf("%s: the status is %+v, %v", dir, s, err)
		}

		if err := unix.Unmount(dir, 0); err != nil {
			t.Fatal(err)
		}

		if err := synced(filepath.Join(at, "ours"), []byte("ours")); err != nil {
			t.Error(err)
		}
	}

	if s, err := m.Status(context.Background()); err != nil || s.Volumes[0].Problem != "" {
		t.Errorf("%+v, %v", s, err)
	}
}

// A volume that is also mounted elsewhere stays until that mount is removed; with force, both are.
func TestMountedTwice(t *testing.T) {
	command := lab(t)
	for _, force := range []bool{false, true} {
		at, too := t.TempDir(), t.TempDir()
		m, err := Start(context.Background(), Options{File: write(t, lone), Dir: at, Detached: true, Command: command})
		if err != nil {
			t.Fatal(err)
		}

		if err := unix.Mount(at, too, "", unix.MS_BIND, ""); err != nil {
			t.Fatal(err)
		}

		if !force {
			wants(t, m.Close(context.Background(), false), "mounted at "+too, "umount "+too)
			if err := synced(filepath.Join(at, "file"), []byte("alive")); err != nil || mountsAt(t, at) != 1 {
				t.Errorf("the volume was not mounted again: %v", err)
			}
			if err := unix.Unmount(too, 0); err != nil {
				t.Fatal(err)
			}
		}

		if err := m.Close(context.Background(), force); err != nil {
			t.Errorf("force %v: %v", force, err)
		}

		if mountsAt(t, at)+mountsAt(t, too) > 0 {
			t.Errorf("force %v: mounts were left", force)
		}

		nothingLeft(t, Root)
	}
}

// apart starts a process in a new mount namespace, a copy of this one. Of the emulated volumes, the
// copy keeps only the one at the given folder: other packages' tests may have volumes mounted.
func apart(t *testing.T, at string) (pid string, end func()) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}

	cmd := exec.Command("cat")
	cmd.Stdin = r
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS} // mounts are made private by os/exec

	if err := cmd.Start(); err != nil {
		t.Skipf("cannot create a mount namespace: %v", err)
	}

	_ = r.Close()
	end = func() {
		_ = w.Close()
		_ = cmd.Wait()
	}

	t.Cleanup(end)
	pid = strconv.Itoa(cmd.Process.Pid)
	mounts, err := mountsOf(pid)
	if err != nil {
		t.Fatal(err)
	}

	for _, m := range mounts {
		if strings.HasPrefix(m.source, "/dev/loop") && m.dir != at {
			// Mounts that are already gone need not be unmounted.
			_ = exec.Command("nsenter", "-t", pid, "-m", "umount", "-l", m.dir).Run()
		}
	}

	return pid, end
}

// A volume mounted in another mount namespace stays, and the error gives the command that unmounts it
// there.
func TestMountedInAnotherNamespace(t *testing.T) {
	command := lab(t)
	at := t.TempDir()
	m, err := Start(context.Background(), Options{File: write(t, lone), Dir: at, Detached: true, Command: command})
	if err != nil {
		t.Fatal(err)
	}

	pid, end := apart(t, at)
	for _, force := range []bool{false, true} {
		wants(t, m.Close(context.Background(), force), "process "+pid+" (cat)", "nsenter -t "+pid+" -m umount -l "+at)
		if err := synced(filepath.Join(at, "file"), []byte("alive")); err != nil || mountsAt(t, at) != 1 {
			t.Errorf("force %v: the volume was not mounted again: %v", force, err)
		}
	}

	end()
	if err := m.Close(context.Background(), false); err != nil {
		t.Error(err)
	}
}

// The daemon is killed while its volume is covered, and while another namespace has it mounted. The
// leftovers stay recorded until they can be removed, and each attempt says what to do.
func TestWhatCannotBeSwept(t *testing.T) {
	command := lab(t)
	at := t.TempDir()
	m, err := Start(context.Background(), Options{File: write(t, lone), Dir: at, Detached: true, Command: command})
	if err != nil {
		t.Fatal(err)
	}

	states, err := States()
	if err != nil || len(states) != 1 {
		t.Fatalf("%v, %v", states, err)
	}

	pid, end := apart(t, at)
	another(t, at)
	if err := syscall.Kill(states[0].PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}

	if err := m.ended(context.Background()); err == nil {
		t.Error("ended, with its mount still there")
	}

	for range 2 {
		did, err := sweepVolumes()
		wants(t, err, "tmpfs", "on top of it", "umount "+at, "nsenter -t "+pid+" -m umount -l "+at)
		if len(did) > 0 {
			t.Errorf("did %q", did)
		}
	}

	if text, err := os.ReadFile(filepath.Join(at, "file")); err != nil || string(text) != "theirs" {
		t.Errorf("their file is %q, %v", text, err)
	}

	if err := unix.Unmount(at, 0); err != nil {
		t.Fatal(err)
	}

	_, err = Sweep()
	wants(t, err, "nsenter -t "+pid)
	if n := mountsAt(t, at); n > 0 {
		t.Errorf("%d mounts were left here", n)
	}

	// Even after the state is deleted, the leftovers are found.
	if left, err := Leftovers(); err != nil || len(left) > 0 {
		t.Errorf("reported although it is recorded: %v, %v", left, err)
	}

	if err := os.Rename(states[0].dir, states[0].dir+".away"); err != nil {
		t.Fatal(err)
	}

	left, err := Leftovers()
	if err != nil || len(left) != 1 || left[0].Remedy != "nsenter -t "+pid+" -m umount -l "+at {
		t.Errorf("%v, %v", left, err)
	}

	if err := os.Rename(states[0].dir+".away", states[0].dir); err != nil {
		t.Fatal(err)
	}

	end()
	if _, err := Sweep(); err != nil {
		t.Error(err)
	}

	if blockdev.Owns(m.Devices["data"], filepath.Join(m.Scratch, "fuse-0")) {
		t.Error("the device was left")
	}
}

// Claiming waits for a folder locked by another process, and refuses a folder that is not empty.
func TestClaim(t *testing.T) {
	dir := t.TempDir()
	unlock, err := claim(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = claim(ctx, dir)
	wants(t, err, "locked by another process")
	unlock()

	again, err := claim(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}

	again()
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}

	_, err = claim(t.Context(), dir)
	wants(t, err, "not empty")
}

func TestParseMounts(t *testing.T) {
	const text = `27 1 254:0 / / rw - ext4 /dev/root rw
44 27 7:2 / /a\040b rw,relatime shared:5 master:3 - xfs /dev/loop2 rw
damaged
x 1 1:1 / / rw - a b c
45 44 0:41 / /a\040b rw - tmpfs none rw
`
	mounts := mountPoints(procfs.ParseMounts(text))
	if len(mounts) != 3 || mounts[1] != (mountPoint{44, 27, "7:2", "/a b", "xfs", "/dev/loop2"}) {
		t.Fatalf("%+v", mounts)
	}
	wants(t, mounts[1].cover(mounts), "none (tmpfs) is mounted on top of it", "umount '/a b'")
}
