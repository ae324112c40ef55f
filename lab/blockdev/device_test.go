package blockdev

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/lab/disk"
	"plimsoll/units"
	"plimsoll/volume"
)

func available(t *testing.T, programs ...string) {
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

func run(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// attach makes a device that is gone when the test is over.
func attach(t *testing.T, cfg disk.Config, opt Options) (*disk.Disk, *Device) {
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
				t.Errorf("what was written is not read back: %d bytes, %v", len(got), err)
			}
		})
	}
}

// Nothing stays behind, and settings are as they were.
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
	v, err := Attach(context.Background(), d, dir, Options{Slots: 16})
	if err != nil {
		t.Fatal(err)
	}
	name := v.Name()
	if b := backing(name); b != filepath.Join(dir, imageName) {
		t.Errorf("%s is over %q", name, b)
	}
	for range 2 {
		if err := v.Detach(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	if b := backing(name); b != "" && strings.HasPrefix(b, dir) {
		t.Errorf("%s is still over %q", name, b)
	}
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil || bytes.Contains(mounts, []byte(dir)) {
		t.Errorf("still mounted: %v", err)
	}
}
