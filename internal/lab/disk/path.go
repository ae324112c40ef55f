//go:build linux

package disk

import (
	"time"

	"plimsoll/internal/base/units"
	"plimsoll/internal/model/volume"
)

// A Path is how long a request takes on its way to the disk and back, beside what the volume takes:
// it is answered so much sooner.
type Path struct {
	Fixed  units.Duration
	PerMiB units.Duration // of its data, in addition: it is copied on the way
	// Wake is the part of Fixed that passes until whoever waits for the request runs again: being
	// so late is what was expected.
	Wake units.Duration
}

// of is the path of a request with so much data.
func (p Path) of(n units.Size) time.Duration {
	return p.Fixed.Std() + time.Duration(float64(p.PerMiB)*float64(n)/float64(units.MiB))
}

// SetPath says how long requests are on their way, in place of [Options.Path].
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

// Trial has the disk answer as another volume would, with nothing taken off for the path, while f
// runs, and tells what happened meanwhile. After it all is as it was, and nothing is counted. It is
// how the path is measured.
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
