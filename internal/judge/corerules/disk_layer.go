package corerules

import (
	"slices"
	"strings"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// A layer loses time by itself, or because one of its legs is slow (see rules.LayerFactor).
const (
	legFactor   = 3.0 // times the other legs, for one leg to be the slow one
	legMoreOps  = 1.5 // times the other legs' requests: above this the leg is busy, not slow
	othersBytes = 2.0 // times the layer's own bytes below it: more come from other layers
	// A RAID reads more than its users request: a parity's old data, or all of a leg during a
	// resync. It matters from extraReads bytes per byte written, at a rate of extraLeast, if
	// requests take extraWaitS.
	extraReads = 0.5
	extraLeast = 1e6
	extraWaitS = 0.01
)

// syncing reports whether a RAID was being checked or rebuilt when the recording began.
func syncing(l rules.Layer) bool { return l.Syncs != "" && l.Syncs != "idle" && l.Syncs != "frozen" }

// A layerLoss is a layer that makes requests wait.
type layerLoss struct {
	rules.Layer
	kind                string // "reads" or "writes"
	why                 string // "leg", "sync", "parity", "layer"
	cells               timeline.Mask
	upperS, lowerS      float64 // median await of the layer, and of the slowest device below
	leg                 string  // the slow leg
	othersS             float64 // median await of the slowest other leg
	asked, moved, extra float64 // mean bytes/s: of the layer; of the devices below; read in excess
}

// layerLosses returns each layer that makes requests wait in the stalled time, once.
func layerLosses(c *rules.Case) []*layerLoss {
	if !c.Stall.Any() {
		return nil
	}

	var out []*layerLoss
	for _, l := range c.Layers() {
		var best *layerLoss
		for _, kind := range []struct {
			name              string
			await, ops, bytes *rules.Signal
		}{{"writes", rules.DiskWriteAwait, rules.DiskWrites, rules.DiskWritten}, {"reads", rules.DiskReadAwait, rules.DiskReads, nil}} {
			upper := c.For(kind.await, "device", l.Device)
			if upper == nil {
				continue
			}

			loss := &layerLoss{Layer: l, kind: kind.name}
			if slowLeg(c, loss, upper, kind.await, kind.ops) || extraWork(c, loss, upper) ||
				lostInside(c, loss, upper, kind.await, kind.bytes) {
				// Of reads and writes, the kind that explains more of the stalled time.
				if best == nil || loss.cells.And(c.Stall.Cells).Count() > best.cells.And(c.Stall.Cells).Count() {
					best = loss
				}
			}
		}

		if best != nil {
			measure(c, best)
			out = append(out, best)
		}
	}

	return out
}

// slowLeg reports whether one leg is slower than the others at no more requests. A leg that is
// slower than it used to be belongs to disk/degraded.
func slowLeg(input *rules.Case, loss *layerLoss, upper []float64, await, ops *rules.Signal) bool {
	if len(loss.Below) < 2 {
		return false
	}

	for i, leg := range loss.Below {
		others := slices.Delete(slices.Clone(loss.Below), i, i+1)
		own, rest := input.For(await, "device", leg), input.Slowest(await, others)

		cells := make(timeline.Mask, input.Grid.N)
		for k, x := range own {
			cells[k] = x >= legFactor*rest[k] && x >= rest[k]+rules.LayerLeastS &&
				upper[k] >= rest[k]+rules.LayerLeastS
		}

		in := cells.And(input.Stall.Cells)
		if rules.Share(cells, input.Stall.Cells) < rules.MinAttributable ||
			slices.ContainsFunc(input.Slowdowns(), func(s *rules.Slowdown) bool { return s.Device == leg }) {
			continue
		}

		// A leg with more requests than the others is slow because it is busy.
		busiest := 0.0
		for _, o := range others {
			busiest = max(busiest, timeline.Quantile(timeline.At(input.For(ops, "device", o), in), 0.5))
		}

		if !(timeline.Quantile(timeline.At(input.For(ops, "device", leg), in), 0.5) <= legMoreOps*busiest) {
			continue
		}

		loss.why, loss.cells, loss.leg = "leg", cells, leg
		loss.upperS, loss.lowerS = timeline.Quantile(timeline.At(upper, in), 0.5),
			timeline.Quantile(timeline.At(own, in), 0.5)
		loss.othersS = timeline.Quantile(timeline.At(rest, in), 0.5)

		return true
	}

	return false
}

// extraWork reports whether a RAID's legs read much more than was requested while requests waited.
func extraWork(c *rules.Case, l *layerLoss, upper []float64) bool {
	if !strings.HasPrefix(l.Made, "raid") {
		return false
	}

	extra := unasked(c, l.Layer)
	written := c.Sum(rules.DiskWritten, onSame(c, l.Layer))

	cells := make(timeline.Mask, c.Grid.N)
	for k := range cells {
		cells[k] = extra[k] >= extraLeast && extra[k] >= extraReads*written[k] && upper[k] >= extraWaitS
	}

	in := cells.And(c.Stall.Cells)
	if rules.Share(cells, c.Stall.Cells) < rules.MinAttributable {
		return false
	}

	// A write reads parity: its old value and the old data, or the rest of the stripe. More than that
	// cannot come from writes.
	bound := max(3, float64(len(l.Below)))
	l.why = "parity"
	if syncing(l.Layer) || !slices.Contains([]string{"raid4", "raid5", "raid6"}, l.Made) ||
		timeline.Sum(timeline.At(extra, in)) > bound*timeline.Sum(timeline.At(written, in)) {
		l.why = "sync"
	}

	l.cells, l.upperS = cells, timeline.Quantile(timeline.At(upper, in), 0.5)
	return true
}

// unasked is the number of bytes that the devices below a layer read beyond the requests to the layer,
// and to other layers on the same devices.
func unasked(c *rules.Case, l rules.Layer) []float64 {
	on := onSame(c, l)
	below, belowWritten := c.Sum(rules.DiskMoved, l.Below), c.Sum(rules.DiskWritten, l.Below)
	own, ownWritten := c.Sum(rules.DiskMoved, on), c.Sum(rules.DiskWritten, on)
	out := make([]float64, c.Grid.N)
	for k := range out {
		out[k] = (below[k] - belowWritten[k]) - (own[k] - ownWritten[k])
	}
	return out
}

// onSame returns the layers that share a device below with a layer, itself included.
func onSame(c *rules.Case, l rules.Layer) []string {
	var out []string
	for _, o := range c.Layers() {
		if slices.ContainsFunc(o.Below, func(dev string) bool { return slices.Contains(l.Below, dev) }) {
			out = append(out, o.Device)
		}
	}
	return out
}

// lostInside reports whether requests wait in the layer while the devices below are quick and have
// room. bytes is the signal for the bytes of this kind of request; nil means reads.
func lostInside(input *rules.Case, loss *layerLoss, upper []float64, await, bytes *rules.Signal) bool {
	lower := input.Slowest(await, loss.Below)

	// full marks where a device below is saturated: then its queue, not the layer, makes requests
	// wait.
	full := make(timeline.Mask, input.Grid.N)
	for _, dev := range loss.Below {
		busy, queue := input.For(rules.DiskBusy, "device", dev), input.For(rules.DiskQueue, "device", dev)
		if busy == nil || queue == nil {
			return false
		}
		for k := range full {
			full[k] = full[k] || !(busy[k] <= rules.SaturatedBusy || queue[k] <= rules.SaturatedQueue)
		}
	}

	cells := timeline.Where(rules.Ratio(upper, lower),
		func(x float64) bool { return x >= rules.LayerFactor }).Without(full.Widen(0, 1))
	for k := range cells {
		cells[k] = cells[k] && upper[k] >= lower[k]+rules.LayerLeastS
	}

	in := cells.And(input.Stall.Cells)
	if rules.Share(cells, input.Stall.Cells) < rules.MinAttributable ||
		// Saturated CPUs delay every layer, so they would be the cause.
		timeline.Quantile(timeline.At(input.One(rules.CPUBusy), in), 0.5) >= rules.SlowCPU {
		return false
	}

	moved := func(dev string) float64 {
		all, written := input.For(rules.DiskMoved, "device", dev), input.For(rules.DiskWritten, "device", dev)
		if bytes != nil {
			return timeline.Sum(timeline.At(written, in))
		}
		return timeline.Sum(timeline.At(all, in)) - timeline.Sum(timeline.At(written, in))
	}

	// The devices below also serve other layers, so their await says little about this one.
	if slices.ContainsFunc(loss.Below, func(dev string) bool {
		return moved(dev) >
			othersBytes*moved(loss.Device)
	}) {
		return false
	}

	loss.why, loss.cells = "layer", cells
	loss.upperS, loss.lowerS = timeline.Quantile(timeline.At(upper, in), 0.5),
		timeline.Quantile(timeline.At(lower, in), 0.5)
	return true
}

// measure fills in the bytes of a loss.
func measure(c *rules.Case, l *layerLoss) {
	in := l.cells.And(c.Stall.Cells)
	l.asked = timeline.Mean(timeline.At(c.For(rules.DiskMoved, "device", l.Device), in))
	l.moved = timeline.Mean(timeline.At(c.Sum(rules.DiskMoved, l.Below), in))
	l.extra = timeline.Mean(timeline.At(unasked(c, l.Layer), in))
}
