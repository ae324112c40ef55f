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

// tryLock locks a file until it is closed. ok means that we hold the lock, held that another writer
// does. If both are false, the file system has no locks.
func tryLock(f *os.File) (ok, held bool) {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	return err == nil, errors.Is(err, syscall.EWOULDBLOCK)
}
