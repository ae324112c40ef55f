//go:build linux

package rollout

import (
	"errors"
	"io/fs"
	"strings"

	"golang.org/x/sys/unix"
)

// attributeBytesMax is the largest value of an extended attribute (Linux: XATTR_SIZE_MAX).
const attributeBytesMax = 64 << 10

// copyAttributes copies ACLs, SELinux labels and other extended attributes from one file to another. It
// skips those that the file system or the kernel refuses, except for ACLs: without them the engine may
// be unable to read its log.
func copyAttributes(from, to string) error {
	names := make([]byte, attributeBytesMax)
	n, err := unix.Llistxattr(from, names)
	if errors.Is(err, unix.ENOTSUP) {
		return nil
	}

	if err != nil {
		return &fs.PathError{Op: "listxattr", Path: from, Err: err}
	}

	value := make([]byte, attributeBytesMax)
	for name := range strings.SplitSeq(strings.TrimSuffix(string(names[:n]), "\x00"), "\x00") {
		if name == "" {
			continue
		}

		n, err := unix.Lgetxattr(from, name, value)
		if err != nil {
			return &fs.PathError{Op: "getxattr " + name, Path: from, Err: err}
		}

		err = unix.Lsetxattr(to, name, value[:n], 0)
		if refused := errors.Is(err, unix.ENOTSUP) || errors.Is(err, unix.EPERM) ||
			errors.Is(err, unix.EACCES); refused && !strings.HasPrefix(name, "system.posix_acl") {
			continue
		}
		if err != nil {
			return &fs.PathError{Op: "setxattr " + name, Path: to, Err: err}
		}
	}

	return nil
}
