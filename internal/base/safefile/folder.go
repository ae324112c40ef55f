package safefile

import "os"

// LockFolder locks an existing folder for a caller that writes several files into it, until unlock
// is called. It does not wait: busy means that another process, or another call, holds the lock. On
// a file system without locks it always succeeds. The lock is advisory.
func LockFolder(dir string) (unlock func(), busy bool, err error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, false, err
	}
	if _, held := tryLock(f); held {
		_ = f.Close()
		return nil, true, nil
	}
	return func() { _ = f.Close() }, false, nil
}
