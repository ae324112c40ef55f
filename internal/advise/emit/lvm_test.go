package emit_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// poke writes one block of unrecognisable data.
func poke(t *testing.T, device string, at int64) {
	t.Helper()
	f, err := os.OpenFile(device, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt(bytes.Repeat([]byte("data"), 1024), at); err != nil {
		t.Fatal(err)
	}
}

// The script finds data anywhere on a device that it reads completely, and in the sampled places of
// a large one, regardless of the first megabyte.
func TestLVMFindsData(t *testing.T) {
	b := newLVMBench(t, 1024)
	const mib, gib = 1 << 20, 1 << 30
	for _, c := range []struct {
		name string
		mib  int64
		at   int64
		args []string
		says string // of the byte that is refused; "": it is not found
	}{
		{"small, at its end", 1024, 1024*mib - 4096, nil, fmt.Sprintf("from byte %d)", 1024*mib-64*mib)},
		{"large, at its end", 64 << 10, 64*gib - 4096, nil, fmt.Sprintf("from byte %d)", 64*gib-64*mib)},
		{"large, a copy of ext4's superblock", 64 << 10, 27 * 128 * mib, nil, fmt.Sprintf("from byte %d)", 27*128*mib)},
		{"large, a quarter", 64 << 10, 16 * gib, nil, fmt.Sprintf("from byte %d)", 16*gib)},
		{"large, between the places", 64 << 10, 16*gib + 5*mib, nil, ""},
		{"all of it", 1024, 777*mib + 12288, []string{"--read-all"}, "from byte 0)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			device := loopDevice(t, c.mib)
			poke(t, device, c.at)
			out, err := b.run(append(append([]string{"--dry-run"}, c.args...), b.devices[0], device)...)

			if c.says == "" {
				if err != nil || !strings.Contains(out, "would run: vgcreate") {
					t.Errorf("%v\n%s", err, out)
				}
				return
			}

			if err == nil || !strings.Contains(out, "refused: "+device+" has bytes that are not zero") || !strings.Contains(out, c.says) || strings.Contains(out, "would run") {
				t.Errorf("%v, want %q\n%s", err, c.says, out)
			}
		})
	}
}

// A logical volume of that name with unrecognisable data does not get a file system.
func TestLVMKeepsARawVolume(t *testing.T) {
	b := newLVMBench(t, 1024)
	fake, device := t.TempDir(), loopDevice(t, 2048)
	for name, text := range fakeLVM {
		if err := os.WriteFile(filepath.Join(fake, name), []byte("#!/bin/bash\n"+text+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}

	group := fmt.Sprintf("emit_test_%d_journal", os.Getpid())
	t.Setenv("PATH", fake+":"+os.Getenv("PATH"))
	t.Setenv("FAKE", fake)
	t.Setenv("FAKE_DEVICE", device)

	for _, args := range [][]string{append([]string{"vgcreate", group}, b.devices...), {"lvcreate", "--name", "journal", group}} {
		if out, err := exec.Command(filepath.Join(fake, args[0]), args[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}

	t.Cleanup(func() {
		_ = exec.Command("umount", b.mount).Run() // only if it failed
		_ = os.RemoveAll("/dev/" + group)
	})

	poke(t, device, 999<<20)
	out, err := b.run(b.devices...)
	if err == nil || !strings.Contains(out, "refused: /dev/"+group+"/journal has bytes that are not zero") || strings.Contains(out, "running:") {
		t.Errorf("%v\n%s", err, out)
	}

	got, err := exec.Command("dd", "if="+device, "bs=1M", "skip=999", "count=1", "status=none").Output()
	if err != nil || !bytes.HasPrefix(got, []byte("datadata")) {
		t.Errorf("its data is gone: %v", err)
	}
}

// The undo of a volume that fstab mounts elsewhere changes nothing and names the place.
func TestLVMUndoElsewhere(t *testing.T) {
	b := newLVMBench(t, 1024)
	device := loopDevice(t, 1100)
	if out, err := exec.Command("mkfs.ext4", "-q", device).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	uuid, err := exec.Command("blkid", "-p", "-s", "UUID", "-o", "value", device).Output()
	if err != nil {
		t.Fatal(err)
	}

	dir := fmt.Sprintf("/dev/emit_test_%d_journal", os.Getpid())
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Symlink(device, filepath.Join(dir, "journal")); err != nil {
		t.Fatal(err)
	}

	was := "UUID=" + strings.TrimSpace(string(uuid)) + " /elsewhere ext4 defaults 0 0\n"
	if err := os.WriteFile(b.fstab, []byte(was), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := b.run("--undo")
	if err == nil || !strings.Contains(out, "run this again with MOUNT=/elsewhere") {
		t.Errorf("%v: %s", err, out)
	}
	if got, err := os.ReadFile(b.fstab); err != nil || string(got) != was {
		t.Errorf("fstab becomes %q, %v", got, err)
	}
}
