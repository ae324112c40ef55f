package safefile

import "os"

// LockFolder locks an existing folder for one that writes several files into it, until unlock is called.
// It does not wait: busy means that another process, or another call, has the lock. Where there are no
// locks, it is free. What somebody writes without asking for the lock is not kept out.
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
