package rules

import (
	"math"
	"slices"
	"strings"

	"plimsoll/internal/record/timeline"
)

// A stacked device takes as long for a request as the slowest of the devices below that it uses.
// Any extra time is lost in the layer itself, as long as the devices below have room: a full queue
// makes requests wait above it before the device below counts them.
const (
	layerFactor = 2.0   // times the slowest device below, for the time to be lost above it
	layerLeastS = 0.002 // and at least this many seconds longer
	legFactor   = 3.0   // times the other legs, for one leg to be the slow one
	legMoreOps  = 1.5   // times the other legs' requests: above this the leg is busy, not slow
	othersBytes = 2.0   // times the layer's own bytes below it: more come from other layers
	// A RAID reads more than its users request: a parity's old data, or all of a leg during a
	// resync. It matters from extraReads bytes per byte written, at a rate of extraLeast, if
	// requests take extraWaitS.
	extraReads = 0.5
	extraLeast = 1e6
	extraWaitS = 0.01
	// If the sources do not report what is below a layer, it is matched by its bytes: equal to
	// within sumsNear for sumsMost of the time.
	sumsNear = 0.2
	sumsMost = 0.9
	sumsMin  = 8 // intervals
	// An excerpt of few intervals must match in all of them, and more closely.
	sumsFewNear = 0.05
	sumsFewMin  = 2
)

// A layer is a device built on others: a stacked device.
type layer struct {
	device string
	below  []string
	made   string // "crypt", "lvm", "mpath", "raid5"; "" if unknown
	called string // device-mapper's name; "" if unknown
	syncs  string // a RAID's sync_action when the recording began; "" if unknown
}

// syncing reports whether a RAID was being checked or rebuilt when the recording began.
func (l layer) syncing() bool { return l.syncs != "" && l.syncs != "idle" && l.syncs != "frozen" }

// A layerLoss is a layer that makes requests wait.
type layerLoss struct {
	layer
	kind                string // "reads" or "writes"
	why                 string // "leg", "sync", "parity", "layer"
	cells               timeline.Mask
	upperS, lowerS      float64 // median await of the layer, and of the slowest device below
	leg                 string  // the slow leg
	othersS             float64 // median await of the slowest other leg
	asked, moved, extra float64 // mean bytes/s: of the layer; of the devices below; read in excess
}

// layers are the stacked devices and the devices below each, as reported by the host or, if there
// is only one, as implied by its bytes.
func (c *Case) layers() []layer {
	var out []layer
	var named, plain []string

	known := false
	for _, t := range c.Signal(DiskMoved) {
		dev := t.Labels.Get("device")
		if !stacked(dev) {
			plain = append(plain, dev)
			continue
		}

		named = append(named, dev)
		text, ok := c.Facts["below."+dev]
		known = known || ok

		below := strings.Fields(text)
		if len(below) == 0 || slices.ContainsFunc(below,
			func(b string) bool { return c.For(DiskMoved, "device", b) == nil }) {
			continue
		}

		out = append(out, layer{dev, below, c.Facts["layer."+dev], c.Facts["called."+dev], c.Facts["sync."+dev]})
	}

	if known {
		return out
	}

	for _, dev := range named {
		if below := c.sameBytes(dev, plain, len(named) == 1); below != nil {
			out = append(out, layer{device: dev, below: below})
		}
	}

	return out
}

// sameBytes returns the one device that moves the same bytes as dev or, if dev is the only layer,
// all of them if their sum matches; nil if that is not certain.
func (c *Case) sameBytes(dev string, plain []string, only bool) []string {
	host := hostOf(dev)
	var near, same []string
	for _, o := range plain {
		if hostOf(o) != host {
			continue
		}
		near = append(near, o)
		if c.sumsTo(dev, o) {
			same = append(same, o)
		}
	}

	switch {
	case len(same) == 1:
		return same
	case len(same) == 0 && only && len(near) > 1 && c.sumsTo(dev, near...):
		return near
	}

	return nil
}

// hostOf is the part of a device's name that names its host; mostly "".
func hostOf(device string) string { return device[:strings.LastIndexByte(device, '/')+1] }

// lostSeldom is the share of the time for which a layer may be slower than the devices below and
// still be judged through them.
const lostSeldom = 0.02

// JudgedBelow returns the layers that move the bytes of the devices below them and take no longer.
// Waits show at the devices below and must count only once.
func (c *Case) JudgedBelow() map[string]bool {
	out := map[string]bool{}
	for _, l := range c.layers() {
		if !c.sumsTo(l.device, l.below...) {
			continue
		}

		// Count only intervals with requests: idle ones show nothing.
		slower, active := 0, 0
		for _, kind := range [][2]*Signal{{DiskWriteAwait, DiskWrites}, {DiskReadAwait, DiskReads}} {
			upper, lower, ops := c.For(kind[0], "device", l.device), c.slowest(kind[0], l.below),
				c.For(kind[1], "device", l.device)
			for k, x := range upper {
				if k >= len(ops) || !(ops[k] > 0) {
					continue
				}
				active++
				if x >= layerFactor*lower[k] && x >= lower[k]+layerLeastS {
					slower++
				}
			}
		}

		if float64(slower) <= lostSeldom*float64(active) {
			out[l.device] = true
		}
	}

	return out
}

