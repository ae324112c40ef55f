package diagnose

import (
	"math"
	"slices"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

const (
	deviceFloorS  = 0.005 // least threshold for a device's writes: several times what flash takes
	deviceQueuedS = 0.010 // threshold for a device that is saturated whenever it writes
	// On a device that is saturated most of the time but not always, queuedFactor times the calm
	// latency is queueing, provided calmShare of the intervals are calm enough to know that
	// latency.
	queuedFactor = 3
	queuedLeastS = 0.001
	calmShare    = 0.25
)

// detect runs every detector that has its data, the ones closest to clients first.
func detect(input *rules.Case) []rules.Stall {
	var out []rules.Stall
	add := func(s rules.Stall) {
		s.Active = underLoad(s)
		out = append(out, s)
	}

	for _, e := range input.Pack.Engines() {
		if e.Stalls == nil {
			continue
		}
		for _, s := range e.Stalls(&input.Signals) {
			if !s.Logged {
				s = rules.ApartFew(input.Time, s)
			}
			add(s)
		}
	}

	for _, s := range rules.BenchStalls(&input.Signals) {
		add(s)
	}

	below := input.JudgedBelow()
	for _, of := range []struct {
		await, ops *rules.Signal
		stall      rules.Stall
	}{
		{rules.DiskWriteAwait, rules.DiskWrites, rules.Stall{Rule: "disk/slow-writes", Class: rules.DeviceWrites}},
		{rules.DiskReadAwait, rules.DiskReads,
			rules.Stall{Rule: "disk/slow-reads", Class: rules.DeviceReads, Aside: true}},
	} {
		for _, track := range input.Signal(of.await) {
			// A device below another serves the same requests: count them once.
			if below[track.Labels.Get("device")] {
				continue
			}

			stall := of.stall
			stall.Subject, stall.Of = track.Labels.Get("device"), []*rules.Signal{of.await, of.ops}
			stall.Ops = input.For(of.ops, "device", stall.Subject)

			// One latency of both kinds is judged once, by all requests.
			if all := input.For(rules.DiskOps, "device", stall.Subject); all != nil && input.CombinedLatency(stall.Subject) {
				if stall.Class == rules.DeviceReads {
					continue
				}
				stall.Combined, stall.Ops = true, all
				stall.Of = []*rules.Signal{of.await, rules.DiskOps}
			}

			if stall.Ops == nil {
				continue
			}

			stall.Waiting = make([]float64, len(stall.Ops))
			for k := range stall.Waiting {
				// Without operations nothing waits, even if the latency is NaN.
				if stall.Waiting[k] = track.Values[k] * stall.Ops[k]; stall.Ops[k] == 0 {
					stall.Waiting[k] = 0
				}
			}

			stall.Queued = frozen(input, stall.Subject)
			if s, ok := byDevice(input, stall); ok {
				add(s)
			}
		}
	}

	input.Pinpoint(out)
	for i := range out {
		s := &out[i]
		s.Observed = s.Observed.Without(input.Unsampled.Without(s.AsSampled()))
		s.Active = s.Active.And(s.Observed)
	}

	return out
}

// A frozen device is busy for more than frozenBusy of a cell but completes at most frozenOps of its
// usual requests.
const (
	frozenBusy = 0.9
	frozenOps  = 0.1
)

// frozen is 1 in cells in which a device is busy but completes hardly any requests; nil if that is
// not measured. It counts reads and writes together, because a device that writes nothing may be
// busy with reads.
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

// idleOps is the fraction of a busy cell's completions (their upper quartile) below which a cell is
// idle, unless it stalled.
const idleOps = 0.1

func underLoad(s rules.Stall) timeline.Mask {
	// A log says nothing about the operations that were not slow.
	if s.Logged {
		return s.Observed
	}

	busy := timeline.Quantile(s.Ops, 0.75)
	loaded := timeline.Where(s.Ops, func(x float64) bool { return x > 0 && x >= idleOps*busy })
	return loaded.Or(s.Cells).And(s.Observed)
}

// primary returns the stalled time that causes are judged against: that of a database detector, or
// of a device if there is none.
func primary(all []rules.Stall) rules.Stall {
	var best rules.Stall
	for _, s := range all {
		switch {
		case !s.IsDatabase && !best.IsDatabase && outwaits(s, best):
			best = s
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

// worse reports whether a longer stall of another class replaces best. Writes stay first unless only
// reads stalled, because this program explains why writes stall.
func worse(best rules.Stall) bool { return !best.Foremost || !best.Any() }

// mostWaiting is how many times as much waiting in its stalled cells another class of a device needs to
// replace the first one. With less, the order of classes decides, so that noise does not.
const mostWaiting = 4

// outwaits reports whether both stalled, nearly all of the waiting is in s, and s stalled for at
// least as long as best. If a device serves 88 reads for every 6 writes, its reads stall.
func outwaits(s, best rules.Stall) bool {
	waited := func(x rules.Stall) float64 { return timeline.Sum(timeline.At(x.Waiting, x.Cells)) }
	known := s.Waiting != nil && best.Waiting != nil && s.Any() && best.Any()

	return known && s.AsSampled().Count() >= best.AsSampled().Count() && waited(s) >= mostWaiting*waited(best)
}

// outwaitsDevices reports whether s outwaits the stalls of all other classes and devices.
func outwaitsDevices(s rules.Stall, all []rules.Stall) bool {
	return !slices.ContainsFunc(all, func(x rules.Stall) bool {
		return !x.IsDatabase && !x.Aside && x.Any() && !outwaits(s, x)
	})
}

// byDevice judges a device's writes against their latency while it is not saturated. Otherwise a
// log that starts and ends within a burst would make its queueing look usual.
func byDevice(c *rules.Case, s rules.Stall) (rules.Stall, bool) {
	full, _ := c.SaturatedDevice(s.Subject)
	var calm []float64

	saturated := 0
	for k, x := range s.Ops {
		switch {
		case !(x > 0):
		case full[k]:
			saturated++
		default:
			calm = append(calm, s.Waiting[k]/x)
		}
	}

	if saturated > len(calm) {
		// The device was hardly ever calm, so a typical flash latency replaces its usual one.
		from := deviceQueuedS
		if usual := timeline.Quantile(calm, 0.5); float64(len(calm)) >= calmShare*float64(len(calm)+saturated) {
			from = min(from, max(queuedFactor*usual, usual+queuedLeastS))
		}
		return rules.StalledCells(c.Time, []float64{from}, s)
	}

	return rules.StalledCells(c.Time,
		[]float64{min(max(rules.StallFactor*timeline.Quantile(calm, 0.5), deviceFloorS), rules.StallCeilingS)}, s)
}
