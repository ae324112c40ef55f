//go:build unix

package main

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
)

// cpuSeconds is the CPU time that this process has used.
func cpuSeconds() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

// peakKB is the largest resident size this process has had.
func peakKB() int64 {
	// VmHWM in /proc starts with the program, if there is a /proc; getrusage also counts the
	// process that it was forked from.
	status, err := os.ReadFile("/proc/self/status")
	if err == nil {
		for line := range strings.Lines(string(status)) {
			if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
				kb, _ := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
				return kb
			}
		}
	}

	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}

	return maxrssKB(&u)
}

// peakOf is the largest resident size of a process that has ended.
func peakOf(p *os.ProcessState) int64 {
	if u, ok := p.SysUsage().(*syscall.Rusage); ok {
		return maxrssKB(u)
	}
	return 0
}

func maxrssKB(u *syscall.Rusage) int64 {
	if runtime.GOOS == "darwin" { // counts bytes
		return int64(u.Maxrss) / 1024
	}
	return int64(u.Maxrss)
}
