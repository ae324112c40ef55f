package mount

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// A file system's tools and options. What mkfs would leave to the kernel to do later in the background (ext4's
// inode tables) is left undone: it would run beside what is measured.
var fileSystems = map[string]struct {
	program, debian string
	args            []string
	options         string
}{
	"ext4": {"mkfs.ext4", "e2fsprogs", []string{"-q", "-F", "-E", "lazy_itable_init=1,lazy_journal_init=1,nodiscard"}, "noinit_itable"},
	"xfs":  {"mkfs.xfs", "xfsprogs", []string{"-q", "-f", "-K"}, ""},
}

// makeFileSystem formats a device.
func makeFileSystem(ctx context.Context, fs, device string) error {
	f, ok := fileSystems[fs]
	if !ok {
		return fmt.Errorf("file system %q: ext4 or xfs", fs)
	}
	program, err := exec.LookPath(f.program)
	if err != nil {
		return fmt.Errorf("%s is not installed: apt-get install %s, or choose the other of ext4 and xfs", f.program, f.debian)
	}
	out, err := exec.CommandContext(ctx, program, append(f.args, device)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", f.program, err, strings.Join(strings.Fields(string(out)), " "))
	}
	return nil
}

func mountFileSystem(fs, device, dir string) error {
	if err := unix.Mount(device, dir, fs, 0, fileSystems[fs].options); err != nil {
		return fmt.Errorf("mounting %s (%s) on %s: %w", device, fs, dir, err)
	}
	return os.Chmod(dir, 0o777) // the database is not root
}

// errBusy is what a mount in use gives.
var errBusy = errors.New("in use")

// unmountFileSystem unmounts in order, waiting a little for those who are about to leave.
func unmountFileSystem(ctx context.Context, dir string) error {
	const tries = 20
	for try := 1; ; try++ {
		err := unix.Unmount(dir, 0)
		switch {
		case err == nil, errors.Is(err, unix.EINVAL): // not mounted
			return nil
		case !errors.Is(err, unix.EBUSY):
			return fmt.Errorf("unmounting %s: %w", dir, err)
		case try == tries || ctx.Err() != nil:
			return fmt.Errorf("%s is %w: end what runs there or has files open (fuser -vm %s)", dir, errBusy, dir)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// Free reports why nothing can be mounted on a folder: it is not there, not empty, or mounted on already.
func Free(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("the mount point: %w", err)
	}
	if len(entries) > 0 {
		return fmt.Errorf("the mount point %s is not empty: name an empty folder", dir)
	}
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(mounts)) {
		if f := strings.Fields(line); len(f) > 1 && f[1] == dir {
			return fmt.Errorf("something (%s) is mounted on %s already", f[0], dir)
		}
	}
	return nil
}
