package volume

import (
	"plimsoll/internal/base/units"
	"plimsoll/internal/base/vtime"
)

// Initialization describes how a volume that was made from a snapshot is filled. The volume is made at
// the first instant, and all of its content is in the snapshot. The first access to each block, a read
// or a write, waits until the block was fetched; later accesses do not.
type Initialization struct {
	// Rate is how fast the volume is fetched from its start on, whatever is accessed. 0: only what
	// is accessed is fetched.
	Rate units.Throughput
	// OnDemand bounds the total rate at which accessed blocks are fetched.
	OnDemand units.Throughput
	// Takes is how long the fetch of one of them takes.
	Takes units.Duration
}

// SnapshotBlock is the size of one fetch: the block of EBS snapshots (EBS direct APIs, 2025).
const SnapshotBlock = 512 * units.KiB

func (i *Initialization) check() string {
	switch {
	case i.Rate != 0 && (i.Rate < throughputMin || i.Rate > throughputMax):
		return "the rate of its initialization"
	case i.OnDemand < throughputMin || i.OnDemand > throughputMax:
		return "the throughput at which blocks of its snapshot are fetched"
	case i.Takes < 0 || i.Takes > latencyMax:
		return "the time that a block of its snapshot takes"
	}
	return ""
}

// snapshot is the part of a volume that is still in its snapshot.
type snapshot struct {
	Initialization
	there map[int64]vtime.Instant // when blocks that were accessed early have arrived
	next  vtime.Instant           // when the next fetch on demand may begin
}

// touch returns the instant at which all blocks of a request are present, no earlier than at.
func (s *snapshot) touch(at vtime.Instant, r Request) vtime.Instant {
	if r.Op == Flush || r.Length == 0 {
		return at
	}
	from := max(r.Offset, 0)
	ready := at
	// The end is clipped so that offset plus length cannot overflow.
	for b := from / SnapshotBlock; b <= (from+min(r.Length, 1<<63-1-from)-1)/SnapshotBlock; b++ {
		ready = max(ready, s.fetch(at, int64(b)))
	}
	return ready
}

// fetch returns the instant at which a block first accessed at the given instant is present.
func (s *snapshot) fetch(at vtime.Instant, block int64) vtime.Instant {
	if t, ok := s.there[block]; ok {
		return t
	}

	byRate := vtime.Never
	if s.Rate > 0 {
		if ns := (float64(block) + 1) * (1e9 * float64(SnapshotBlock) / float64(s.Rate)); ns < float64(
			vtime.Never) {
			byRate = vtime.Instant(ns)
		}
	}

	// The background fetch has passed the block. It needs no entry in the map.
	if byRate <= at {
		return byRate
	}

	// Fetches on demand share one bandwidth, but their latencies overlap.
	begins := max(at, s.next)
	s.next = begins.Add(units.Duration(1e9 * float64(SnapshotBlock) / float64(s.OnDemand)).Std())
	t := min(byRate, begins.Add(s.Takes.Std()))
	s.there[block] = t

	return t
}
