//go:build linux

package tracer

import (
	"golang.org/x/sys/unix"

	"plimsoll/internal/trace/events"
)

// ringOperations are the equivalent io_uring operations by number (linux/io_uring.h).
var ringOperations = map[int]events.Kind{
	1: events.Read, 2: events.Write, 3: events.Fsync, 4: events.Read, 5: events.Write, 8: events.SyncFileRange,
	22: events.Read, 23: events.Write,
}

// systemCalls are the traced system calls by their numbers on this architecture.
var systemCalls = map[int]events.Kind{
	unix.SYS_FSYNC:           events.Fsync,
	unix.SYS_FDATASYNC:       events.Fdatasync,
	unix.SYS_SYNC_FILE_RANGE: events.SyncFileRange,
	unix.SYS_SYNCFS:          events.Sync,
	unix.SYS_SYNC:            events.Sync,
	unix.SYS_MSYNC:           events.Msync,
	unix.SYS_WRITE:           events.Write,
	unix.SYS_PWRITE64:        events.Write,
	unix.SYS_WRITEV:          events.Write,
	unix.SYS_PWRITEV:         events.Write,
	unix.SYS_PWRITEV2:        events.Write,
	unix.SYS_READ:            events.Read,
	unix.SYS_PREAD64:         events.Read,
	unix.SYS_READV:           events.Read,
	unix.SYS_PREADV:          events.Read,
	unix.SYS_PREADV2:         events.Read,
}