// sumsTo reports whether the devices below together move the bytes of a device.
func (c *Case) sumsTo(device string, below ...string) bool {
	own, sum := c.For(DiskMoved, "device", device), c.sum(DiskMoved, below)
	busy := timeline.Where(own, func(x float64) bool { return x > 0 })
	near, least, most := sumsNear, sumsMin, sumsMost
	if c.Grid.N < 2*sumsMin {
		near, least, most = sumsFewNear, sumsFewMin, 1
	}

	alike := timeline.Where(ratio(sum, own), func(x float64) bool { return math.Abs(x-1) <= near })
	return busy.Count() >= least && Share(alike, busy) >= most &&
		math.Abs(timeline.Sum(sum)-timeline.Sum(own)) <= sameRates*timeline.Sum(own)
}

// sum adds up a signal over devices.
func (c *Case) sum(of *Signal, devices []string) []float64 {
	out := make([]float64, c.Grid.N)
	for _, dev := range devices {
		for k, x := range c.For(of, "device", dev) {
			out[k] += x
		}
	}
	return out
}

// layerLosses returns each layer that makes requests wait in the stalled time, once.
func (c *Case) layerLosses() []*layerLoss {
	if !c.Stall.Any() {
		return nil
	}

	var out []*layerLoss
	for _, l := range c.layers() {
		var best *layerLoss
		for _, kind := range []struct {
			name              string
			await, ops, bytes *Signal
		}{{"writes", DiskWriteAwait, DiskWrites, DiskWritten}, {"reads", DiskReadAwait, DiskReads, nil}} {
			upper := c.For(kind.await, "device", l.device)
			if upper == nil {
				continue
			}

			loss := &layerLoss{layer: l, kind: kind.name}
			if c.slowLeg(loss, upper, kind.await, kind.ops) || c.extraWork(loss, upper) ||
				c.lostInside(loss, upper, kind.await, kind.bytes) {
				// Of reads and writes, the kind that explains more of the stalled time.
				if best == nil || loss.cells.And(c.Stall.Cells).Count() > best.cells.And(c.Stall.Cells).Count() {
					best = loss
				}
			}
		}

		if best != nil {
			c.measure(best)
			out = append(out, best)
		}
	}

	return out
}

// slowest is the highest await of the devices in each cell or the one before it, since counters may
// credit a wait to either. NaN means no request below.
func (c *Case) slowest(await *Signal, devices []string) []float64 {
	out := make([]float64, c.Grid.N)
	for k := range out {
		out[k] = math.NaN()
	}
	for _, dev := range devices {
		for k, x := range c.For(await, "device", dev) {
			for _, at := range []int{k, k + 1} {
				if at < len(out) && x == x && !(out[at] >= x) {
					out[at] = x
				}
			}
		}
	}
	return out
}

// slowLeg reports whether one leg is slower than the others at no more requests. A leg that is
// slower than it used to be belongs to disk/degraded.
func (c *Case) slowLeg(l *layerLoss, upper []float64, await, ops *Signal) bool {
	if len(l.below) < 2 {
		return false
	}

	for i, leg := range l.below {
		others := slices.Delete(slices.Clone(l.below), i, i+1)
		own, rest := c.For(await, "device", leg), c.slowest(await, others)

		cells := make(timeline.Mask, c.Grid.N)
		for k, x := range own {
			cells[k] = x >= legFactor*rest[k] && x >= rest[k]+layerLeastS && upper[k] >= rest[k]+layerLeastS
		}

		in := cells.And(c.Stall.Cells)
		if Share(cells, c.Stall.Cells) < MinAttributable ||
			slices.ContainsFunc(c.slowdowns(), func(s *slowdown) bool { return s.device == leg }) {
			continue
		}

		// A leg with more requests than the others is slow because it is busy.
		busiest := 0.0
		for _, o := range others {
			busiest = max(busiest, timeline.Quantile(timeline.At(c.For(ops, "device", o), in), 0.5))
		}

		if !(timeline.Quantile(timeline.At(c.For(ops, "device", leg), in), 0.5) <= legMoreOps*busiest) {
			continue
		}

		l.why, l.cells, l.leg = "leg", cells, leg
		l.upperS, l.lowerS = timeline.Quantile(timeline.At(upper, in), 0.5),
			timeline.Quantile(timeline.At(own, in), 0.5)
		l.othersS = timeline.Quantile(timeline.At(rest, in), 0.5)

		return true
	}

	return false
}

