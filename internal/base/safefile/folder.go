package safefile

import (
	"errors"
	"os"
)

// LockFolder locks an existing folder for a caller that writes several files into it, until unlock
// is called. It does not wait: busy means that another process, or another call, holds the lock. On
// a file system without locks it always succeeds. The lock is advisory.
func LockFolder(dir string) (unlock func(), busy bool, err error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, false, err
	}
	if _, held, _ := flock(f, false, false); held {
		_ = f.Close()
		return nil, true, nil
	}
	return func() { _ = f.Close() }, false, nil
}

// TryLock locks a file or a folder until it is closed. It does not wait: held means that another process
// holds the lock. On a file system without locks it always succeeds. The lock is advisory.
func TryLock(f *os.File) (held bool, err error) {
	_, held, err = flock(f, false, false)
	return held, err
}

// IsLocked reports whether another process holds the lock of a file or a folder.
func IsLocked(f *os.File) bool {
	_, held, _ := flock(f, true, false)
	return held
}

// WaitLock is TryLock, but waits for the lock.
func WaitLock(f *os.File) error {
	_, held, err := flock(f, false, true)
	if held {
		return errors.New("another process holds the lock")
	}
	return err
}
