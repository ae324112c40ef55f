//go:build linux

package blockdev

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/base/units"
	"plimsoll/internal/lab/disk"
	"plimsoll/internal/model/volume"
)

func available(t testing.TB, programs ...string) {
	t.Helper()
	if err := Available(); err != nil {
		t.Skip(err)
	}
	for _, p := range programs {
		if _, err := exec.LookPath(p); err != nil {
			t.Skipf("%s is not installed", p)
		}
	}
}

func run(t testing.TB, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// attach creates a device and removes it when the test ends.
func attach(t testing.TB, cfg disk.Config, opt Options) (*disk.Disk, *Device) {
	t.Helper()
	h, err := disk.NewHost(disk.Options{Path: DefaultPath})
	if err != nil {
		t.Fatal(err)
	}

	d, err := h.Add(cfg)
	if err != nil {
		t.Fatal(err)
	}

	v, err := Attach(context.Background(), d, t.TempDir(), opt)
	if err != nil {
		_ = h.Close()
		t.Fatal(err)
	}

	t.Cleanup(func() {
		if err := v.Detach(context.Background()); err != nil {
			t.Error(err)
		}
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})

	return d, v
}

func quick() volume.Volume {
	return volume.MustNew(volume.Config{Name: "quick", Size: units.GiB}, 1, nil)
}

func TestFileSystems(t *testing.T) {
	for _, c := range []struct {
		fs       string
		volatile bool
	}{{"ext4", false}, {"ext4", true}, {"xfs", true}} {
		t.Run(c.fs, func(t *testing.T) {
			available(t, "mkfs."+c.fs, "mount")
			d, v := attach(t, disk.Config{Name: "data", Size: units.GiB, Volume: quick(), VolatileCache: c.volatile}, Options{Slots: 32, MaxRequest: 256 * units.KiB})
			run(t, "mkfs."+c.fs, "-q", v.Path())
			dir := t.TempDir()
			run(t, "mount", v.Path(), dir)
			mounted := true
			defer func() {
				if mounted {
					run(t, "umount", dir)
				}
			}()

			want := bytes.Repeat([]byte("plimsoll"), 1<<17)
			name := filepath.Join(dir, "file")
			f, err := os.Create(name)
			if err != nil {
				t.Fatal(err)
			}

			before := d.Stats()
			if _, err := f.Write(want); err != nil {
				t.Fatal(err)
			}

			if err := f.Sync(); err != nil {
				t.Fatal(err)
			}

			if err := f.Close(); err != nil {
				t.Fatal(err)
			}

			after := d.Stats()
			if n := after.Bytes[volume.Write] - before.Bytes[volume.Write]; n < int64(len(want)) {
				t.Errorf("%d bytes reached the disk, %d were synced", n, len(want))
			}

			if n := after.Requests[volume.Flush] - before.Requests[volume.Flush]; (n > 0) != c.volatile {
				t.Errorf("%d flushes, volatile cache: %v", n, c.volatile)
			}

			run(t, "umount", dir)
			mounted = false
			run(t, "mount", v.Path(), dir)
			mounted = true

			got, err := os.ReadFile(name)
			if err != nil || !bytes.Equal(got, want) {
				t.Errorf("the data read differs from the data written: %d bytes, %v", len(got), err)
			}
		})
	}
}

// Nothing is left behind, and the device's settings are restored.
func TestDetachLeavesNothing(t *testing.T) {
	available(t)
	h, err := disk.NewHost(disk.Options{})
	if err != nil {
		t.Fatal(err)
	}

	defer h.Close()
	d, err := h.Add(disk.Config{Name: "data", Size: 64 * units.MiB, Volume: quick()})
	if err != nil {
		t.Fatal(err)
	}

	dir := t.TempDir()
	v, err := Attach(context.Background(), d, dir, Options{Slots: 16, MaxRequest: 128 * units.KiB})
	if err != nil {
		t.Fatal(err)
	}

	name := v.Name()
	if c, err := QueueSetting(name, "write_cache"); err != nil || c != "write through" {
		t.Errorf("the write cache is %q: %v", c, err)
	}

	undo := v.undo // only the settings that were changed
	if b := backing(name); b != filepath.Join(dir, imageName) {
		t.Errorf("%s is over %q", name, b)
	}

	held, err := os.Open(v.Path())
	if err != nil {
		t.Fatal(err)
	}

	soon, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	if err := v.Detach(soon); err == nil {
		t.Error("an open device was detached")
	}

	if err := held.Close(); err != nil {
		t.Fatal(err)
	}

	for range 2 {
		if err := v.Detach(context.Background()); err != nil {
			t.Fatal(err)
		}
	}

	if b := backing(name); b != "" && strings.HasPrefix(b, dir) {
		t.Errorf("%s is still over %q", name, b)
	}

	nothingLeft(t, dir, name, undo)
}

// nothingLeft checks that dir is empty and not a mount point, and that the device's settings are
// restored.
func nothingLeft(t testing.TB, dir, device string, undo []setting) {
	t.Helper()
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil || bytes.Contains(mounts, []byte(dir)) {
		t.Errorf("still mounted: %v", err)
	}

	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left in the folder: %v, %v", left, err)
	}

	if backing(device) != "" {
		t.Logf("%s is already used by another program", device)
		return
	}

	for _, s := range undo {
		if is, err := QueueSetting(device, s.name); err != nil || is != s.value {
			t.Errorf("%s of %s is %q, was %q: %v", s.name, device, is, s.value, err)
		}
	}
}

