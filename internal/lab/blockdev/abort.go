//go:build linux

package blockdev

import (
	"errors"
	"fmt"
	"strings"

	"golang.org/x/sys/unix"

	"plimsoll/internal/base/procfs"
)

// Abort ends the FUSE file system mounted on dir: all waiting requests fail with an error. There is
// no other way to end a process that was killed while waiting for its own device: it holds the
// connection that it waits for, and the wait is not interruptible. Abort does nothing if nothing is
// mounted.
func Abort(dir string) error {
	mounts, err := procfs.Mounts("self")
	if err != nil {
		return err
	}
	if !userSpace(mounts, dir) {
		return nil
	}
	// With MNT_FORCE all requests fail (fuse_umount_begin, fs/fuse/inode.c); the unmount itself
	// then usually returns EBUSY.
	if err := unix.Unmount(dir, unix.MNT_FORCE); err != nil && !errors.Is(err, unix.EBUSY) {
		return fmt.Errorf("cannot abort the file system on %s: %w", dir, err)
	}
	return nil
}

// userSpace reports whether the uppermost mount on dir is a FUSE file system.
func userSpace(mounts []*procfs.Mount, dir string) bool {
	fuse := false
	for _, m := range mounts {
		// Later lines are mounted on top of earlier ones, so the last match wins.
		if m.Mountpoint == dir {
			fuse = m.FSType == "fuse" || strings.HasPrefix(m.FSType, "fuse.")
		}
	}
	return fuse
}
