//go:build linux

package probe

import (
	"runtime"
	"runtime/debug"
	"unsafe"

	"golang.org/x/sys/unix"
)

// raw makes a system call that moves data or waits for it, without telling Go's scheduler. Told, it
// gives the thread's right to run Go code to another after 20 us and has to find one again at the
// end, which was 30 us of each operation: on an emulated volume of 0.6 ms the probe did 1,366 reads
// a second, and 1,443 so, where fio did 1,431 and 1,406. Who calls it is to run within
// [undisturbed].
func raw(call uintptr, fd int, data []byte, at int64) (int, error) {
	n, _, errno := unix.RawSyscall6(call, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(data))), uintptr(len(data)), uintptr(at), 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}

// memoryMost is what the program may take until it collects garbage all the same: many times what
// the samples of all streams are.
const memoryMost = 1 << 30

// undisturbed has so many threads in calls of the kernel of which the scheduler knows nothing: each
// keeps its right to run, so there is one more for each, and collecting garbage, which stops all,
// would wait for the slowest of them and have the others wait with it. end makes it as it was.
func undisturbed(streams int) (end func()) {
	processors := runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + streams)
	limit := debug.SetMemoryLimit(memoryMost)
	percent := debug.SetGCPercent(-1)
	return func() {
		debug.SetGCPercent(percent)
		debug.SetMemoryLimit(limit)
		runtime.GOMAXPROCS(processors)
	}
}
