//go:build linux

package run

import (
	"os"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"
)

// The clients of a real database have their own CPUs. Here they share the engine's, so they get a
// higher priority than the engine: a client that waits for a CPU to send an operation, or to
// receive its answer, would measure this machine's scheduler. They need little time. The daemon
// that serves the volumes has the highest priority.
const (
	clientNice  = -10
	programNice = 0
)

// processorsLeast is the minimum number of threads that may run Go code concurrently. With one for
// each of two CPUs, a thread that returns from the kernel may wait up to 10 ms until the runtime
// notices it.
const processorsLeast = 8

// processors allows more threads than there are CPUs until undo is called.
func processors() (undo func()) {
	before := runtime.GOMAXPROCS(max(processorsLeast, runtime.NumCPU()+1))
	return func() { runtime.GOMAXPROCS(before) }
}

// prioritize sets the niceness of all threads of this process; new threads inherit it. Without the
// privilege, nothing changes.
func prioritize(nice int) {
	for range 2 { // the second pass finds threads started during the first
		tasks, err := os.ReadDir("/proc/self/task")
		if err != nil {
			return
		}
		for _, task := range tasks {
			if id, err := strconv.Atoi(task.Name()); err == nil {
				_ = unix.Setpriority(unix.PRIO_PROCESS, id, nice)
			}
		}
	}
}
