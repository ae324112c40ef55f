//go:build unix

package watch

import (
	"runtime"
	"syscall"
	"time"
)

// A Cost is the resources used by this process.
type Cost struct {
	CPU       time.Duration
	PeakBytes int64 // largest resident set
}

// ProcessCost returns the resources used by this process (getrusage); false if the kernel does not
// report them.
func ProcessCost() (Cost, bool) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return Cost{}, false
	}
	peak := int64(u.Maxrss) //nolint:unconvert // 32 bits on some machines
	if runtime.GOOS != "darwin" {
		peak *= 1024 // in KiB, except on macOS: getrusage(2)
	}
	return Cost{CPU: time.Duration(u.Utime.Nano() + u.Stime.Nano()), PeakBytes: peak}, true
}
