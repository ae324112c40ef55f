//go:build linux

package blockdev

import (
	"fmt"
	"time"

	"plimsoll/internal/base/procfs"
	"plimsoll/internal/base/units"
)

// Seen holds the kernel's counts of a device's reads and writes since the device was created.
type Seen struct {
	Requests int64
	// Time is the total from submission to answer: the path to the emulator, the emulator, and the
	// path back. It excludes waiting for a free slot.
	Time units.Duration
}

// Seen reads the kernel's counters.
func (v *Device) Seen() (Seen, error) {
	c, err := procfs.DiskStat(v.loop.name)
	if err != nil {
		return Seen{}, fmt.Errorf("cannot read the kernel's counters of %s: %w", v.loop.name, err)
	}
	ms := c.Raw[3] + c.Raw[7] // reads and writes
	return Seen{Requests: int64(c.Raw[0] + c.Raw[4]),
		Time: units.Duration(time.Duration(ms) * time.Millisecond)}, nil
}
