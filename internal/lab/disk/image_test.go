//go:build linux

package disk

import (
	"strings"
	"testing"

	"plimsoll/internal/model/volume"
)

// An image larger than the address space fails with a single error that says what to do.
func TestImageLargerThanAnyMemory(t *testing.T) {
	h, err := NewHost(Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	_, err = h.Add(Config{Name: "data", Size: 1 << 50, Volume: volume.MustNew(volume.Config{Name: "v", Size: 1 << 50}, 1, nil)})
	if err == nil || !strings.Contains(err.Error(), "disk data: cannot allocate memory for an image of 1PiB") && !strings.Contains(err.Error(), "disk data: cannot allocate memory for an image of 1024TiB") {
		t.Errorf("a petabyte: %v", err)
	}
}
