package trace

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// What the scheduler is told of this process: a weight of a tenth, and turns of 0.1 ms, the
// shortest that Linux has (since 6.12; kernel/sched/syscalls.c). Else a thread of what is traced
// waits for some milliseconds until this process has done what it woke up for.
const (
	niceness = 10
	turn     = 100 * time.Microsecond
)

// GiveWay makes the threads of this process wait for their turn (SCHED_BATCH), with a small share
// and short turns: a thread that wakes up to read events does not interrupt what is being traced,
// and does not hold it up. It needs no rights. Threads that start later inherit it.
func GiveWay() error {
	// A thread that is still as before may start another one meanwhile.
	for {
		changed, err := giveWay()
		if err != nil || changed == 0 {
			return err
		}
	}
}

// giveWay sets the policy of the threads that there are and do not have it, and returns how many those
// were.
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
			attr.Runtime = uint64(turn)
			err = unix.SchedSetAttr(tid, attr, 0)
			changed++
		}

		if err != nil && !errors.Is(err, unix.ESRCH) { // it has ended
			return changed, fmt.Errorf("the scheduling of thread %d: %w", tid, err)
		}
	}

	return changed, nil
}
