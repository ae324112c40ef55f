package trace

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// Scheduling parameters of this process: a tenth of the normal weight, and slices of 0.1 ms, the
// shortest that Linux allows (since 6.12; kernel/sched/syscalls.c). With longer slices, a traced
// thread would wait several milliseconds for this process to finish.
const (
	niceness = 10
	slice    = 100 * time.Microsecond
)

// GiveWay lowers the scheduling priority of all threads of this process (SCHED_BATCH, small weight,
// short slices), so that a thread that wakes up to read events neither preempts nor delays the
// traced programs. It needs no privileges. Threads that start later inherit it.
func GiveWay() error {
	// A thread that has not been changed yet may start another one in the meantime.
	for {
		changed, err := giveWay()
		if err != nil || changed == 0 {
			return err
		}
	}
}

// giveWay changes the existing threads that still have the default policy and returns their number.
func giveWay() (changed int, err error) {
	entries, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return 0, err
	}

	for _, e := range entries {
		tid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}

		attr, err := unix.SchedGetAttr(tid, 0)
		if err == nil && attr.Policy == unix.SCHED_NORMAL {
			attr.Policy = unix.SCHED_BATCH
			attr.Nice = max(attr.Nice, niceness)
			attr.Runtime = uint64(slice)
			err = unix.SchedSetAttr(tid, attr, 0)
			changed++
		}

		if err != nil && !errors.Is(err, unix.ESRCH) { // the thread has ended
			return changed, fmt.Errorf("cannot set the scheduling policy of thread %d: %w", tid, err)
		}
	}

	return changed, nil
}
