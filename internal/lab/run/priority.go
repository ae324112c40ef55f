//go:build linux

package run

import (
	"os"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"
)

// The clients of a real database have cores of their own. Here they share the engine's, so they run
// before it: who waits for a core to send what is due, or to hear that it is done, would measure
// this machine's scheduler. They take little. The process that serves the volumes comes before
// both.
const (
	clientNice  = -10
	programNice = 0
)

// processorsLeast is how many threads may run Go code at a time, at least: with one for each of two
// cores a thread that comes back from the kernel may wait up to 10 ms for the runtime to notice.
const processorsLeast = 8

// processors lets more threads run than there are cores, until the function it gives is called.
func processors() (undo func()) {
	before := runtime.GOMAXPROCS(max(processorsLeast, runtime.NumCPU()+1))
	return func() { runtime.GOMAXPROCS(before) }
}

// prioritize gives all threads of this process a niceness. Without the right to it they stay as
// they are. What is started meanwhile has it as well.
func prioritize(nice int) {
	for range 2 { // threads that were begun meanwhile
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
