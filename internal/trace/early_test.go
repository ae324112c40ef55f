//go:build linux

package trace

import (
	"testing"

	"plimsoll/internal/trace/chain"
	"plimsoll/internal/trace/events"
)

// A call on a file system that was not watched is not explained, even if it was seen before the target was looked at anew:
// none of its requests was. One that begins later is, wherever it is.
func TestUnwatched(t *testing.T) {
	const dev = 7 << 20
	s := session{tally: chain.NewTally(), since: map[uint32]int64{}, foreign: map[uint32]bool{}, groups: map[uint32]bool{}, look: make(chan struct{}, 1),
		opt: Options{Keep: true}}
	s.window = chain.NewWindow(&s.header)
	call := func(enter, exit int64) *events.Batch {
		return &events.Batch{Calls: []events.Call{{Kind: events.Fsync, File: events.FileID{Dev: dev, Inode: 1}, Enter: enter, Exit: exit}}}
	}
	s.take(call(100, 200))
	s.explain(300)

	if n, _ := s.tally.Slow(); n != 0 || s.early != 1 || len(s.look) != 1 {
		t.Errorf("%d explained, %d left out; asked for a look: %v", n, s.early, len(s.look) == 1)
	}

	s.unfound(1000)
	s.take(call(900, 1100))
	s.take(call(1100, 1200))
	s.explain(1300)

	if n, _ := s.tally.Slow(); n != 1 || s.early != 2 || len(s.keep.Calls) != 1 {
		t.Errorf("%d explained, %d left out, %d kept", n, s.early, len(s.keep.Calls))
	}
}
