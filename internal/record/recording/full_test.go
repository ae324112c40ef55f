package recording

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"
	"testing"
)

// A full disk is reported once; all other errors are kept.
func TestEnded(t *testing.T) {
	full := func(text string) error { return fmt.Errorf("write %s: %w", text, syscall.ENOSPC) }

	err := Ended("rec", full("log"), errors.Join(full("block"), full("index"), full("manifest")))
	if !errors.Is(err, syscall.ENOSPC) || strings.Contains(err.Error(), "\n") || !strings.HasPrefix(err.Error(), "record to rec: ") {
		t.Errorf("a full disk: %v", err)
	}

	if err := Ended("rec", io.ErrUnexpectedEOF, io.ErrClosedPipe); !errors.Is(err, io.ErrUnexpectedEOF) || !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("two errors: %v", err)
	}
	if err := Ended("rec", nil, nil); err != nil {
		t.Error(err)
	}
}
