package volume

import (
	"plimsoll/random"
	"plimsoll/units"
)

// A Rate is a pair of limits; 0 is none.
type Rate struct {
	IOPS       units.Frequency
	Throughput units.Throughput
}

// A Config says what a volume promises. The zero Config is a volume without any limit and
// without latency.
type Config struct {
	Name string // names the volume in errors, and its streams of chance
	Size units.Size

	// Sustained is what it gives for ever, reads and writes together. ReadOnly and WriteOnly
	// are limits of one direction, beside it: local NVMe has them, and the kernel's throttle.
	Sustained, ReadOnly, WriteOnly Rate
	Burst                          *Burst

	// Operation is the most bytes that one operation carries: 256 KiB on SSD volumes of
	// AWS, 1,024 KiB on HDD ones. A larger request is charged several. 0: a request is one
	// operation whatever its length.
	Operation units.Size
	// Merge charges a request that goes on where the one before it ended, in the same
	// direction, to the same operation while that has room.
	Merge bool

	// Latency of each operation, after the limits let it pass.
	Latency          [Ops]Latency
	FlushIsOperation bool // a flush is charged as an operation
	Episodes         *Episodes

	// Slots is how many requests the block layer keeps in flight (nr_requests); the next
	// submitter waits. 0 is unlimited, as the kernel's blk-throttle is: it queues without a bound.
	Slots int
	// Slack is how far behind its limit a volume may fall and catch up: tokens gather for so
	// long while it idles. A volume metered by the second lets a second's worth pass at once.
	Slack units.Duration
}

// Burst is a bucket of credits: while there are any the volume gives At, and what it gives over
// Refill is taken from them. gp2 counts operations, st1 and sc1 count bytes.
type Burst struct {
	At       Rate
	Capacity float64 // operations, or bytes
	Initial  float64
	Refill   float64 // a second
	Bytes    bool    // the credits are bytes
}

// Episodes are the bad times of a volume: every so often, for a while, its operations take
// long although nothing is asked of it.
type Episodes struct {
	Every    units.Duration    // mean time from the end of one to the start of the next
	Lasts    [2]units.Duration // shortest and longest, uniform between them
	Latency  [2]units.Duration // what an operation takes meanwhile, uniform between them
	WriteToo bool              // reads as well as writes when false only reads
}

// A Latency is a distribution of times, given by quantiles.
type Latency struct {
	table []int64 // nanoseconds at i/(len-1), ascending; nil: always 0
}

// A Quantile says that a share of the operations takes no longer than Takes.
type Quantile struct {
	Share units.Ratio
	Takes units.Duration
}

// Draw takes a latency from the distribution.
func (l Latency) Draw(s *random.Stream) units.Duration {
	n := uint64(len(l.table))
	if n < 2 {
		if n == 1 {
			return units.Duration(l.table[0])
		}
		return 0
	}
	u := s.Uint64()
	i := (u >> 32) * (n - 1) >> 32
	fraction := int64((u >> 32) * (n - 1) & (1<<32 - 1) >> 8)
	return units.Duration(l.table[i] + (l.table[i+1]-l.table[i])*fraction>>24)
}
