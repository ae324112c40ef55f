package simulate

import (
	"plimsoll/internal/base/latency"
	"plimsoll/internal/base/vtime"
	"plimsoll/internal/model/engine"
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
	Cycles         []engine.Cycle // in order; the last may have no end
	Volumes        []VolumeResult
	Host           HostResult
	// Series holds series other than latencies and checkpoints; nil: none are wanted.
	Series *Series
}

// Result returns the run's result. It has no waits and no bytes per checkpoint, which are not known
// for a real engine, and no model's error bar.
func (o *Observed) Result(sc *scenario.Scenario) *Result {
	m := newMeter(o.From, o.End)
	m.cycles, m.drawn = func() []engine.Cycle { return o.Cycles }, o.Series != nil

	answered := int64(0)
	for i := range o.Operations {
		p := &o.Operations[i]

		// Throughput counts answers within the measured time, whenever their operations began.
		if done := p.At + vtime.Instant(p.Took); done >= o.From && done < o.End {
			m.doneInside++
		}

		if p.At < o.From || p.At >= o.End {
			continue
		}

		answered++
		if p.Aside {
			continue
		}

		if m.pending = append(m.pending, *p); len(m.pending) == pendingMax {
			m.classify()
		}
	}

	m.classify()
	span := float64(o.End-o.From) / 1e9
	cycles := cyclesIn(o.Cycles, o.From)
	r := &Result{
		Version: ResultVersion, Scenario: sc.Name, Engine: sc.Engine.Name(), CycleWord: sc.Engine.Cycle,
		Queries: sc.Engine.Queries, Seed: uint64(sc.Seed),
		Seconds: span, WarmupSeconds: float64(o.From) / 1e9, OpenLoop: !sc.Workloads().IsClosed(),
		AskedPerSec: float64(o.Asked) / span, DonePerSec: float64(m.doneInside) / span,
		Unanswered: max(o.Asked-answered, 0), Refused: o.Refused,
		Checkpoints: sumCycles(cycles, m),
		Volumes:     o.Volumes, Waits: []WaitResult{}, Host: o.Host,
		EngineFigures: map[string]*float64{}, FigureUnits: map[string]string{}, Series: o.Series,
	}

	// A real engine does not report the dirty bytes of each cycle.
	r.Checkpoints.DirtyBytesMax = nil
	if !r.OpenLoop {
		r.AskedPerSec = r.DonePerSec
	}

	period := r.Checkpoints.PeriodSeconds
	r.Writes, r.Reads = m.sorted.Writes.Class(period), m.sorted.Reads.Class(period)
	bill(r, sc)
	r.Objectives = objectives(sc, r)

	for _, w := range sc.Warnings {
		r.Warnings = append(r.Warnings, w.Problem.Error())
	}

	if r.Series != nil {
		r.Series.latencies(m)
		r.Series.checkpoints(m, cycles)
	}

	return r
}
