//go:build linux

package run

import (
	"os"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"
)

// The clients of a real database have cores of their own. Here they share the engine's cores, so
// they get a higher priority than the engine: a client that waits for a core to send an operation,
// or to receive its answer, would measure this machine's scheduler. They need little time. The
// process that serves the volumes has the highest priority.
const (
	clientNice  = -10
	programNice = 0
)

// processorsLeast is how many threads may run Go code at the same time, at least. With one for each
// of two cores, a thread that returns from the kernel may wait up to 10 ms until the runtime
// notices it.
const processorsLeast = 8

// processors allows more threads than there are cores until undo is called.
func processors() (undo func()) {
	before := runtime.GOMAXPROCS(max(processorsLeast, runtime.NumCPU()+1))
	return func() { runtime.GOMAXPROCS(before) }
}

// prioritize sets the niceness of all threads of this process; new threads inherit it. Without the
// privilege the threads stay as they are.
func prioritize(nice int) {
	for range 2 { // the second pass finds threads that were started during the first
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
