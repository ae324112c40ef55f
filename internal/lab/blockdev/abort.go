//go:build linux

package blockdev

import (
	"errors"
	"fmt"
	"strings"

	"golang.org/x/sys/unix"

	"plimsoll/internal/base/procfs"
)

// Abort ends the FUSE file system that is mounted on dir: everything that waits for it gets an
// error. A process that was killed while it waits for its own device can end in no other way: it
// holds the connection that it waits for, and the wait cannot be interrupted. Abort does nothing if
// nothing is mounted.
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
		return fmt.Errorf("ending what serves %s: %w", dir, err)
	}
	return nil
}

// userSpace reports whether the uppermost mount on dir is a FUSE file system.
func userSpace(mounts []*procfs.Mount, dir string) bool {
	fuse := false
	for _, m := range mounts {
		if m.Mountpoint == dir {
			fuse = m.FSType == "fuse" || strings.HasPrefix(m.FSType, "fuse.")
		}
	}
	return fuse
}
