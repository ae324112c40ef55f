package volume

import (
	"errors"
	"fmt"

	"plimsoll/internal/base/units"
)

// A Rate is a pair of limits; 0 is none.
type Rate struct {
	IOPS       units.Frequency
	Throughput units.Throughput
}

// Lower returns the lower of two rates; 0 means no limit.
func (r Rate) Lower(o Rate) Rate {
	if r.IOPS == 0 || o.IOPS != 0 && o.IOPS < r.IOPS {
		r.IOPS = o.IOPS
	}
	if r.Throughput == 0 || o.Throughput != 0 && o.Throughput < r.Throughput {
		r.Throughput = o.Throughput
	}
	return r
}

// A Config is a volume's specification. The zero Config is a volume without any limit and without
// latency.
type Config struct {
	Name string // names the volume in errors, and its random streams
	Size units.Size

	// Sustained is its sustained limit, for reads and writes together. ReadOnly and WriteOnly are
	// additional limits of one direction: local NVMe and the kernel's throttle have them.
	Sustained, ReadOnly, WriteOnly Rate
	Burst                          *Burst

	// Operation is the largest number of bytes per operation: 256 KiB on SSD volumes of AWS, 1,024
	// KiB on HDD ones. A larger request is charged as several operations, and passes as that many
	// would. 0 means that a request is one operation, whatever its length.
	Operation units.Size
	// Merge charges a request that continues where the previous one ended, in the same direction,
	// to the same operation while that has room and is not done. 8 sequential requests of 32 KiB
	// are 1 operation if an operation carries 256 KiB (Amazon EBS user guide, "I/O size and volume
	// throughput limits", 2025). We assume that nothing is merged into a finished operation.
	Merge bool

	// Latency of each operation, after the limits let it pass. It does not depend on the length.
	Latency          [Ops]Latency
	FlushIsOperation bool // a flush is charged as an operation
	Episodes         *Episodes
	// Initialization, if not nil, says that the volume was made from a snapshot.
	Initialization *Initialization

	// Slots is how many requests the block layer keeps in flight (nr_requests); the next submitter
	// waits. 0 means unlimited, like the kernel's blk-throttle, which queues without a bound.
	Slots int
	// Slack is how far behind its limit a volume may fall and catch up: tokens collect for that
	// long while it idles. A volume metered by the second lets a second's worth pass immediately.
	Slack units.Duration
}

// Credits fill a [Burst]'s bucket: operations, or bytes if Burst.Bytes says so.
type Credits float64

// Burst is a bucket of credits. Each operation (or byte) takes one, and the bucket refills all the
// time. While there are any, the volume delivers At; when there are none, it delivers only the refill rate.
// gp2 counts operations, and so do st1 and sc1, of 1 MiB: a smaller request that merges with none still takes
// a credit of 1 MiB (Amazon EBS user guide, HDD volumes, 2025). All three refill at the baseline: a gp2
// volume of 100 GiB spends 3,000 per second and gets 300 back, so 5.4 million last 2,000 s.
type Burst struct {
	// At are the limits while there are credits. A limit of 0 here means the one in Config.Sustained.
	At       Rate
	Capacity Credits
	Initial  Credits // its content at the start
	Bytes    bool    // the credits are bytes
	// BytesCapacity is a second bucket, of bytes, in addition to one of operations: 0 is none. It is full at
	// the start, refills at Config.Sustained's throughput, and allows At's throughput while it lasts.
	// Azure's Premium SSD has both.
	BytesCapacity Credits
}

// Episodes are the bad times of a volume: sometimes, for a while, its operations take long at a low
// load. The start of one does not depend on the previous one (assumed).
type Episodes struct {
	Every   units.Duration    // mean time from the end of one to the start of the next
	Lasts   [2]units.Duration // shortest and longest, uniform between them
	Latency [2]units.Duration // latency of an operation in an episode, uniform between them
	Reads   bool              // reads suffer as well as writes and flushes
}

// Bounds on a Config. No volume for rent is outside them.
const (
	iopsMin       units.Frequency  = 1
	iopsMax       units.Frequency  = 1e9
	throughputMin units.Throughput = 1e3
	throughputMax units.Throughput = 1e12
	slotsMax                       = 1 << 20 // 8 MiB of instants
	slackMax                       = units.Duration(3600e9)
	creditsMax    Credits          = 1e15
	episodeMin                     = units.Duration(1e9)
	episodeMax                     = units.Duration(365 * 86400e9)
)

