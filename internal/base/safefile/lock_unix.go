//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package safefile

import (
	"errors"
	"os"
	"syscall"
)

// renamesOpen means that an open file can be renamed, so it stays locked until it has its final
// name.
const renamesOpen = true

// flock locks a file or a folder until it is closed, for readers or for one writer. ok means that we hold the
// lock, held that another process does. If both are false without an error, the file system has no locks.
func flock(f *os.File, shared, wait bool) (ok, held bool, err error) {
	how := syscall.LOCK_EX
	if shared {
		how = syscall.LOCK_SH
	}
	if !wait {
		how |= syscall.LOCK_NB
	}

	err = syscall.EINTR
	for errors.Is(err, syscall.EINTR) {
		err = syscall.Flock(int(f.Fd()), how)
	}

	switch {
	case errors.Is(err, syscall.EWOULDBLOCK):
		return false, true, nil
	case errors.Is(err, syscall.ENOLCK), errors.Is(err, syscall.ENOTSUP), errors.Is(err, syscall.EINVAL),
		errors.Is(err, syscall.EBADF):
		return false, false, nil
	}
	return err == nil, false, err
}
