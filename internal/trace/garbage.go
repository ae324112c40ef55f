//go:build linux

package trace

import (
	"os"
	"runtime/debug"
	"runtime/metrics"
)

// garbage holds the collector's setting, which makes Go collect less often while little memory is in use:
// most of a quiet trace's CPU time went into scanning a few megabytes several times a second.
type garbage struct {
	before  int // the percentage before the trace
	percent int // the current one; 0: not changed
}

const (
	spareBytes  = 64 << 20 // allowed garbage on top of the live heap
	percentMost = 1600
	percentGo   = 100 // Go's default
)

// adapt adjusts the allowed garbage to the live heap. It is called about once a second.
func (g *garbage) adapt() {
	if os.Getenv("GOGC") != "" { // the user's choice has priority
		return
	}

	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindUint64 {
		return
	}

	want := int(min(max(100*spareBytes/max(sample[0].Value.Uint64(), 1<<20), percentGo), percentMost))

	// Setting the percentage stops the world, so small changes are skipped.
	if g.percent != 0 && want > g.percent/2 && want < g.percent*2 {
		return
	}

	last := debug.SetGCPercent(want)
	if g.percent == 0 {
		g.before = last
	}

	g.percent = want
}

// restore resets the percentage to its value before the trace.
func (g *garbage) restore() {
	if g.percent != 0 {
		debug.SetGCPercent(g.before)
	}
}
