package simulate

import (
	"time"

	"plimsoll/internal/record/recording"
)

// Options say how a scenario is run. The zero Options record nothing.
type Options struct {
	// Record takes the series, a batch a minute of virtual time; nil: none are kept. Run does not
	// close it.
	Record recording.Writer
	// Epoch is the instant that the run's beginning has in the recording. Zero: 2026-01-01 00:00
	// UTC.
	Epoch time.Time
	// Progress, if not nil, is told of virtual time as it passes, warm-up included.
	Progress func(done, total time.Duration)
	// Series says whether the result holds series over time, for plots.
	Series bool
	// Wanted, if not nil, ends the run with a *[MissedError] as soon as a bound is certain to be
	// missed.
	Wanted *Wanted
}

// epochDefault is when runs begin: fixed, so that the same run is the same bytes.
var epochDefault = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func (o *Options) epoch() time.Time {
	if o.Epoch.IsZero() {
		return epochDefault
	}
	return o.Epoch
}

// Bounds on what a run keeps.
const (
	// waitingMax is how many operations may wait for a connection; those beyond are refused, which
	// the result says.
	waitingMax = 1 << 19
	// cyclesShown is how many checkpoints a series marks.
	cyclesShown = 4096
	// batchSeconds is how many samples a batch of the recording has.
	batchSeconds = 60
	// pendingMax is how many acknowledged operations wait to be classified.
	pendingMax = 1 << 14
)
