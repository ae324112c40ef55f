package simulate

import (
	"plimsoll/internal/base/latency"
	"plimsoll/internal/base/vtime"
	"plimsoll/internal/model/database"
	"plimsoll/internal/model/scenario"
)

// An Observed holds a real run's figures in the form of a simulated one. The same code counts them
// into a [Result], so that the two can be compared. Instants count from the run's beginning.
type Observed struct {
	From, End  vtime.Instant // of the measured time, after the warm-up
	Operations []latency.Operation
	// Asked counts the operations due in the measured time, answered or not. Refused counts those
	// of them that found too many waiting.
	Asked, Refused int64
	Cycles         []database.Cycle // in order; the last may have no end
	Volumes        []VolumeResult
	Host           HostResult
	// Series holds series other than latencies and checkpoints; nil: none are wanted.
	Series *Series
}

// Result returns the run's result. It has no waits and no bytes per checkpoint, which are not known
// for a real engine, and no model's error bar.
func (o *Observed) Result(sc *scenario.Scenario) *Result {
	meter := newMeter(o.From, o.End)
	meter.cycles, meter.drawn = func() []database.Cycle { return o.Cycles }, o.Series != nil

	answered := int64(0)
	for i := range o.Operations {
		p := &o.Operations[i]

		// Throughput counts answers within the measured time, whenever their operations began.
		if done := p.At + vtime.Instant(p.Took); done >= o.From && done < o.End {
			meter.doneInside++
		}

		if p.At < o.From || p.At >= o.End {
			continue
		}

		answered++
		if p.Aside {
			continue
		}

		if meter.pending = append(meter.pending, *p); len(meter.pending) == pendingMax {
			meter.classify()
		}
	}

	meter.classify()
	meter.arrivals, meter.unanswered, meter.refused = o.Asked, max(o.Asked-answered, 0), o.Refused
	cycles := cyclesIn(o.Cycles, o.From)
	result := meter.result(sc, cycles)
	result.Volumes, result.Waits, result.Host, result.Series = o.Volumes, []WaitResult{}, o.Host, o.Series
	result.EngineFigures, result.FigureUnits = map[string]*float64{}, map[string]string{}

	// A real engine does not report the dirty bytes of each cycle.
	result.Checkpoints.DirtyBytesMax = nil
	bill(result, sc)
	result.Objectives = objectives(sc, result)

	if result.Series != nil {
		result.Series.latencies(meter)
		result.Series.checkpoints(meter, cycles)
	}

	return result
}
