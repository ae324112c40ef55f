//go:build linux

package probe

import (
	"errors"
	"fmt"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"plimsoll/internal/lab/ioloop"
)

// Commands of Linux' asynchronous I/O, linux/aio_abi.h.
const (
	aioRead  = 0
	aioWrite = 1
)

// An iocb is struct iocb of linux/aio_abi.h on a little-endian machine, where aio_key comes before
// aio_rw_flags.
type iocb struct {
	data   uint64
	_      uint32 // aio_key
	_      int32  // aio_rw_flags
	opcode uint16
	_      int16 // aio_reqprio
	fd     uint32
	buffer uint64
	bytes  uint64
	offset int64
	_      uint64
	_, _   uint32 // aio_flags, aio_resfd
}

// An event is struct io_event.
type event struct {
	data, object uint64
	result       int64
	_            int64
}

// A queue keeps direct I/O in flight from a single thread.
type queue struct {
	context uintptr
	blocks  []iocb
	submit  []*iocb
	events  []event
	memory  []byte
}

// newQueue creates a queue of this depth, with a buffer of this size for each slot.
func newQueue(depth, bytes int) (*queue, error) {
	q := &queue{blocks: make([]iocb, depth), submit: make([]*iocb, 0, depth), events: make([]event, depth)}
	var err error
	stride := int(ioloop.Aligned(int64(bytes)))

	if q.memory, err = ioloop.Buffer(int64(depth * stride)); err != nil {
		return nil, fmt.Errorf("probe: %w", err)
	}

	for i := range q.blocks {
		q.blocks[i].buffer = uint64(uintptr(unsafe.Pointer(&q.memory[i*stride])))
		q.blocks[i].bytes = uint64(bytes)
		q.blocks[i].data = uint64(i)
	}

	if _, _, errno := unix.Syscall(unix.SYS_IO_SETUP, uintptr(depth), uintptr(unsafe.Pointer(&q.context)),
		0); errno != 0 {
		return nil,
			errors.Join(
				fmt.Errorf("probe: cannot set up asynchronous I/O with %d in flight: %w; the limit is fs.aio-max-nr",
					depth, errno), unix.Munmap(q.memory))
	}

	return q, nil
}

// add prepares an operation in slot i for the next send.
func (q *queue) add(i, fd int, opcode uint16, offset int64) {
	b := &q.blocks[i]
	b.fd, b.opcode, b.offset = uint32(fd), opcode, offset
	q.submit = append(q.submit, b)
}

// send submits the prepared operations.
func (q *queue) send() error {
	left := q.submit
	for len(left) > 0 {
		n, _, errno := unix.Syscall(unix.SYS_IO_SUBMIT, q.context, uintptr(len(left)),
			uintptr(unsafe.Pointer(&left[0])))
		if errno == unix.EINTR || errno == unix.EAGAIN {
			continue
		}
		if errno != 0 {
			return fmt.Errorf("probe: cannot submit I/O: %w", errno)
		}
		left = left[n:]
	}
	q.submit = q.submit[:0]
	return nil
}

// reap waits for at least one operation to finish, up to the timeout, and returns all that have.
func (q *queue) reap(timeout time.Duration) ([]event, error) {
	ts := unix.NsecToTimespec(max(int64(timeout), 0))
	n, _, errno := unix.Syscall6(unix.SYS_IO_GETEVENTS, q.context, 1, uintptr(len(q.events)),
		uintptr(unsafe.Pointer(&q.events[0])), uintptr(unsafe.Pointer(&ts)), 0)
	if errno == unix.EINTR {
		return nil, nil
	}
	if errno != 0 {
		return nil, fmt.Errorf("probe: cannot wait for I/O: %w", errno)
	}
	return q.events[:n], nil
}

// close waits for operations in flight and frees the queue.
func (q *queue) close() error {
	_, _, errno := unix.Syscall(unix.SYS_IO_DESTROY, q.context, 0, 0)
	if errno != 0 {
		// The kernel may still write into the memory, so it is not freed.
		return fmt.Errorf("probe: cannot end asynchronous I/O: %w", errno)
	}
	return unix.Munmap(q.memory)
}