// Check reports the first error in a configuration: the value, its limit, and the nearest legal value.
func (c *Config) Check() error {
	for _, r := range []struct {
		name string
		rate Rate
	}{{"sustained", c.Sustained}, {"read-only", c.ReadOnly}, {"write-only", c.WriteOnly}} {
		if err := r.rate.check(); err != nil {
			return fmt.Errorf("volume %q: %s %w", c.Name, r.name, err)
		}
	}

	switch {
	case c.Size < 0:
		return fmt.Errorf("volume %q: size of %d bytes out of range: want 0 (unbounded) or more", c.Name, int64(c.Size))
	case c.Operation < 0:
		return fmt.Errorf("volume %q: operation size of %d bytes out of range: want 0 (unbounded) or more", c.Name,
			int64(c.Operation))
	case c.Slots < 0 || c.Slots > slotsMax:
		return fmt.Errorf("volume %q: %d queue slots: want 0 (unlimited) to %d", c.Name, c.Slots, slotsMax)
	case c.Slack < 0 || c.Slack > slackMax:
		return fmt.Errorf("volume %q: slack %v out of range: want 0s to %v", c.Name, c.Slack, slackMax)
	case c.Merge && c.Operation == 0:
		return fmt.Errorf("volume %q: merge needs an operation size; example: 256KiB, as on SSD volumes of AWS",
			c.Name)
	}

	if c.Burst != nil {
		if err := c.Burst.check(c.Sustained); err != nil {
			return fmt.Errorf("volume %q: %w", c.Name, err)
		}
	}

	if i := c.Initialization; i != nil {
		if what := i.check(); what != "" {
			return fmt.Errorf("volume %q: %s is out of range", c.Name, what)
		}
	}

	if c.Episodes != nil {
		if err := c.Episodes.check(); err != nil {
			return fmt.Errorf("volume %q: %w", c.Name, err)
		}
	}

	return nil
}

func (r Rate) check() error {
	// Written so that NaN is refused.
	if i := r.IOPS; i != 0 && !(i >= iopsMin && i <= iopsMax) {
		return fmt.Errorf("IOPS %v out of range: want 0 (no limit), or %v to %v", i, iopsMin, iopsMax)
	}
	if t := r.Throughput; t != 0 && (t < throughputMin || t > throughputMax) {
		return fmt.Errorf("throughput %v out of range: want 0 (no limit), or %v to %v", t, throughputMin,
			throughputMax)
	}
	return nil
}

func (b *Burst) check(sustained Rate) error {
	if err := b.At.check(); err != nil {
		return fmt.Errorf("burst %w", err)
	}

	switch {
	case !b.Bytes && sustained.IOPS == 0, b.Bytes && sustained.Throughput == 0:
		return errors.New("burst credits need a sustained limit to burst over")
	case !(b.Capacity > 0 && b.Capacity <= creditsMax):
		return fmt.Errorf("bucket of %v burst credits out of range: want more than 0, at most %v", float64(b.Capacity),
			float64(creditsMax))
	case b.BytesCapacity != 0 && (b.Bytes || sustained.Throughput == 0):
		return errors.New("a bucket of bytes needs a bucket of operations and a sustained throughput")
	case !(b.BytesCapacity >= 0 && b.BytesCapacity <= creditsMax):
		return fmt.Errorf("bucket of %v bytes of burst credits out of range: want 0 to %v", float64(b.BytesCapacity),
			float64(creditsMax))
	case !(b.Initial >= 0 && b.Initial <= b.Capacity):
		return fmt.Errorf("%v burst credits at the start: want 0 to the bucket's %v", float64(b.Initial),
			float64(b.Capacity))
	}

	return nil
}

func (e *Episodes) check() error {
	switch {
	case e.Every < episodeMin || e.Every > episodeMax:
		return fmt.Errorf("bad episodes every %v: want %v to %v", e.Every, episodeMin, episodeMax)
	case e.Lasts[0] < 0 || e.Lasts[1] < e.Lasts[0] || e.Lasts[1] > episodeMax:
		return fmt.Errorf("bad episodes that last from %v to %v: want an ascending range from 0s to %v", e.Lasts[0],
			e.Lasts[1], episodeMax)
	case e.Latency[0] < 0 || e.Latency[1] < e.Latency[0] || e.Latency[1] > latencyMax:
		return fmt.Errorf("bad episodes with latencies from %v to %v: want an ascending range from 0s to %v", e.Latency[0],
			e.Latency[1], latencyMax)
	}
	return nil
}
