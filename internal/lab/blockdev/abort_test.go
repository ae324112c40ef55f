//go:build linux

package blockdev

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"plimsoll/internal/base/procfs"
	"plimsoll/internal/base/units"
	"plimsoll/internal/lab/disk"
	"plimsoll/internal/model/volume"
)

func TestUserSpace(t *testing.T) {
	const mountinfo = `27 1 254:0 / / rw - ext4 /dev/root rw
42 27 0:39 / /run/a/fuse-0 rw,nosuid - fuse.plimsoll plimsoll rw,user_id=0
43 27 7:2 / /run/a/volumes/data rw,relatime shared:5 - xfs /dev/loop2 rw
44 27 0:40 / /run/b rw - fuse.plimsoll plimsoll rw
45 27 0:41 / /run/b rw - tmpfs none rw
`
	for dir, want := range map[string]bool{"/run/a/fuse-0": true, "/run/a/volumes/data": false, "/run/b": false, "/": false, "": false} {
		if userSpace(procfs.ParseMounts(mountinfo), dir) != want {
			t.Errorf("%s: %v", dir, !want)
		}
	}
}

// A process that waits for a device that never answers gets an error when the device is aborted.
func TestAbort(t *testing.T) {
	available(t)
	h, err := disk.NewHost(disk.Options{})
	if err != nil {
		t.Fatal(err)
	}

	slow := volume.Config{Name: "slow", Size: units.GiB}
	slow.Latency[volume.Write] = volume.Constant(units.Duration(time.Hour))
	d, err := h.Add(disk.Config{Name: "slow", Size: 64 * units.MiB, Volume: volume.MustNew(slow, 1, nil)})
	if err != nil {
		t.Fatal(err)
	}

	dir := t.TempDir()
	v, err := Attach(context.Background(), d, dir, Options{})
	if err != nil {
		t.Fatal(err)
	}

	failed := make(chan error, 1)
	go func() {
		f, err := syscall.Open(v.Path(), syscall.O_WRONLY|syscall.O_SYNC, 0)
		if err == nil {
			_, err = syscall.Write(f, make([]byte, 4096))
			_ = syscall.Close(f)
		}
		failed <- err
	}()

	for d.Stats().Volume.Submitted[volume.Write] == 0 {
		time.Sleep(time.Millisecond)
	}

	if err := Abort(dir); err != nil {
		t.Fatal(err)
	}

	if err := <-failed; !errors.Is(err, syscall.EIO) {
		t.Errorf("the write that waited: %v", err)
	}

	if err := Reap(dir, v.Name()); err == nil || !strings.Contains(err.Error(), "fuser -v "+v.Path()) {
		t.Errorf("reaped while it is open: %v", err)
	}

	_ = v.loop.dev.Close() // as the kernel does for a process that died
	if err := Reap(dir, v.Name()); err != nil {
		t.Error(err)
	}

	if err := h.Close(); err != nil {
		t.Error(err)
	}
}

// A process started while a volume exists does not inherit the FUSE connection. Otherwise, if the
// server were killed, the child would keep the connection open and everything that waits for the
// volume would hang.
func TestConnectionIsNotInherited(t *testing.T) {
	available(t, "ls")
	attach(t, disk.Config{Name: "a", Size: 16 * units.MiB, Volume: quick()}, Options{})
	out, err := exec.Command("ls", "-l", "/proc/self/fd").CombinedOutput()
	if err != nil || strings.Contains(string(out), "/dev/fuse") {
		t.Errorf("%v: %s", err, out)
	}
}
