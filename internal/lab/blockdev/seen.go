//go:build linux

package blockdev

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/base/units"
)

// Seen is what the kernel has counted of a device's reads and writes since the device exists.
type Seen struct {
	Requests int64
	// Time is from submission to answer, summed: the path to the emulator, the emulator, and the
	// path back. It excludes the wait for a free slot.
	Time units.Duration
}

// Seen reads what the kernel has counted.
func (v *Device) Seen() (Seen, error) {
	text, err := os.ReadFile(filepath.Join("/sys/block", v.loop.name, "stat"))
	if err != nil {
		return Seen{}, fmt.Errorf("what the kernel counts of %s: %w", v.loop.name, err)
	}
	s, err := parseSeen(string(text))
	if err != nil {
		return Seen{}, fmt.Errorf("what the kernel counts of %s: %w", v.loop.name, err)
	}
	return s, nil
}

// parseSeen reads a line of /sys/block/NAME/stat (Documentation/block/stat.rst): reads, merged,
// sectors and milliseconds, then the same of writes, and more.
func parseSeen(text string) (Seen, error) {
	fields := strings.Fields(text)
	if len(fields) < 8 {
		return Seen{}, fmt.Errorf("%d numbers, not 11 or more: %.60q", len(fields), text)
	}
	var n [8]uint64
	for i := range n {
		var err error
		if n[i], err = strconv.ParseUint(fields[i], 10, 40); err != nil {
			return Seen{}, fmt.Errorf("number %d: %w", i+1, err)
		}
	}
	return Seen{Requests: int64(n[0] + n[4]), Time: units.Duration(time.Duration(n[3]+n[7]) * time.Millisecond)}, nil
}
