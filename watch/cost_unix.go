//go:build unix

package watch

import (
	"runtime"
	"syscall"
	"time"
)

// A Cost is what this process has used.
type Cost struct {
	CPU       time.Duration
	PeakBytes int64 // largest resident set
}

// ProcessCost asks the kernel what this process has used (getrusage); false where it does not tell.
func ProcessCost() (Cost, bool) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return Cost{}, false
	}
	peak := int64(u.Maxrss) * 1024
	if runtime.GOOS == "darwin" {
		peak = int64(u.Maxrss) // in bytes there: getrusage(2)
	}
	return Cost{CPU: time.Duration(u.Utime.Nano() + u.Stime.Nano()), PeakBytes: peak}, true
}
