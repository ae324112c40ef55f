//go:build linux

package trace

import (
	"os"
	"runtime/debug"
	"runtime/metrics"
)

// A garbage has Go collect less often while little memory is in use: most of what a calm trace took
// of a processor was looking for garbage in a few megabytes, several times a second.
type garbage struct {
	before  int // the percentage that was set before
	percent int // that is set now; 0: it was not changed
}

const (
	spareBytes  = 64 << 20 // what may lie unused beyond the memory in use
	percentMost = 1600
	percentGo   = 100 // Go's default
)

// adapt sets how much may lie unused by what is in use. It is called about once a second.
func (g *garbage) adapt() {
	if os.Getenv("GOGC") != "" { // whoever runs it has decided
		return
	}

	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindUint64 {
		return
	}

	want := int(min(max(100*spareBytes/max(sample[0].Value.Uint64(), 1<<20), percentGo), percentMost))

	// To set it stops the world for a moment.
	if g.percent != 0 && want > g.percent/2 && want < g.percent*2 {
		return
	}

	last := debug.SetGCPercent(want)
	if g.percent == 0 {
		g.before = last
	}

	g.percent = want
}

// restore sets what was set before.
func (g *garbage) restore() {
	if g.percent != 0 {
		debug.SetGCPercent(g.before)
	}
}
