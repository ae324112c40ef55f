//go:build linux

package blockdev

import (
	"fmt"
	"time"

	"plimsoll/internal/base/procfs"
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
	c, err := procfs.DiskStat(v.loop.name)
	if err != nil {
		return Seen{}, fmt.Errorf("what the kernel counts of %s: %w", v.loop.name, err)
	}
	ms := c.Raw[3] + c.Raw[7] // of reads and of writes
	return Seen{Requests: int64(c.Raw[0] + c.Raw[4]),
		Time: units.Duration(time.Duration(ms) * time.Millisecond)}, nil
}