// served is the environment variable with the folder on which the child of TestReap attaches a
// device.
const served = "PLIMSOLL_TEST_SERVE_ON"

// TestServe is not a test but the child process of TestReap.
func TestServe(t *testing.T) {
	dir := os.Getenv(served)
	if dir == "" {
		t.Skip("only as the child of TestReap")
	}

	h, err := disk.NewHost(disk.Options{})
	if err != nil {
		t.Fatal(err)
	}

	d, err := h.Add(disk.Config{Name: "data", Size: 64 * units.MiB, Volume: quick()})
	if err != nil {
		t.Fatal(err)
	}

	v, err := Attach(context.Background(), d, dir, Options{Slots: 16, MaxRequest: 128 * units.KiB})
	if err != nil {
		t.Fatal(err)
	}

	for _, s := range v.undo {
		fmt.Println("was", s.name, s.value)
	}

	fmt.Println("serves", v.Name())
	_, _ = io.Copy(io.Discard, os.Stdin) // until it is killed or its parent exits
	runtime.KeepAlive(v)                 // its finalizers would close the descriptors
}

// Reap cleans up after a process that was killed while a file system was mounted.
func TestReap(t *testing.T) {
	available(t, "mkfs.ext4", "mount")
	dir := t.TempDir()
	child := exec.Command(os.Args[0], "-test.run=^TestServe$", "-test.v")
	child.Env = append(os.Environ(), served+"="+dir)
	child.Stderr = os.Stderr

	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}

	in, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}

	defer in.Close()
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { _ = child.Process.Kill() }) // again, in case the test ends early
	device := ""

	var undo []setting
	for lines := bufio.NewScanner(out); device == "" && lines.Scan(); {
		if was, ok := strings.CutPrefix(lines.Text(), "was "); ok {
			undo = append(undo, parseUndo(was)...)
		}
		if _, name, ok := strings.Cut(lines.Text(), "serves "); ok {
			device = name
		}
	}

	mounted := t.TempDir()
	if device != "" {
		run(t, "mkfs.ext4", "-q", "/dev/"+device)
		run(t, "mount", "/dev/"+device, mounted)
	}

	_ = child.Process.Kill()
	_ = child.Wait()
	if device == "" {
		t.Fatal("the child did not serve")
	}

	if err := unix.Unmount(mounted, unix.MNT_DETACH); err != nil {
		t.Error(err)
	}

	// The child's device and mount are still there. Reaping twice is fine.
	for range 2 {
		if err := Reap(dir, device); err != nil {
			t.Fatal(err)
		}
	}

	nothingLeft(t, dir, device, undo)
}

func FuzzParseUndo(f *testing.F) {
	f.Add("write_cache write back\nnr_requests 128\n")
	f.Add("../../x 1\nscheduler\nrotational 1")
	f.Fuzz(func(t *testing.T, text string) {
		for _, s := range parseUndo(text) {
			if strings.ContainsAny(s.name, "/.") || s.value == "" || strings.Contains(s.value, "\n") {
				t.Errorf("%q gives %q", text, s)
			}
		}
	})
}

// The time on the path grows linearly with the size, and is limited so that a busy machine cannot
// inflate it.
func TestPathOf(t *testing.T) {
	p := pathOf(60*time.Microsecond, 91*time.Microsecond)
	if p.PerMiB != units.Duration(256*time.Microsecond) || p.Fixed != units.Duration(59*time.Microsecond) {
		t.Errorf("%+v", p)
	}
	for _, took := range [][2]time.Duration{{-time.Second, time.Hour}, {time.Hour, time.Second}, {0, 0}} {
		p := pathOf(took[0], took[1])
		if p.Fixed < 0 || p.PerMiB < 0 || p.Fixed.Std() > pathMost || p.PerMiB.Std() > 10*pathMost {
			t.Errorf("%v results in path %+v", took, p)
		}
	}
}
