//go:build linux

// Package early checks, before any other package is initialized, what their initialization needs. Go
// initializes packages in the order of their paths, so it is a module whose path comes before those of
// libraries.
//
// github.com/hanwen/go-fuse/v2/splice opens a pipe as it is initialized, and panics if it cannot.
package early

import (
	"os"
	"strconv"
	"syscall"
)

// filesFree is how many files a command opens at least: a pipe, and a pair for Go's poller.
const filesFree = 4

func init() {
	if err := free(filesFree); err != nil {
		text := "plimsoll: cannot open files: " + err.Error()
		var limit syscall.Rlimit
		if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) == nil {
			text += ": the limit is " + strconv.FormatUint(limit.Cur, 10) + " (ulimit -n): raise it to 64 or more"
		}
		_, _ = os.Stderr.WriteString(text + "\n")
		os.Exit(1)
	}
}

// free reports whether this many files can be opened.
func free(count int) error {
	for range count {
		file, err := syscall.Open("/dev/null", syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer func() { _ = syscall.Close(file) }()
	}
	return nil
}
