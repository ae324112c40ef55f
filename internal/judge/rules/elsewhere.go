package rules

import (
	"math"

	"plimsoll/internal/record/timeline"
)

// Bytes that a database hands to the operating system end up on some device. If the devices in the
// sources wrote hardly any of them, the data is on a device that the sources do not contain, and
// the ones they do contain say nothing about it.
const (
	leastHanded = 64e6 // bytes: less may still be in the page cache, or be noise
	// arrivedShare is the share of the handed bytes below which they went to another device. Pages
	// that are written again before the kernel flushes them arrive once, but not as rarely as one
	// in five.
	arrivedShare = 0.2
	// handedS is the minimum length of a recording that does not report the dirty page cache:
	// several times as long as the kernel keeps a dirty page (30 s, vm.dirty_expire_centisecs).
	handedS = 120
)

// Elsewhere describes data on a device that the sources do not contain.
type Elsewhere struct {
	Handed  float64 // bytes that the database handed to the operating system
	Arrived float64 // bytes that the devices in the sources wrote in the same time
	Device  string  // the one that wrote the most
	Cells   timeline.Mask
}

// FindElsewhere compares the bytes that the databases handed over with those that the devices
// wrote; nil if the sources do not contain both, or if the bytes arrived.
func FindElsewhere(input *Case) *Elsewhere {
	handed := input.handed()
	if handed == nil || !input.Measured(DiskWritten) {
		return nil
	}

	cells := timeline.Known(handed)
	written := make([]float64, input.Grid.N)
	devices := make(timeline.Mask, input.Grid.N)
	elsewhere := &Elsewhere{}
	most := -1.0
	step := input.Grid.StepSeconds()

	for _, t := range input.Signal(DiskWritten) {
		devices = devices.Or(timeline.Known(t.Values))
		for k, x := range t.Values {
			if x > 0 {
				written[k] += x
			}
		}
		if sum := timeline.Sum(timeline.At(t.Values, cells)); sum > most {
			elsewhere.Device, most = t.Labels.Get("device"), sum
		}
	}

	// Both sides must be measured in the same cells.
	elsewhere.Cells = cells.And(devices)
	elsewhere.Handed = timeline.Sum(timeline.At(handed, elsewhere.Cells)) * step
	elsewhere.Arrived = timeline.Sum(timeline.At(written, elsewhere.Cells)) * step

	// Bytes still in the page cache have not arrived yet, but they are not lost either.
	waiting, known := input.stillDirty()
	if !known && input.Seconds(elsewhere.Cells) < handedS {
		return nil
	}

	if !(elsewhere.Handed-waiting >= leastHanded) ||
		elsewhere.Arrived >= arrivedShare*(elsewhere.Handed-waiting) {
		return nil
	}

	return elsewhere
}

// handed returns the bytes per second that the databases in the recording handed to the operating
// system; nil if none reports it.
func (c *Case) handed() []float64 {
	var out []float64
	for _, e := range c.Pack.Engines() {
		if e.Handed == nil {
			continue
		}
		values := e.Handed(&c.Signals)
		if out == nil && len(values) > 0 {
			out = timeline.Unknown(c.Grid.N)
		}
		timeline.Add(out, values)
	}
	return out
}

// stillDirty is by how many bytes the part of the page cache that waits to be written grew during
// the recording.
func (c *Case) stillDirty() (bytes float64, known bool) {
	for _, s := range []*Signal{MemoryDirty, MemoryWriteback} {
		first, last := math.NaN(), math.NaN()
		for _, x := range c.One(s) {
			if math.IsNaN(x) {
				continue
			}
			if math.IsNaN(first) {
				first = x
			}
			last = x
		}

		if !math.IsNaN(last) {
			bytes, known = bytes+last-first, true
		}
	}
	return max(0, bytes), known
}
