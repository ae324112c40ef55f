//go:build linux

package trace

import (
	"testing"

	"plimsoll/internal/trace/chain"
	"plimsoll/internal/trace/events"
)

// A call on an unwatched file system is not explained, even if it was seen before the target was
// scanned again, because none of its requests were traced. A call that begins later is explained,
// wherever it is.
func TestUnwatched(t *testing.T) {
	const dev = 7 << 20
	s := session{tally: chain.NewTally(), since: map[uint32]int64{}, foreign: map[uint32]bool{}, groups: map[uint32]bool{}, rescanAll: make(chan struct{}, 1),
		opt: Options{Keep: true}}
	s.window = chain.NewWindow(&s.header)
	call := func(enter, exit int64) *events.Batch {
		return &events.Batch{Calls: []events.Call{{Kind: events.Fsync, File: events.FileID{Dev: dev, Inode: 1}, Enter: enter, Exit: exit}}}
	}
	s.add(call(100, 200))
	s.explain(300)

	if n, _ := s.tally.Slow(); n != 0 || s.early != 1 || len(s.rescanAll) != 1 {
		t.Errorf("%d explained, %d left out; scan requested: %v", n, s.early, len(s.rescanAll) == 1)
	}

	s.unfound(1000)
	s.add(call(900, 1100))
	s.add(call(1100, 1200))
	s.explain(1300)

	if n, _ := s.tally.Slow(); n != 1 || s.early != 2 || len(s.keep.Calls) != 1 {
		t.Errorf("%d explained, %d left out, %d kept", n, s.early, len(s.keep.Calls))
	}
}
