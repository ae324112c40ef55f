package volume

import (
	"fmt"

	"plimsoll/internal/base/units"
	"plimsoll/internal/base/vtime"
)

// An InstanceConfig holds the limits that all of an instance's volumes share.
type InstanceConfig struct {
	Name string // in errors
	// Baseline is its sustained limit, Maximum its limit while a burst lasts. A limit
	// that is 0 in Baseline does not exist; one that is 0 in Maximum is the baseline.
	Baseline, Maximum Rate
}

// "Can support maximum performance for 30 minutes at least once every 24 hours" is all that Amazon
// says about a burst (EC2 user guide, "EBS-optimized instance types", 2025). This model of it is
// assumed: operations and bytes have a bucket each, as there is a metric for each (EBSIOBalance%,
// EBSByteBalance%), full at the start. What passes above the baseline is taken from it. Whenever
// less than the baseline passes, it refills each second by what was not used, but no faster than
// what fills it in the 23.5 hours that remain of the day.
const (
	burstFor   = units.Duration(30 * 60e9)
	burstEvery = units.Duration(24 * 3600e9)
)

// An Instance is the limits that volumes share.
//
// A volume with a backlog determines immediately when its requests will be issued, far ahead in time.
// Another volume's request that comes later but is issued earlier must not wait behind those. So an
// instance is not a queue but a calendar: time is cut into slices of a millisecond, each with room
// for a number of operations and bytes, and a request takes the room it finds from the instant on
// at which its volume lets it pass.
type Instance struct {
	now      vtime.Instant
	calendar calendar
}

// NewInstance makes an instance. Pass it to New for each of its volumes.
func NewInstance(cfg InstanceConfig) (*Instance, error) {
	if err := cfg.Check(); err != nil {
		return nil, err
	}
	i := &Instance{}
	i.calendar.init()
	i.calendar.limits[operations] = newAllowance(float64(cfg.Baseline.IOPS), float64(cfg.Maximum.IOPS))
	i.calendar.limits[bytes] = newAllowance(float64(cfg.Baseline.Throughput), float64(cfg.Maximum.Throughput))
	return i, nil
}

// Check reports the first error in a configuration.
func (c *InstanceConfig) Check() error {
	if err := c.Baseline.check(); err != nil {
		return fmt.Errorf("instance %q: baseline %w", c.Name, err)
	}

	if err := c.Maximum.check(); err != nil {
		return fmt.Errorf("instance %q: maximum %w", c.Name, err)
	}

	switch {
	case c.Maximum.IOPS != 0 && (c.Baseline.IOPS == 0 || c.Maximum.IOPS < c.Baseline.IOPS):
		return fmt.Errorf("instance %q: maximum IOPS %v: want at least the baseline's %v, which must be set too",
			c.Name, c.Maximum.IOPS, c.Baseline.IOPS)
	case c.Maximum.Throughput != 0 && (c.Baseline.Throughput == 0 ||
		c.Maximum.Throughput < c.Baseline.Throughput):
		return fmt.Errorf("instance %q: maximum throughput %v: want at least the baseline's %v, which must be set too",
			c.Name, c.Maximum.Throughput, c.Baseline.Throughput)
	}

	return nil
}

// pass returns the instant at which the last part of a charge passes, if its first part may pass at from.
func (i *Instance) pass(now, from vtime.Instant, c *charge) (vtime.Instant, Limit) {
	i.now = max(i.now, now)
	i.calendar.advance(i.now)
	return i.calendar.reserve(from, c)
}
