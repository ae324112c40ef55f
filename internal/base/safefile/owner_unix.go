//go:build unix

package safefile

import (
	"io/fs"
	"os"
	"syscall"
)

const openNonblock = syscall.O_NONBLOCK

// keepOwner gives a file the owner and group of the file it replaces, if possible. Only root may
// set an owner, so failing to do so is not an error.
func keepOwner(f *os.File, old fs.FileInfo) {
	was, ok := old.Sys().(*syscall.Stat_t)
	if !ok {
		return
	}
	if err := f.Chown(int(was.Uid), int(was.Gid)); err != nil {
		_ = f.Chown(-1, int(was.Gid))
	}
}
