//go:build linux

package blockdev

import (
	"os"
	"runtime"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// processorsLeast is the minimum number of threads that may run Go code concurrently. Nearly all of
// them are in the kernel, receiving or answering a request. While such a thread blocks, the next
// goroutine on it waits until Go's monitor notices, 20 us to 10 ms, unless another thread can take
// it over. Each device has several threads that wait for requests.
const processorsLeast = 64

// Prioritize makes this process suitable as a disk for the rest of its life: it runs before the
// disk's users even if all CPUs are busy, and under memory pressure the kernel does not make it
// write to the very disk that it serves. Call it once, in a process that serves devices and does
// little else. Without the required privileges, nothing changes.
//
// Its threads get real-time priority (SCHED_RR, lowest level). At the highest normal priority, a
// thread with a due request still waited for a CPU, up to several milliseconds next to a busy
// database. The share of each second that the kernel reserves for other threads
// (sched_rt_runtime_us) bounds the effect on them. Run only one such process per machine: the
// kernel migrates real-time threads between CPUs at every wakeup, and five such processes doubled
// the machine's work and the latency of a five-member cluster.
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
