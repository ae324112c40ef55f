package recording

import (
	"errors"
	"fmt"
	"syscall"
)

// Ended joins the errors of writing a recording and of closing it. On a full disk every write fails
// (log, block, manifest), but the error is reported only once.
func Ended(dir string, writing, closing error) error {
	all := errors.Join(writing, closing)
	for _, full := range []syscall.Errno{syscall.ENOSPC, syscall.EDQUOT} {
		if errors.Is(closing, full) {
			return fmt.Errorf("record to %s: %w: the samples so far are in its log and remain readable; "+
				"once there is room, recording to it again repairs it", dir, full)
		}
	}
	return all
}
