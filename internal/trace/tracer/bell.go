//go:build linux

package tracer

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"
)

// A bell rings when an eBPF program needs the tracing process immediately. Go's own poller waits
// for it, so no OS thread is blocked in the kernel.
type bell struct {
	file *os.File
	conn syscall.RawConn
}

func newBell(ring *ebpf.Map) (*bell, error) {
	fd, err := unix.FcntlInt(uintptr(ring.FD()), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("trace: cannot wait for the event ring: %w", err)
	}
	err = unix.SetNonblock(fd, true) // Go only polls nonblocking files
	file := os.NewFile(uintptr(fd), "ring of events")
	conn, err1 := file.SyscallConn()
	if err := errors.Join(err, err1, file.SetReadDeadline(time.Time{})); err != nil {
		return nil, fmt.Errorf("trace: cannot wait for the event ring: %w", errors.Join(err, file.Close()))
	}
	return &bell{file, conn}, nil
}

// wait returns when the bell rings, or at a deadline. It may miss a ring that arrives just as it
// begins.
func (b *bell) wait(until time.Time) error {
	if err := b.file.SetReadDeadline(until); err != nil {
		return fmt.Errorf("trace: cannot wait for the event ring: %w", err)
	}
	rung := true
	err := b.conn.Read(func(uintptr) bool {
		rung = !rung
		return rung // false the first time, so that Read waits once
	})
	if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		return fmt.Errorf("trace: cannot wait for the event ring: %w", err)
	}
	return nil
}
