//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package safefile

import (
	"errors"
	"os"
	"syscall"
)

// renamesOpen says that an open file can be renamed, so that it is locked until it has its name.
const renamesOpen = true

// tryLock locks a file until it is closed. held means that another writer has the lock; ok that it is
// ours. Neither means that the file system has no locks.
func tryLock(f *os.File) (ok, held bool) {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	return err == nil, errors.Is(err, syscall.EWOULDBLOCK)
}
