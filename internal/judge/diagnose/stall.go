package diagnose

import (
	"math"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

const (
	deviceFloorS  = 0.005 // of a device's write: several times what flash takes
	deviceQueuedS = 0.010 // of a device's write where it is saturated whenever it writes
	// Where it is saturated most of the time, but not always, queuedFactor times what a write takes
	// otherwise is queueing, if calmShare of the intervals tell what that is.
	queuedFactor = 3
	queuedLeastS = 0.001
	calmShare    = 0.25
)

// detect finds stalled time by every detector that can judge, the ones closest to the clients
// first.
func detect(c *rules.Case) []rules.Stall {
	var out []rules.Stall
	add := func(s rules.Stall) {
		s.Active = underLoad(s)
		out = append(out, s)
	}

	for _, e := range c.Pack.Engines() {
		if e.Stalls == nil {
			continue
		}
		for _, s := range e.Stalls(&c.Signals) {
			add(rules.ApartFew(c.Time, s))
		}
	}

	below := c.JudgedBelow()
	for _, of := range []struct {
		await, ops *rules.Signal
		stall      rules.Stall
	}{
		{rules.DiskWriteAwait, rules.DiskWrites, rules.Stall{Rule: "disk/slow-writes", Class: rules.DeviceWrites}},
		{rules.DiskReadAwait, rules.DiskReads,
			rules.Stall{Rule: "disk/slow-reads", Class: rules.DeviceReads, Aside: true}},
	} {
		for _, t := range c.Signal(of.await) {
			if below[t.Labels.Get("device")] {
				continue
			}

			s := of.stall
			s.Subject, s.Of = t.Labels.Get("device"), []*rules.Signal{of.await, of.ops}
			s.Ops = c.For(of.ops, "device", s.Subject)

			// One latency of both kinds is judged once, by all requests.
			if all := c.For(rules.DiskOps, "device", s.Subject); all != nil && c.CombinedLatency(s.Subject) {
				if s.Class == rules.DeviceReads {
					continue
				}
				s.Combined, s.Ops = true, all
				s.Of = []*rules.Signal{of.await, rules.DiskOps}
			}

			if s.Ops == nil {
				continue
			}

			s.Waiting = make([]float64, len(s.Ops))
			for k := range s.Waiting {
				if s.Waiting[k] = t.Values[k] * s.Ops[k]; s.Ops[k] == 0 {
					s.Waiting[k] = 0
				}
			}

			s.Queued = frozen(c, s.Subject)
			if s, ok := byDevice(c, s); ok {
				add(s)
			}
		}
	}

	c.Pinpoint(out)
	return out
}

// frozenBusy is the share of a cell in which a device is busy that completes hardly anything, and
// frozenOps the share of its usual completions up to which that is hardly anything.
const (
	frozenBusy = 0.9
	frozenOps  = 0.1
)

// frozen is 1 where a device is busy and completes hardly any request, of reads and writes together:
// one that writes nothing may be busy with reads. It is nil if that is not measured.
func frozen(c *rules.Case, device string) []float64 {
	busy, ops := c.For(rules.DiskBusy, "device", device), c.For(rules.DiskOps, "device", device)
	if busy == nil || ops == nil {
		return nil
	}

	least := frozenOps * timeline.Quantile(ops, 0.5)
	out := make([]float64, len(busy))
	for k, x := range busy {
		switch {
		case math.IsNaN(x) || math.IsNaN(ops[k]):
			out[k] = math.NaN()
		case x > frozenBusy && ops[k] <= least:
			out[k] = 1
		}
	}

	return out
}

// idleOps is the part of a busy cell's completions (their upper quartile) under which a
// cell is idle, unless it stalled.
const idleOps = 0.1

func underLoad(s rules.Stall) timeline.Mask {
	busy := timeline.Quantile(s.Ops, 0.75)
	loaded := timeline.Where(s.Ops, func(x float64) bool { return x > 0 && x >= idleOps*busy })
	return loaded.Or(s.Cells).And(s.Observed)
}

// primary is the stalled time the causes are judged against: that of the databases'
// detectors together, else of the busiest device's.
func primary(all []rules.Stall) rules.Stall {
	var best rules.Stall
	for _, s := range all {
		switch {
		case s.Aside && !best.Aside && best.Cells != nil:
		case best.Cells == nil || best.Aside && !s.Aside:
			best = s
		case s.IsDatabase == best.IsDatabase && s.AsSampled().Count() > best.AsSampled().Count() && worse(best):
			best = s
		case s.IsDatabase && !best.IsDatabase:
			best = s
		}
	}
	return best
}

// worse reports whether a longer stall of something else goes before best: not before
// writes, for this is about why writes stall, unless only reads do.
func worse(best rules.Stall) bool { return !best.Foremost || !best.Any() }

// byDevice judges a device's writes against what they take while it is not saturated: a log that
// starts and ends within a burst would else call its queueing usual.
func byDevice(c *rules.Case, s rules.Stall) (rules.Stall, bool) {
	busy := c.For(rules.DiskBusy, "device", s.Subject)
	queue := c.For(rules.DiskQueue, "device", s.Subject)
	var calm []float64

	saturated := 0
	for k, x := range s.Ops {
		switch {
		case !(x > 0):
		case busy != nil && queue != nil && busy[k] > 0.9 && queue[k] > 2:
			saturated++
		default:
			calm = append(calm, s.Waiting[k]/x)
		}
	}

	if saturated > len(calm) {
		// Hardly seen otherwise: what flash takes has to do for the usual.
		from := deviceQueuedS
		if usual := timeline.Quantile(calm, 0.5); float64(len(calm)) >= calmShare*float64(len(calm)+saturated) {
			from = min(from, max(queuedFactor*usual, usual+queuedLeastS))
		}
		return rules.StalledCells(c.Time, []float64{from}, s)
	}

	return rules.StalledCells(c.Time,
		[]float64{min(max(rules.StallFactor*timeline.Quantile(calm, 0.5), deviceFloorS), rules.StallCeilingS)}, s)
}
