package spare

import (
	"runtime"
	"testing"
)

// nextBytes returns the heap size at which Go collects next, measured right after a collection.
func nextBytes() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.NextGC
}

func TestCollectionsBeginLaterUntilItIsReleased(t *testing.T) {
	if got := nextBytes(); got < 100<<20 {
		t.Errorf("with the block, Go collects at %d bytes, want 128 MB", got)
	}

	Release()
	if got := nextBytes(); got > 32<<20 {
		t.Errorf("without it, at %d bytes", got)
	}
}
