//go:build linux

package probe

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"
)

// A bell rings when a program asks for the tracing process at once. Go's own poller waits for it, so no
// thread of Go's is held in the kernel.
type bell struct {
	file *os.File
	conn syscall.RawConn
}

func newBell(ring *ebpf.Map) (*bell, error) {
	fd, err := unix.FcntlInt(uintptr(ring.FD()), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("trace: the ring of events: %w", err)
	}
	err = unix.SetNonblock(fd, true) // Go polls nothing else
	file := os.NewFile(uintptr(fd), "ring of events")
	conn, err1 := file.SyscallConn()
	if err := errors.Join(err, err1, file.SetReadDeadline(time.Time{})); err != nil {
		return nil, fmt.Errorf("trace: the ring of events: %w", errors.Join(err, file.Close()))
	}
	return &bell{file, conn}, nil
}

// wait waits until it rings, until a time at the latest. It may miss a ring that comes as it begins.
func (b *bell) wait(until time.Time) error {
	if err := b.file.SetReadDeadline(until); err != nil {
		return fmt.Errorf("trace: the ring of events: %w", err)
	}
	rung := true
	err := b.conn.Read(func(uintptr) bool {
		rung = !rung
		return rung // at the second time
	})
	if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		return fmt.Errorf("trace: the ring of events: %w", err)
	}
	return nil
}
