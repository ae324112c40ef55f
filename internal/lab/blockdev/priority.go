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
// kernel, taking a request or answering one. What such a thread would run next waits until the
// scheduler's monitor notices, 20 us to 10 ms, unless another thread may take it over. Each device
// has some that wait for requests.
const processorsLeast = 64

// Prioritize makes this process fit to be a disk, for as long as it lives: it runs before the
// disk's users even if all cores are busy, and the kernel does not make it free memory by writing
// to the very disk that it serves. Call it once in a process that serves devices and does little
// else. Where the process lacks the privilege, nothing changes.
//
// Its threads are real-time threads (SCHED_RR at the lowest priority). With the highest ordinary
// priority, a thread whose request was due still waited for a core, up to milliseconds next to a
// busy database. The part of each second that the kernel reserves for others (sched_rt_runtime_us)
// bounds how much this can take from them. Run only one such process per machine: the kernel moves
// real-time threads between cores at every wake-up, and five such processes doubled the machine's
// work and the latency of a cluster of five.
func Prioritize() {
	runtime.GOMAXPROCS(max(processorsLeast, runtime.GOMAXPROCS(0)))

	// Fails in programs with cgo; it only matters under memory pressure.
	_, _, _ = syscall.AllThreadsSyscall6(syscall.SYS_PRCTL, unix.PR_SET_IO_FLUSHER, 1, 0, 0, 0, 0)
	for range 2 { // the second pass finds threads started during the first; later ones inherit it
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
			_ = unix.SchedSetAttr(id, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_RR,
				Priority: 1}, 0)
		}
	}
}
