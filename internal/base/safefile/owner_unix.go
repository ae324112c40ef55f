//go:build unix

package safefile

import (
	"io/fs"
	"os"
	"syscall"
)

const openNonblock = syscall.O_NONBLOCK

// keepOwner gives a file the owner and group of the one it replaces. Only root may set an owner, so
// that an error is not one.
func keepOwner(f *os.File, old fs.FileInfo) {
	was, ok := old.Sys().(*syscall.Stat_t)
	if !ok {
		return
	}
	if err := f.Chown(int(was.Uid), int(was.Gid)); err != nil {
		_ = f.Chown(-1, int(was.Gid))
	}
}