// extraWork reports whether a RAID's legs read much more than was requested while requests waited.
func (c *Case) extraWork(l *layerLoss, upper []float64) bool {
	if !strings.HasPrefix(l.made, "raid") {
		return false
	}

	extra := c.unasked(l.layer)
	written := c.sum(DiskWritten, c.onSame(l.layer))

	cells := make(timeline.Mask, c.Grid.N)
	for k := range cells {
		cells[k] = extra[k] >= extraLeast && extra[k] >= extraReads*written[k] && upper[k] >= extraWaitS
	}

	in := cells.And(c.Stall.Cells)
	if Share(cells, c.Stall.Cells) < MinAttributable {
		return false
	}

	// A write reads parity: its old value and the old data, or the rest of the stripe. More than that
	// cannot come from writes.
	bound := max(3, float64(len(l.below)))
	l.why = "parity"
	if l.syncing() || !slices.Contains([]string{"raid4", "raid5", "raid6"}, l.made) ||
		timeline.Sum(timeline.At(extra, in)) > bound*timeline.Sum(timeline.At(written, in)) {
		l.why = "sync"
	}

	l.cells, l.upperS = cells, timeline.Quantile(timeline.At(upper, in), 0.5)
	return true
}

// unasked is the number of bytes that the devices below a layer read beyond the requests to the layer,
// and to other layers on the same devices.
func (c *Case) unasked(l layer) []float64 {
	on := c.onSame(l)
	below, belowWritten := c.sum(DiskMoved, l.below), c.sum(DiskWritten, l.below)
	own, ownWritten := c.sum(DiskMoved, on), c.sum(DiskWritten, on)
	out := make([]float64, c.Grid.N)
	for k := range out {
		out[k] = (below[k] - belowWritten[k]) - (own[k] - ownWritten[k])
	}
	return out
}

// onSame returns the layers that share a device below with a layer, itself included.
func (c *Case) onSame(l layer) []string {
	var out []string
	for _, o := range c.layers() {
		if slices.ContainsFunc(o.below, func(dev string) bool { return slices.Contains(l.below, dev) }) {
			out = append(out, o.device)
		}
	}
	return out
}

// lostInside reports whether requests wait in the layer while the devices below are quick and have
// room. bytes is the signal for the bytes of this kind of request; nil means reads.
func (c *Case) lostInside(l *layerLoss, upper []float64, await, bytes *Signal) bool {
	lower := c.slowest(await, l.below)

	// full marks where a device below is saturated: then its queue, not the layer, makes requests
	// wait.
	full := make(timeline.Mask, c.Grid.N)
	for _, dev := range l.below {
		busy, queue := c.For(DiskBusy, "device", dev), c.For(DiskQueue, "device", dev)
		if busy == nil || queue == nil {
			return false
		}
		for k := range full {
			full[k] = full[k] || !(busy[k] <= saturatedBusy || queue[k] <= saturatedQueue)
		}
	}

	cells := timeline.Where(ratio(upper, lower),
		func(x float64) bool { return x >= layerFactor }).Without(full.Widen(0, 1))
	for k := range cells {
		cells[k] = cells[k] && upper[k] >= lower[k]+layerLeastS
	}

	in := cells.And(c.Stall.Cells)
	if Share(cells, c.Stall.Cells) < MinAttributable ||
		// Saturated CPUs delay every layer, so they would be the cause.
		timeline.Quantile(timeline.At(c.One(CPUBusy), in), 0.5) >= slowCPU {
		return false
	}

	moved := func(dev string) float64 {
		all, written := c.For(DiskMoved, "device", dev), c.For(DiskWritten, "device", dev)
		if bytes != nil {
			return timeline.Sum(timeline.At(written, in))
		}
		return timeline.Sum(timeline.At(all, in)) - timeline.Sum(timeline.At(written, in))
	}

	// The devices below also serve other layers, so their await says little about this one.
	if slices.ContainsFunc(l.below, func(dev string) bool { return moved(dev) > othersBytes*moved(l.device) }) {
		return false
	}

	l.why, l.cells = "layer", cells
	l.upperS, l.lowerS = timeline.Quantile(timeline.At(upper, in), 0.5),
		timeline.Quantile(timeline.At(lower, in), 0.5)
	return true
}

// measure fills in the bytes of a loss.
func (c *Case) measure(l *layerLoss) {
	in := l.cells.And(c.Stall.Cells)
	l.asked = timeline.Mean(timeline.At(c.For(DiskMoved, "device", l.device), in))
	l.moved = timeline.Mean(timeline.At(c.sum(DiskMoved, l.below), in))
	l.extra = timeline.Mean(timeline.At(c.unasked(l.layer), in))
}
