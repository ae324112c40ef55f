package blockdev

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Abort ends the file system in user space that is mounted on dir: whatever waits for it gets an error. A process that
// is killed while it waits for its own device can only die so: it holds the connection that it waits for, and the
// wait cannot be interrupted. Nothing happens where nothing is mounted.
func Abort(dir string) error {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return err
	}
	number, ok := connection(string(text), dir)
	if !ok {
		return nil
	}
	const control = "/sys/fs/fuse/connections"
	err = abortBy(control, number)
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	// Nobody has mounted the control file system here: for this once.
	at, err := os.MkdirTemp("", "plimsoll-fusectl-")
	if err != nil {
		return err
	}
	defer os.Remove(at)
	if err := unix.Mount("fusectl", at, "fusectl", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("ending what serves %s: %w", dir, err)
	}
	err = abortBy(at, number)
	if errors.Is(err, fs.ErrNotExist) { // it has ended
		err = nil
	}
	return errors.Join(err, unix.Unmount(at, unix.MNT_DETACH))
}

func abortBy(control string, number int) error {
	return os.WriteFile(filepath.Join(control, strconv.Itoa(number), "abort"), []byte("1"), 0)
}

// connection is the number of the FUSE connection behind the mount on dir: its device's minor number
// (Documentation/filesystems/fuse.rst). mountinfo is described in proc(5).
func connection(mountinfo, dir string) (number int, ok bool) {
	for line := range strings.Lines(mountinfo) {
		before, after, found := strings.Cut(line, " - ")
		f := strings.Fields(before)
		if !found || len(f) < 5 || f[4] != dir || !strings.HasPrefix(after, "fuse") {
			continue
		}
		_, minor, _ := strings.Cut(f[2], ":")
		if n, err := strconv.Atoi(minor); err == nil && n > 0 {
			number, ok = n, true // the uppermost is the last
		}
	}
	return number, ok
}
