//go:build linux

package blockdev

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// Abort ends the file system in user space that is mounted on dir: whatever waits for it gets an
// error. A process that is killed while it waits for its own device can only die so: it holds the
// connection that it waits for, and the wait cannot be interrupted. Nothing happens where nothing
// is mounted.
func Abort(dir string) error {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return err
	}
	if !userSpace(string(text), dir) {
		return nil
	}
	// By force all requests fail (fuse_umount_begin, fs/fuse/inode.c); then it is in use, as a
	// rule.
	if err := unix.Unmount(dir, unix.MNT_FORCE); err != nil && !errors.Is(err, unix.EBUSY) {
		return fmt.Errorf("ending what serves %s: %w", dir, err)
	}
	return nil
}

// userSpace reports whether the uppermost mount on dir is a file system in user space. mountinfo is
// described in proc(5).
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
