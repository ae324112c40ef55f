package model

import "plimsoll/internal/base/units"

// A raftLog is the leader's log. It holds each entry's slot and the log's length up to the entry's
// end. Entries before the slowest follower's position are dropped.
type raftLog struct {
	ring []entry // its length is a power of two
	last uint64  // the index of the newest entry; the very first is 1
}

type entry struct {
	slot uint32
	end  units.Size
}

const logMin = 1 << 10

func (l *raftLog) init() { l.ring = make([]entry, logMin) }

func (l *raftLog) at(i uint64) *entry { return &l.ring[i&uint64(len(l.ring)-1)] }

// bytes returns the length of entries from+1 ... to.
func (l *raftLog) bytes(from, to uint64) units.Size { return l.at(to).end - l.at(from).end }

// append adds an entry. kept is the first entry whose length is still needed.
func (l *raftLog) append(slot uint32, n units.Size, kept uint64) {
	end := l.at(l.last).end + n
	l.last++
	if l.last-kept >= uint64(len(l.ring)) {
		larger := raftLog{ring: make([]entry, 2*len(l.ring))}
		for i := kept; i < l.last; i++ {
			*larger.at(i) = *l.at(i)
		}
		l.ring = larger.ring
	}
	*l.at(l.last) = entry{slot, end}
}

// within returns the last entry such that from+1 ... it take at most n bytes, but at least one
// entry.
func (l *raftLog) within(from, to uint64, n units.Size) uint64 {
	if to <= from+1 || l.bytes(from, to) <= n {
		return to
	}
	low, high := from+1, to // bytes(from, low) may exceed n: one entry is always sent
	for low+1 < high {
		middle := low + (high-low)/2
		if l.bytes(from, middle) <= n {
			low = middle
		} else {
			high = middle
		}
	}
	return low
}
