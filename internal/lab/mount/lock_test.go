//go:build linux

package mount

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
)

// TestLock: only one process holds the lock; a waiting one is notified and can be cancelled.
func TestLock(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("machine-wide locks need root")
	}

	name := fmt.Sprintf("test-%s-%d", t.Name(), os.Getpid())
	t.Cleanup(func() { _ = os.Remove(LockRoot + "/" + name + ".lock") })
	unlock, err := Lock(t.Context(), name, func() { t.Error("waited for a free lock") })
	if err != nil {
		t.Skip(err) // /run may be read-only
	}

	ctx, cancel := context.WithCancel(t.Context())
	if _, err := Lock(ctx, name, cancel); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}

	waits, got := make(chan struct{}), make(chan error)
	go func() {
		again, err := Lock(t.Context(), name, func() { close(waits) })
		if err == nil {
			again()
		}
		got <- err
	}()

	<-waits
	unlock()
	if err := <-got; err != nil {
		t.Error(err)
	}
}
