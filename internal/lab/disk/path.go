//go:build linux

package disk

import (
	"time"

	"plimsoll/internal/base/units"
	"plimsoll/internal/model/volume"
)

// A Path is how long a request takes to the disk and back, besides the volume's own time. It is
// answered that much earlier.
type Path struct {
	Fixed  units.Duration
	PerMiB units.Duration // in addition, because the data is copied on the way
	// Wake is the part of Fixed that passes until the process that waits for the request runs
	// again. Lateness up to that is expected.
	Wake units.Duration
}

// of is the path of a request with this much data.
func (p Path) of(n units.Size) time.Duration {
	return p.Fixed.Std() + time.Duration(float64(p.PerMiB)*float64(n)/float64(units.MiB))
}

// SetPath sets the path's time, replacing [Options.Path].
func (d *Disk) SetPath(p Path) {
	d.host.mu.Lock()
	defer d.host.mu.Unlock()
	d.path = p
}

// Path returns what is subtracted.
func (d *Disk) Path() Path {
	d.host.mu.Lock()
	defer d.host.mu.Unlock()
	return d.path
}

// Trial makes the disk answer as another volume while f runs, with nothing subtracted for the path,
// and returns the statistics of that time. Afterwards everything is as before, and nothing was
// counted. It serves to measure the path.
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
