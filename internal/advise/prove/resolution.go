package prove

import (
	"context"
	"math"
	"slices"
	"time"

	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/judge/rules"
)

// sameResolution is the maximum factor by which the sampling periods of a signal may differ between the
// recordings and still count as the same: periods vary with the load of the scraped server (assumed).
const sameResolution = 1.5

// evenSteps puts both recordings on cells as long as the sampling period of the coarser one: a p99 of 15 s
// means cannot be compared with a p99 of 1 s means, and the same applies to stalled time. The sampling
// periods of the compared signals count, not the grid: with a device sampled every second and a database
// sampled every 15 s, the grid has steps of one second.
func evenSteps(ctx context.Context, a, b *side, opt Options) error {
	step := max(a.c.Grid.StepSeconds(), b.c.Grid.StepSeconds())
	if a.c.Grid.StepMs == b.c.Grid.StepMs {
		step = 0
	}

	after := b.reads()
	for _, s := range a.reads() {
		if !slices.Contains(after, s) {
			continue
		}
		x, y := a.c.ResolutionS(s), b.c.ResolutionS(s)
		// Signals with about the same period need no coarser cells.
		if max(x, y) > sameResolution*min(x, y) {
			step = max(step, x, y)
		}
	}

	for _, x := range []struct {
		*side
		Window
	}{{a, opt.Before}, {b, opt.After}} {
		if x.c.Grid.StepSeconds() >= step {
			continue
		}
		err := x.lay(ctx, diagnose.Options{Pack: opt.Pack, From: x.From, To: x.To, Step: seconds(step),
			Progress: opt.Progress})
		if err != nil {
			return err
		}
	}

	return nil
}

// reads returns the measured signals from which a side's latencies and stalled time are read. Means over
// time do not depend on the sampling period, so their signals are not included.
func (s *side) reads() []*rules.Signal {
	return s.signals(func() {
		for _, k := range kinds(s.c.Pack) {
			for _, w := range k.ways {
				if k.felt {
					w.of(s)
				}
			}
		}

		diagnose.AtThreshold(s.c, s.c.Time.SlowFromS) // records the signals that the detectors read
	})
}

// seconds rounds a period up to whole milliseconds, as grids have them.
func seconds(s float64) time.Duration { return time.Duration(math.Ceil(1e3*s)) * time.Millisecond }
