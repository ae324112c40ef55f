package simulate

import (
	"time"

	"plimsoll/internal/record/recording"
)

// Options say how a scenario is run. The zero Options record nothing.
type Options struct {
	// Record receives the series, one batch for each minute of virtual time; nil: none are kept.
	// Run does not close it.
	Record recording.Writer
	// Progress, if not nil, receives the virtual time as it passes, including the warm-up.
	Progress func(done, total time.Duration)
	// Series says whether the result holds series over time, for plots.
	Series bool
	// Wanted, if not nil, ends the run with a *[MissedError] as soon as a bound is certain to be
	// missed.
	Wanted *Wanted
}

// epoch is when runs begin in recordings. It is fixed, so that the same run gives the same bytes.
var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// Bounds on what a run keeps.
const (
	// waitingMax is how many operations may wait for a connection. Further operations are refused,
	// and the result says so.
	waitingMax = 1 << 19
	// cyclesShown is how many checkpoints a series marks.
	cyclesShown = 4096
	// batchSeconds is the number of samples in a batch of the recording.
	batchSeconds = 60
	// pendingMax is the number of acknowledged operations that wait to be classified.
	pendingMax = 1 << 14
	// pendingFirst is the initial capacity for them: they are classified each second.
	pendingFirst = 1 << 12
)
