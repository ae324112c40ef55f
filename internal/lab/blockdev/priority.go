//go:build linux

package blockdev

import (
	"os"
	"runtime"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// processorsLeast is how many threads may run Go code at a time, at least. Nearly all are in the
// kernel, taking a request or answering one, and while one is there what it would run next waits
// until the scheduler's monitor notices, 20 us to 10 ms, unless another may take that on. Each
// device has some that wait for requests.
const processorsLeast = 64

// Prioritize makes this process fit to be a disk, for as long as it lives: it runs before what uses
// the disk even if all cores are busy, and the kernel does not ask it for memory by writing to the
// very disk that it serves. To be called once by a process that serves devices and does little
// else. What the process has no right to stays as it is.
//
// Its threads are real-time ones (SCHED_RR at the lowest priority): with the highest of ordinary
// priorities a thread whose request was due still waited for a core, up to milliseconds beside a
// busy database. What the kernel keeps for others of each second (sched_rt_runtime_us) bounds what
// that can take from them. There should be one such process on a machine: the kernel moves
// real-time threads between cores at every wake-up, and five processes with them doubled the
// machine's work and the latency of a cluster of five.
func Prioritize() {
	runtime.GOMAXPROCS(max(processorsLeast, runtime.GOMAXPROCS(0)))
	// Not in programs with cgo, where it is a matter of memory pressure only.
	_, _, _ = syscall.AllThreadsSyscall6(syscall.SYS_PRCTL, unix.PR_SET_IO_FLUSHER, 1, 0, 0, 0, 0)
	for range 2 { // threads that were begun meanwhile; later ones have what began them has
		tasks, err := os.ReadDir("/proc/self/task")
		if err != nil {
			return
		}
		for _, task := range tasks {
			id, err := strconv.Atoi(task.Name())
			if err != nil {
				continue
			}
			_ = unix.Setpriority(unix.PRIO_PROCESS, id, -20)
			_ = unix.SchedSetAttr(id, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_RR, Priority: 1}, 0)
		}
	}
}
