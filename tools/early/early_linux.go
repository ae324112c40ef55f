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

// pipesFree is how many pipes must fit: one of go-fuse's, and as much again for Go's poller. Pipes need no
// file system: an image from scratch may lack even /dev/null.
const pipesFree = 2

func init() {
	if err := free(pipesFree); err != nil {
		text := "plimsoll: cannot open files: " + err.Error()
		var limit syscall.Rlimit
		if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) == nil {
			text += ": the limit is " + strconv.FormatUint(limit.Cur, 10) + " (ulimit -n): raise it to 64 or more"
		}
		_, _ = os.Stderr.WriteString(text + "\n")
		os.Exit(1)
	}
}

// free reports whether this many pipes can be open together.
func free(count int) error {
	for range count {
		var ends [2]int
		if err := syscall.Pipe2(ends[:], syscall.O_CLOEXEC); err != nil {
			return err
		}

		defer func() {
			_ = syscall.Close(ends[0])
			_ = syscall.Close(ends[1])
		}()
	}
	return nil
}
