//go:build linux

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

	"plimsoll/internal/model/kernel"
)

// A file system's tools and options. What mkfs would leave for the kernel to do later in the
// background (ext4's inode tables) is not done at all, because it would compete with what is
// measured.
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

// flags are mount options that the system call takes separately from the file system's own.
var flags = map[string]uintptr{
	"noatime": unix.MS_NOATIME, "relatime": unix.MS_RELATIME, "strictatime": unix.MS_STRICTATIME, "nodiratime": unix.MS_NODIRATIME,
	"lazytime": unix.MS_LAZYTIME, "sync": unix.MS_SYNCHRONOUS, "dirsync": unix.MS_DIRSYNC,
}

func mountFileSystem(fs, device, dir string, options kernel.MountOptions) error {
	var set uintptr
	var own []string
	if usual := fileSystems[fs].options; usual != "" {
		own = append(own, usual)
	}
	for _, option := range options.List() {
		if flag, ok := flags[option]; ok {
			set |= flag
		} else {
			own = append(own, option)
		}
	}
	if err := unix.Mount(device, dir, fs, set, strings.Join(own, ",")); err != nil {
		if options != "" && errors.Is(err, unix.EINVAL) {
			return fmt.Errorf("mounting %s (%s) on %s: the kernel refuses the mount options %s", device, fs, dir, options)
		}
		return fmt.Errorf("mounting %s (%s) on %s: %w", device, fs, dir, err)
	}
	return os.Chmod(dir, 0o777) // the database does not run as root
}

// errBusy is the error of unmounting a mount in use.
var errBusy = errors.New("in use")

// unmountFileSystem unmounts, waiting briefly for processes that are about to exit.
func unmountFileSystem(ctx context.Context, device, dir string) error {
	const tries = 20
	for try := 1; ; try++ {
		if on, err := mountedOn(dir); err != nil || on != device { // somebody else has unmounted it
			return err
		}
		err := unix.Unmount(dir, 0)
		switch {
		case err == nil, errors.Is(err, unix.EINVAL): // not mounted
			return nil
		case !errors.Is(err, unix.EBUSY):
			return fmt.Errorf("unmounting %s: %w", dir, err)
		case try == tries || ctx.Err() != nil:
			return fmt.Errorf("%s is %w: stop the processes that use it (fuser -vm %s)", dir, errBusy, dir)
		}
		select {
		case <-ctx.Done():
		case <-time.After(50 * time.Millisecond): // the kernel sends no event for this
		}
	}
}

// detachFileSystem removes a mount even if it is in use: operations on open files will fail.
func detachFileSystem(device, dir string) error {
	for {
		on, err := mountedOn(dir)
		if err != nil || on != device {
			return err
		}
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			return fmt.Errorf("unmounting %s: %w", dir, err)
		}
	}
}

// mountedOn returns the device of the uppermost mount on a folder, "/dev/loop3"; "" if there is
// none.
func mountedOn(dir string) (device string, err error) {
	mounts, err := mounted()
	for _, m := range mounts {
		if m.dir == dir {
			device = m.device
		}
	}
	return device, err
}

// A mountPoint is a line of /proc/self/mounts.
type mountPoint struct{ device, dir string }

// mounted returns all mounts that this process sees, the uppermost on a folder last.
func mounted() ([]mountPoint, error) {
	text, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		return nil, err
	}
	var out []mountPoint
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) > 1 {
			out = append(out, mountPoint{f[0], mountEscapes.Replace(f[1])})
		}
	}
	return out, nil
}

// mountEscapes are the characters that the kernel writes in octal there (seq_file's " \t\n\\").
var mountEscapes = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)

// Free reports why nothing can be mounted on a folder: it does not exist, is not empty, or is a
// mount point.
func Free(dir string) error {
	on, err := mountedOn(dir)
	if err == nil && on != "" {
		err = fmt.Errorf("%s is already mounted on %s", on, dir)
	}
	if err != nil {
		return err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("the mount point: %w", err)
	}
	if len(entries) > 0 {
		return fmt.Errorf("the mount point %s is not empty: name an empty folder", dir)
	}
	return nil
}
