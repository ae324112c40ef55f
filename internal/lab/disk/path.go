//go:build linux

package disk

import (
	"time"

	"plimsoll/internal/base/units"
	"plimsoll/internal/model/volume"
)

// A Path is the time for a request to reach the disk and return, in addition to the volume's own
// latency. Requests are answered that much earlier.
type Path struct {
	Fixed  units.Duration
	PerMiB units.Duration // in addition, for copying the data
	// Wake is the part of Fixed that passes until the process waiting for the request runs again. Lateness
	// up to this is expected.
	Wake units.Duration
}

// of returns the path time of a request with n bytes of data.
func (p Path) of(n units.Size) time.Duration {
	return p.Fixed.Std() + time.Duration(float64(p.PerMiB)*float64(n)/float64(units.MiB))
}

// SetPath sets the path time, replacing [Options.Path].
func (d *Disk) SetPath(p Path) {
	d.host.mu.Lock()
	defer d.host.mu.Unlock()
	d.path = p
}

// Path returns the current path time.
func (d *Disk) Path() Path {
	d.host.mu.Lock()
	defer d.host.mu.Unlock()
	return d.path
}

// Trial makes the disk behave as another volume while f runs, without subtracting the path, and
// returns the statistics of that time. Afterwards the volume and path are as before and the
// counters are reset. It is used to measure the path.
func (d *Disk) Trial(v volume.Volume, f func() error) (Stats, error) {
	d.host.mu.Lock()
	volume, epoch, paced, path := d.volume, d.epoch, d.paced, d.path
	d.volume, d.epoch, d.paced, d.path = v, d.host.clock.Now(), true, Path{}
	d.host.mu.Unlock()
	d.ResetStats()
	err := f()
	s := d.Stats()
	d.host.mu.Lock()
	d.volume, d.epoch, d.paced, d.path = volume, epoch, paced, path
	d.host.mu.Unlock()
	d.ResetStats()
	return s, err
}
