package model

import (
	"strconv"

	"plimsoll/internal/base/random"
	"plimsoll/internal/base/units"
	"plimsoll/internal/base/vtime"
	"plimsoll/internal/model/kernel"
)

// A member is one etcd process.
type member struct {
	index int
	name  string // "m1"
	host  *kernel.Host

	wal wal
	// Log positions: entries received, on disk, and applied.
	received, synced, applied uint64
	busy                      bool   // its loop is in a Ready
	to                        uint64 // the last entry of that Ready

	backend backend
	sending sending // the leader's view of it
}

func (m *member) init(cfg *Config, index int, on Member, seed random.Seed) {
	m.index, m.name, m.host = index, "m"+strconv.Itoa(index+1), on.Host
	m.wal.init(m.name, cfg.Segment, on)
	m.backend.init(m.name, cfg, on, seed)
	m.sending.flights = make([]flight, cfg.MaxInflight)
}

// segments is the number of WAL files a member keeps (--max-wals: 5) plus the one created in
// advance.
const segments = 6

// A wal is a member's write-ahead log. Its segments are preallocated but unwritten, so an append
// into new blocks changes the file system's metadata.
type wal struct {
	file  *kernel.File
	size  units.Size // of all segments
	used  units.Size // written since the file was last rewound
	bytes units.Size // written in total
	began vtime.Instant
	fsync histogram
	write histogram
}

func (w *wal) init(name string, segment units.Size, on Member) {
	w.size = segments * segment
	w.file = on.Host.Create(name+"/wal", on.WAL, w.size)
}

// append writes n bytes at the log's end, into the page cache. The writer may continue at the
// returned instant.
func (w *wal) append(now vtime.Instant, n units.Size) vtime.Instant {
	if w.used+n > w.size {
		w.file.Rewind(0) // the oldest segment is deleted, and a new one takes its place
		w.used = 0
	}
	w.used += n
	w.bytes += n
	_, resume := w.file.Append(n)
	resume = max(resume, now)
	w.write.observe(resume.Sub(now))
	return resume
}
