//go:build linux

package mount

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// LockRoot is the folder for machine-wide locks. It is separate from Root, because tests may use
// several Roots on one machine.
const LockRoot = "/run/plimsoll"

// Lock takes the machine-wide lock with this name, waiting while another process holds it. If it
// has to wait, it first calls waiting, unless that is nil. The lock is released by unlock, or when
// the process exits.
func Lock(ctx context.Context, name string, waiting func()) (unlock func(), err error) {
	if err := os.MkdirAll(LockRoot, 0o755); err != nil {
		return nil, err
	}

	f, err := os.OpenFile(filepath.Join(LockRoot, name+".lock"), os.O_RDWR|os.O_CREATE|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, err
	}

	for try := 0; ; try++ {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case err == nil:
			return func() { _ = f.Close() }, nil
		case !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR):
			_ = f.Close()
			return nil, fmt.Errorf("cannot lock %s: %w", f.Name(), err)
		case try == 0 && waiting != nil:
			waiting()
		}

		select {
		case <-ctx.Done():
			_ = f.Close()
			return nil, ctx.Err()
		// A blocking flock could not be interrupted by the context, so poll.
		case <-time.After(100 * time.Millisecond):
		}
	}
}
