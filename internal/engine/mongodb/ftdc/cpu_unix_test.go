//go:build unix

package ftdc

import (
	"testing"

	"golang.org/x/sys/unix"
)

// cpuSeconds is the CPU time of this process. Unlike wall-clock time, it is hardly affected by
// other load on the machine.
func cpuSeconds() float64 {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

// reportCPU reports compressed megabytes per second of CPU time.
func reportCPU(b *testing.B, size int64, before float64) {
	if used := cpuSeconds() - before; used > 0 {
		b.ReportMetric(float64(size)*float64(b.N)/used/1e6, "MB/cpu-s")
	}
}
