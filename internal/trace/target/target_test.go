//go:build linux

package target

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"plimsoll/internal/trace/events"
)

func TestBadTargets(t *testing.T) {
	for _, x := range []struct {
		choice Choice
		want   string
	}{
		{Choice{PID: 1 << 30}, "no process has ID 1073741824"},
		{Choice{Command: "no such program"}, `no process runs the command "no such program"`},
		{Choice{Path: "/no/such/folder"}, "--path /no/such/folder: no such file or directory"},
		{Choice{Path: "/proc"}, "no known block device below /proc"},
	} {
		_, err := Find(x.choice)
		var bad *Error
		if !errors.As(err, &bad) || !strings.Contains(err.Error(), x.want) || bad.Hint() == "" {
			t.Errorf("%v: %v, want %s", x.choice, err, x.want)
		}
	}
}

// The files of a known process are not scanned again.
func TestKnown(t *testing.T) {
	self := uint32(os.Getpid())
	f, err := FindMore(Choice{PID: os.Getpid()}, map[uint32]bool{self: true})
	if err != nil || len(f.Processes)+len(f.Mounts)+len(f.Disks) > 0 {
		t.Errorf("%+v, %v", f, err)
	}
}

func TestMemory(t *testing.T) {
	const shm = "/dev/shm"
	if text, err := os.ReadFile("/proc/self/mounts"); err != nil || !strings.Contains(string(text), " "+shm+" tmpfs ") {
		t.Skip("no tmpfs on " + shm)
	}
	if _, err := Find(Choice{Path: shm}); err == nil || !strings.Contains(err.Error(), "in memory") {
		t.Error(err)
	}
}

func TestUnseen(t *testing.T) {
	for fs, fatal := range map[string]bool{"tmpfs": true, "overlay": true, "nfs4": true, "fuse.sshfs": true, "zfs": false, "btrfs": false} {
		if what, f := Unseen(fs); what == "" || f != fatal {
			t.Errorf("%s: %q, %v", fs, what, f)
		}
	}
	for _, fs := range []string{"ext4", "xfs"} {
		if what, fatal := Unseen(fs); what != "" || fatal {
			t.Errorf("%s: %s", fs, what)
		}
	}
}

// A path on a file system with unknown disks gets a single sentence that says what cannot be
// traced.
func TestWithoutDisk(t *testing.T) {
	for fs, want := range map[string]string{
		"zfs":   "/data is on zfs, whose disks are not visible here; ZFS has its own cache, log and scheduler",
		"btrfs": "/data is on btrfs, whose disks are not visible here; btrfs's log and transaction commits are not traced",
		"fuse.": "/data is on fuse: its requests go to a server or program",
		"tmpfs": "/data is on tmpfs: its files are in memory",
		"":      "no known block device below /data",
	} {
		if err := withoutDisk("/data", fs); !strings.HasPrefix(err.What, want) || err.Do == "" {
			t.Errorf("%q: %s", fs, err.What)
		}
	}
}

// The magic numbers agree with the kernel's names for the file systems mounted here.
func TestMagics(t *testing.T) {
	mounts, err := readMounts(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}

	for _, m := range mounts {
		got := typeOf(m.Path)
		if at, err := os.Stat(m.Path); err != nil || kernelDev(at.Sys().(*syscall.Stat_t).Dev) != m.Dev {
			continue // another mount hides it, or it is not accessible
		}
		if what, _ := Unseen(m.FSType); what != "" && m.FSType != "devtmpfs" && (got == "" || !strings.HasPrefix(m.FSType, got)) {
			t.Errorf("%s: %q, and mounted as %s", m.Path, got, m.FSType)
		}
		if got != "" && !strings.HasPrefix(m.FSType, strings.TrimSuffix(got, ".")) && m.FSType != "devtmpfs" && m.FSType != "rootfs" && m.FSType != "smb3" {
			t.Errorf("%s: %q, and mounted as %s", m.Path, got, m.FSType)
		}
	}
}

// A file that this process is writing is found, with its name and its writer.
func TestWriters(t *testing.T) {
	path := filepath.Join(t.TempDir(), "written")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}

	defer f.Close()
	mounts, err := readMounts(os.Getpid())
	if err != nil || len(mounts) == 0 {
		t.Fatal(mounts, err)
	}

	all := Writers(mounts, 7)
	if !slices.ContainsFunc(all, func(x events.File) bool {
		return x.Path == path && x.PID == uint32(os.Getpid()) && x.Dirtied && x.At == 7 && x.ID.Inode != 0
	}) {
		t.Errorf("%d files, but not %s", len(all), path)
	}
}

func TestProgram(t *testing.T) {
	if got := Program(uint32(os.Getpid())); got != "target.test" {
		t.Errorf("this process is %q", got)
	}
}

// An overlay's mount options name the folder with its changed files.
func TestUpper(t *testing.T) {
	dir := t.TempDir()
	got, dev := upper("rw,lowerdir=/l1:/l2,upperdir=" + dir + ",workdir=/w,index=off")
	if got != dir || dev == 0 {
		t.Errorf("%q, %d", got, dev)
	}
	for _, options := range []string{"ro,lowerdir=/l1:/l2", "rw,upperdir=relative", "rw,upperdir=/no/such/folder"} {
		if got, dev := upper(options); got != "" || dev != 0 {
			t.Errorf("%s: %q, %d", options, got, dev)
		}
	}
}
