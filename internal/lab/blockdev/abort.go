//go:build linux

package blockdev

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// Abort ends the FUSE file system that is mounted on dir: everything that waits for it gets an
// error. A process that was killed while it waits for its own device can end in no other way: it
// holds the connection that it waits for, and the wait cannot be interrupted. Abort does nothing if
// nothing is mounted.
func Abort(dir string) error {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return err
	}
	if !userSpace(string(text), dir) {
		return nil
	}
	// With MNT_FORCE all requests fail (fuse_umount_begin, fs/fuse/inode.c); the unmount itself
	// then usually returns EBUSY.
	if err := unix.Unmount(dir, unix.MNT_FORCE); err != nil && !errors.Is(err, unix.EBUSY) {
		return fmt.Errorf("ending what serves %s: %w", dir, err)
	}
	return nil
}

// userSpace reports whether the uppermost mount on dir is a FUSE file system. proc(5) describes
// mountinfo.
func userSpace(mountinfo, dir string) bool {
	fuse := false
	for line := range strings.Lines(mountinfo) {
		before, after, found := strings.Cut(line, " - ")
		if f := strings.Fields(before); found && len(f) >= 5 && f[4] == dir {
			fuse = strings.HasPrefix(after, "fuse.") || strings.HasPrefix(after, "fuse ")
		}
	}
	return fuse
}
