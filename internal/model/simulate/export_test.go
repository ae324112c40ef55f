package simulate

import (
	"plimsoll/internal/base/random"
	"plimsoll/internal/base/vtime"
	"plimsoll/internal/model/workload"
)

// ClientLatency is the histogram of recordings.
const ClientLatency = clientLatency

// TapeOf reports whether the arrivals are on a tape of this workload.
func (a *Arrivals) TapeOf(load *workload.Workload, seed random.Seed, end vtime.Instant) bool {
	return a.tape.of(load, seed, end)
}

// Play plays the tape.
func (a *Arrivals) Play() workload.Source { return &player{tape: a.tape} }
