//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package recording

import (
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// A dirLock shows that a process is writing to a folder. The lock is on the folder itself, so it
// leaves no file behind and ends with the process in any case.
type dirLock struct{ dir *os.File }

// lockDir takes the lock, or fails if another process has it.
func lockDir(dir string) (*dirLock, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}

	// A reader that checks whether the folder is being written holds the lock for an instant.
	for try := 0; ; try++ {
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if !errors.Is(err, unix.EWOULDBLOCK) || try == 20 {
			break
		}
		time.Sleep(5 * time.Millisecond) //nolint:forbidigo // at most a tenth of a second in total
	}

	switch {
	case errors.Is(err, unix.EWOULDBLOCK):
		f.Close()
		return nil, fmt.Errorf("another process is recording to %s: wait until it ends, or give another folder",
			dir)
	case errors.Is(err, unix.ENOLCK), errors.Is(err, unix.ENOTSUP), errors.Is(err, unix.EINVAL),
		errors.Is(err, unix.EBADF):
		// The file system has no locks: continue without one.
	case err != nil:
		f.Close()
		return nil, fmt.Errorf("lock %s: %w", dir, err)
	}

	return &dirLock{f}, nil
}

func (l *dirLock) release() error { return l.dir.Close() }

// beingWritten reports whether a process holds the folder's lock.
func beingWritten(dir string) bool {
	f, err := os.Open(dir)
	if err != nil {
		return false
	}
	defer f.Close()
	return errors.Is(unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB), unix.EWOULDBLOCK)
}

// lockMarks waits for the lock of the file of marks. Writers hold it while they write one line, or
// 256.
func lockMarks(f *os.File) error {
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.ENOLCK), errors.Is(err, unix.ENOTSUP), errors.Is(err, unix.EINVAL),
			errors.Is(err, unix.EBADF):
			return nil // on a file system without locks, continue without one
		}
		return err
	}
}
