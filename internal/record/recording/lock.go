package recording

import (
	"fmt"
	"os"
	"time"

	"plimsoll/internal/base/safefile"
)

// lockDir takes the lock of a folder, which shows that a process is writing to it, or fails if another
// process has it. The lock is on the folder itself, so it leaves no file behind and ends when the returned
// file is closed, or with the process in any case.
func lockDir(dir string) (*os.File, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}

	// A reader that checks whether the folder is being written holds the lock for an instant.
	held, err := safefile.TryLock(f)
	for try := 0; held && try < 20; try++ {
		time.Sleep(5 * time.Millisecond) //nolint:forbidigo // at most a tenth of a second in total
		held, err = safefile.TryLock(f)
	}

	switch {
	case held:
		f.Close()
		return nil, fmt.Errorf("another process is recording to %s: wait until it ends, or give another folder",
			dir)
	case err != nil:
		f.Close()
		return nil, fmt.Errorf("lock %s: %w", dir, err)
	}
	return f, nil
}

// beingWritten reports whether a process holds the folder's lock.
func beingWritten(dir string) bool {
	f, err := os.Open(dir)
	if err != nil {
		return false
	}
	defer f.Close()
	return safefile.IsLocked(f)
}
