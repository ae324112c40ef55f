//go:build linux

package mount

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// dieAt makes the daemon kill itself at its n-th step, or after some time.
func dieAt(n, after string) {
	die := func() { _ = syscall.Kill(os.Getpid(), syscall.SIGKILL) }
	if left, err := strconv.Atoi(n); err == nil {
		step = func() {
			if left--; left == 0 {
				die()
			}
		}
	}
	if d, err := time.ParseDuration(after); err == nil {
		time.AfterFunc(d, die)
	}
}

// kill starts a daemon that is going to be killed, and reports whether it became ready first. Then it
// removes everything that the daemon left behind.
func kill(t *testing.T, opt Options) (ready bool) {
	t.Helper()
	m, err := Start(context.Background(), opt)
	if err == nil {
		_ = m.owned.cmd.Process.Kill() // in case it still runs
		_ = m.owned.cmd.Wait()
		m.owned.unguard()
	}

	if _, err := Sweep(); err != nil {
		t.Error(err)
	}

	nothingLeft(t, Root)
	if again, err := Sweep(); err != nil || len(again) > 0 {
		t.Errorf("swept twice: %q, %v", again, err)
	}

	return err == nil
}

// Whatever the daemon recorded or created last before it was killed, the next one finds and removes
// it.
func TestKilledAtEachStep(t *testing.T) {
	command, images := lab(t), t.TempDir()
	at := t.TempDir()
	opt := Options{File: write(t, "type: gp3\nsize: 1GiB\n"), Command: command, Dir: at, Images: images}

	const steps = 100 // far more than there are
	for n := 1; ; n++ {
		t.Setenv("PLIMSOLL_TEST_LAB_STEP", strconv.Itoa(n))
		ready := kill(t, opt)
		if files, err := filepath.Glob(filepath.Join(images, "*")); err != nil || len(files) > 0 {
			t.Errorf("step %d: files are left: %v, %v", n, files, err)
		}

		if err := Free(at); err != nil {
			t.Errorf("step %d: %v", n, err)
		}

		if ready {
			t.Logf("ready after %d steps", n-1)
			if n < 8 {
				t.Error("too few steps: the test did not kill anything")
			}
			return
		}

		if n == steps || t.Failed() {
			t.Fatalf("not ready at step %d", n)
		}
	}
}

// The same at random times, in the middle of a step.
func TestKilledAnyTime(t *testing.T) {
	command := lab(t)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	chance := rand.New(rand.NewPCG(seed, 0))
	times := 6
	if os.Getenv("CI_FULL") != "" {
		times = 50
	}
	for range times {
		after := time.Duration(1+chance.IntN(800)) * time.Millisecond
		t.Setenv("PLIMSOLL_TEST_LAB_AFTER", after.String())
		t.Logf("killed after %v: ready %v", after, kill(t, Options{File: write(t, two), Command: command}))
	}
}

// Another program's mount at our mount point is not removed, nor are folders that contain one.
func TestSweepLeavesForeignMounts(t *testing.T) {
	command := lab(t)
	at := t.TempDir()

	// At step 8 the mount point is recorded, but nothing is mounted there yet.
	t.Setenv("PLIMSOLL_TEST_LAB_STEP", "8")
	var states []*State
	var err error

	// Another test's lab may remove what the killed one left before this test sees it.
	for n := 0; len(states) == 0 && err == nil && n < 20; n++ {
		if _, err := Start(context.Background(), Options{File: write(t, "type: gp3\nsize: 1GiB\n"), Command: command, Dir: at}); err == nil {
			t.Fatal("not killed")
		}
		states, err = States()
	}

	if err != nil || len(states) != 1 || len(states[0].Volumes) != 1 || states[0].Volumes[0].Dir != at {
		t.Fatalf("%+v, %v", states, err)
	}

	inside := filepath.Join(states[0].dir, "theirs")
	if err := os.Mkdir(inside, 0o700); err != nil {
		t.Fatal(err)
	}

	for _, dir := range []string{at, inside} {
		if err := unix.Mount("theirs", dir, "tmpfs", 0, "size=1m"); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
		if err := os.WriteFile(filepath.Join(dir, "file"), []byte("theirs"), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	if _, err := Sweep(); err == nil || !strings.Contains(err.Error(), "unmount it") {
		t.Errorf("a folder that contains another program's mount: %v", err)
	}

	for _, dir := range []string{at, inside} {
		if _, err := os.Stat(filepath.Join(dir, "file")); err != nil {
			t.Error(err)
		}
	}

	if err := unix.Unmount(inside, 0); err != nil {
		t.Fatal(err)
	}

	if _, err := Sweep(); err != nil {
		t.Error(err)
	}
}

func TestOverlay(t *testing.T) {
	got := overlay([]string{"a=1", "b=2", "a.c=3"}, []string{"a=4", "d", "d"})
	if want := "b=2 a.c=3 a=4 d d"; strings.Join(got, " ") != want {
		t.Errorf("%q, want %s", got, want)
	}
}

func TestMountPointsWithSpaces(t *testing.T) {
	command := lab(t)
	at := filepath.Join(t.TempDir(), "a folder\\with\ttabs")
	if err := os.Mkdir(at, 0o755); err != nil {
		t.Fatal(err)
	}

	m := start(t, Options{File: write(t, "type: gp3\nsize: 1GiB\n"), Dir: at, Command: command})
	device, err := deviceNumber(m.Devices["data"])
	if err != nil {
		t.Fatal(err)
	}

	mounts, err := mounted()
	if of := mountsFrom(mounts, device); err != nil || len(of) != 1 || of[0].dir != at || of[0].cover(mounts) != nil {
		t.Errorf("its mounts are %v, %v", of, err)
	}

	if err := Free(at); err == nil {
		t.Error("a mount point in use is free")
	}

	if err := m.Close(context.Background(), false); err != nil {
		t.Error(err)
	}

	if err := Free(at); err != nil {
		t.Error(err)
	}
}
