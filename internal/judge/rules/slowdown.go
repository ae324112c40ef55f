package rules

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"plimsoll/internal/base/units"
	"plimsoll/internal/record/timeline"
)

// If a volume takes longer for each request, although its load is no higher than what it serves
// quickly at other times, the volume itself has become slow. The counters rule out the usual
// reasons for waiting: a burst moves more, a cap is the highest rate ever reached, larger requests
// take longer each, a busy CPU delays everything.
const (
	SlowFactor   = 3.0   // times the usual await of the same kind of request
	SlowLeastS   = 0.001 // longer than usual, in seconds
	slowCells    = 4     // minimum intervals of the slow time
	slowRequests = 20.0  // minimum requests in the slow time
	calmCells    = 8     // minimum intervals in which the device served as much quickly
	calmQuick    = 0.8   // share of the intervals with as much load that are quick
	calmGap      = 2.0   // times the 95th percentile of the intervals that are not slow
	AsMuchOps    = 0.95
	AsMuchBytes  = 0.9
	notMore      = 1.2 // times the usual rates: above this it is a burst, and a burst queues
	alikeSize    = 1.5 // times the usual size of a request
	// On a slow volume, waiting writes are merged, so requests grow. Their bytes are not the reason if
	// they take at most ownBytes of the time at leastRate, which is less than volumes deliver.
	leastRate   = 20e6
	ownBytes    = 0.1
	quickFactor = 1.5 // times its usual await: a peer below this is as quick as ever
	alikeFactor = 2.0 // and one above this is slow too
	flushFactor = 2.0 // times the usual flushes: each empties a cache first
	SlowCPU     = 0.95
	sameRates   = 0.03 // two devices with the same rates are one: a partition, a volume of one leg
	slowLimit   = 0.3  // share of the slow time over an EBS limit above which the limit is the cause
)

// A Slowdown is a device that became slow by itself.
type Slowdown struct {
	Device string
	Kind   string // "reads" or "writes"
	// cells are slow; in calm ones the device served at least as much, quickly.
	Cells, Calm timeline.Mask
	// slow are all cells in which requests took that much longer, including those in which nothing
	// stalled.
	Slow timeline.Mask
	SlowS, UsualS, Ops, UsualOps,
	Moved, UsualMoved float64
	Flat bool // its rate hardly varies meanwhile, as at a limit
	Less bool // it served clearly less than usual while requests queued
	// right after the slow time it served as much as ever: credits do not refill under load
	Recovered       bool
	Quick, Alike    []string // devices with traffic that were quick meanwhile, or slow too
	Excluded        []string // reasons that the counters rule out
	InstanceLimited bool     // EBS counted time over the instance's limit
}

// Slowdowns are the devices that were slow by themselves in the stalled time, computed once.
func (c *Case) Slowdowns() []*Slowdown { return Once(c, "slowdowns", c.findSlowdowns) }

func (c *Case) findSlowdowns() []*Slowdown {
	if !c.Stall.Any() {
		return nil
	}

	var out []*Slowdown
	for _, t := range c.Signal(DiskOps) {
		dev := t.Labels.Get("device")
		var best *Slowdown
		for _, kind := range []struct {
			name       string
			await, ops *Signal
		}{{"reads", DiskReadAwait, DiskReads}, {"writes", DiskWriteAwait, DiskWrites}} {
			s := c.slowdown(dev, kind.name, t.Values, c.For(kind.await, "device", dev), c.For(kind.ops, "device", dev))
			if s != nil && (best == nil || s.SlowS/s.UsualS > best.SlowS/best.UsualS) {
				best = s
			}
		}

		if best != nil && c.ownFault(best) {
			c.peersOf(best)
			out = append(out, best)
		}
	}

	return out
}

// slowdown compares one kind of request on a device with comparable time; nil if it was no slower.
func (c *Case) slowdown(dev, kind string, all, await, ops []float64) *Slowdown {
	moved := c.For(DiskMoved, "device", dev)
	around := c.Stall.Active.Without(c.Stall.Cells.Widen(1, 1))
	if await == nil || ops == nil || moved == nil ||
		timeline.Sum(timeline.At(ops, around.Not()))*c.Grid.StepSeconds() < slowRequests {
		return nil
	}

	slowdown := &Slowdown{Device: dev, Kind: kind}
	usual := timeline.Quantile(timeline.At(await, around), 0.5)

	// The slow cells in the stalled time: the device's counters may credit a wait a cell later.
	slow := timeline.Where(await, func(x float64) bool { return x >= SlowFactor*usual && x >= usual+SlowLeastS })
	slowdown.Slow = slow
	slowdown.Cells = reaching(slow, c.Stall.Cells.Widen(1, 1))
	requests := timeline.Sum(timeline.At(ops, slowdown.Cells)) * c.Grid.StepSeconds()

	// The test for chance uses all slow cells, since those above were selected by the stalls.
	if c.Unrelated(slow) {
		return nil
	}
	if slowdown.Cells.Count() < slowCells || requests < slowRequests ||
		Share(slowdown.Cells.Widen(1, 1), c.Stall.Cells) < MinAttributable {
		return nil
	}

	slowdown.Ops, slowdown.Moved = timeline.Quantile(timeline.At(all, slowdown.Cells), 0.5),
		timeline.Quantile(timeline.At(moved, slowdown.Cells), 0.5)
	slowdown.SlowS = timeline.Quantile(timeline.At(await, slowdown.Cells), 0.5)
	size := slowdown.Moved / slowdown.Ops

	// Comparable cells have as high a load, with requests that are no smaller.
	kindOps := timeline.Quantile(timeline.At(ops, slowdown.Cells), 0.5)
	around = around.Without(slowdown.Cells)

	comparable := make(timeline.Mask, c.Grid.N)
	for k := range comparable {
		comparable[k] = around[k] && await[k] > 0 && all[k] >= AsMuchOps*slowdown.Ops &&
			moved[k] >= AsMuchBytes*slowdown.Moved &&
			ops[k] >= AsMuchOps*kindOps &&
			(moved[k]/all[k] >= size/alikeSize || size/leastRate <= slowdown.SlowS*ownBytes)
	}

	slowdown.Calm = comparable.And(timeline.Where(await,
		func(x float64) bool { return x <= slowdown.SlowS/SlowFactor }))
	if slowdown.Calm.Count() < calmCells || Share(slowdown.Calm, comparable) < calmQuick {
		return nil
	}

	slowdown.UsualS = timeline.Quantile(timeline.At(await, slowdown.Calm), 0.5)
	slowdown.UsualOps, slowdown.UsualMoved = timeline.Quantile(timeline.At(all, around), 0.5),
		timeline.Quantile(timeline.At(moved, around), 0.5)
	if slowdown.SlowS < slowdown.UsualS+SlowLeastS || slowdown.Ops > notMore*slowdown.UsualOps ||
		slowdown.Moved > notMore*slowdown.UsualMoved {
		return nil
	}

	in := timeline.At(all, slowdown.Cells)

	// A slowdown is a distinct state, not just the tail of a latency that always varies.
	others := timeline.Where(ops, func(x float64) bool { return x > 0 }).Without(slow.Widen(1, 1))
	if timeline.Quantile(timeline.At(await, others), 0.95) > slowdown.SlowS/calmGap {
		return nil
	}

	slowdown.Flat = timeline.Quantile(in, 0.9) <= (1+2*CapTolerance)*timeline.Quantile(in, 0.1)
	queue := c.For(DiskQueue, "device", dev)
	slowdown.Less = slowdown.Ops < lessDone*slowdown.UsualOps &&
		timeline.Quantile(timeline.At(queue, slowdown.Cells),
			0.5) > timeline.Quantile(timeline.At(queue, slowdown.Calm), 0.5)
	slowdown.Recovered = slowdown.recovers(all, await)
	slowdown.Excluded = append(slowdown.Excluded,
		fmt.Sprintf("Higher load: %s and %s meanwhile; it served at least as much in %d other intervals, %s of them quickly.",
			units.Value(slowdown.Ops, "1/s"), units.Value(slowdown.Moved, "bytes/s"), comparable.Count(),
			units.Percent(Share(slowdown.Calm, comparable))),
		fmt.Sprintf("Larger requests: %s each meanwhile, %s in the time used for comparison.", units.Bytes(size),
			units.Bytes(timeline.Quantile(timeline.At(Ratio(moved, all), slowdown.Calm), 0.5))))

	return slowdown
}

// Degraded reports whether a device was slow by itself in most of some cells and then as quick as
// ever.
func (c *Case) Degraded(cells timeline.Mask) bool {
	return slices.ContainsFunc(c.Slowdowns(), func(s *Slowdown) bool {
		return s.Recovered && !s.InstanceLimited && Share(s.Cells.Widen(1, 1), cells) >= degradedMost
	})
}

// degradedMost is the share of a time in which a device was slow by itself, above which waiting for
// that device is not a separate cause.
const degradedMost = 0.7

// recovers reports whether a device served as much as ever, quickly, right after it was slow.
func (s *Slowdown) recovers(ops, await []float64) bool {
	eps := s.Cells.Episodes()
	last := eps[len(eps)-1].Last
	after := timeline.MaskOf(len(ops), []timeline.Episode{{First: last + 1, Last: last + 2*slowCells}})
	quick := timeline.Where(await, func(x float64) bool { return x <= s.SlowS/SlowFactor })
	return Share(timeline.Where(ops, func(x float64) bool { return x >= lessDone*s.UsualOps }).And(quick),
		after) >= calmQuick
}

// slowGap is how many quicker cells may interrupt a run of slow ones.
const slowGap = 2

// reaching returns the whole runs of a mask that overlap the given cells.
func reaching(mask, into timeline.Mask) timeline.Mask {
	out := make(timeline.Mask, len(mask))
	for _, e := range mask.Close(slowGap).Episodes() {
		if into[e.First:e.Last+1].Count() > 0 {
			copy(out[e.First:e.Last+1], mask[e.First:e.Last+1])
		}
	}
	return out
}

// Ratio divides one series by another; NaN if the divisor is not positive, and nil without either.
func Ratio(a, b []float64) []float64 {
	if a == nil || b == nil {
		return nil
	}
	out := timeline.Unknown(len(b))
	for k, x := range b {
		if x > 0 {
			out[k] = a[k] / x
		}
	}
	return out
}

// ownFault rules out other reasons for delayed requests: limits that EBS counts, flushes, the CPUs
// and memory.
func (c *Case) ownFault(slowdown *Slowdown) bool {
	over := func(signals ...*Signal) (share float64, measured bool) {
		for _, of := range signals {
			for _, t := range c.Signal(of) {
				if x := timeline.Mean(timeline.At(t.Values, slowdown.Cells)); x == x {
					share, measured = max(share, x), true
				}
			}
		}
		return share, measured
	}

	volume, counted := over(EBSVolumeIOPSExceeded, EBSVolumeThroughputExceeded)
	if volume >= slowLimit {
		return false
	}

	if counted {
		slowdown.Excluded = append(slowdown.Excluded, "The volume's own limits: EBS counted "+units.Percent(volume)+
			" of the time over them.")
	}

	instance, counted := over(EBSInstanceIOPSExceeded, EBSInstanceThroughputExceeded)
	slowdown.InstanceLimited = instance >= slowLimit
	if counted && !slowdown.InstanceLimited {
		slowdown.Excluded = append(slowdown.Excluded, "The instance's limits: EBS counted "+units.Percent(instance)+
			" of the time over them.")
	}

	if flushes := c.For(DiskFlushes, "device", slowdown.Device); flushes != nil {
		then, usual := timeline.Mean(timeline.At(flushes, slowdown.Cells)),
			timeline.Mean(timeline.At(flushes, slowdown.Calm))
		if then > flushFactor*usual && then > 1 {
			return false
		}
		slowdown.Excluded = append(slowdown.Excluded,
			fmt.Sprintf("More flushes: %s meanwhile, %s at other times.", units.Value(then, "1/s"),
				units.Value(usual, "1/s")))
	}

	if busy := timeline.Quantile(timeline.At(c.One(CPUBusy), slowdown.Cells), 0.5); busy == busy {
		if busy >= SlowCPU {
			return false
		}
		slowdown.Excluded = append(slowdown.Excluded, "The CPUs: "+units.Percent(busy)+" busy meanwhile.")
	}

	if swapped := timeline.Mean(timeline.At(c.One(SwapOut), slowdown.Cells)); swapped == swapped {
		if swapped > swapping {
			return false
		}
		slowdown.Excluded = append(slowdown.Excluded,
			"Swapping: "+units.Value(swapped, "1/s")+" pages swapped out meanwhile.")
	}

	return true
}

// peersOf compares each other device with itself at other times.
func (c *Case) peersOf(s *Slowdown) {
	own := c.For(DiskOps, "device", s.Device)
	for _, t := range c.Signal(DiskOps) {
		dev := t.Labels.Get("device")

		// Each peer is compared with itself, because devices differ in speed.
		then, usual := c.eachOf(dev, t.Values, s.Cells), c.eachOf(dev, t.Values, s.Calm)

		// A peer with almost no requests cannot show that the path was healthy.
		if dev == s.Device || !(timeline.Sum(timeline.At(t.Values, s.Cells))*c.Grid.StepSeconds() >= slowRequests) {
			continue
		}

		// Members that replicate each other also issue the same requests. Only devices whose requests take
		// as long, or that are layered on each other, are the same device.
		if SameDevice(own, t.Values, s.Cells.Or(s.Calm)) &&
			(onEachOther(s.Device, dev) || then*alikeFactor > s.SlowS) {
			continue
		}

		switch {
		case then <= quickFactor*usual || then <= usual+SlowLeastS/2:
			s.Quick = append(s.Quick, dev)
		case then >= alikeFactor*usual:
			s.Alike = append(s.Alike, dev)
		}
	}

	if len(s.Quick) > 0 {
		s.Excluded = append(s.Excluded, "The host and its path to storage: "+string(Joined(s.Quick))+
			" served requests at their usual speed in that time.")
	}
}

// eachOf is the mean duration of a device's reads and writes: seconds waited divided by requests.
func (c *Case) eachOf(dev string, ops []float64, in timeline.Mask) float64 {
	waited := 0.0
	for _, kind := range [][2]*Signal{{DiskReadAwait, DiskReads}, {DiskWriteAwait, DiskWrites}} {
		await, rate := c.For(kind[0], "device", dev), c.For(kind[1], "device", dev)
		if await == nil || rate == nil {
			continue
		}
		for k, hit := range in {
			if hit && rate[k] > 0 && await[k] == await[k] {
				waited += await[k] * rate[k]
			}
		}
	}

	n := timeline.Sum(timeline.At(ops, in))
	if !(n > 0) {
		return math.NaN()
	}

	return waited / n
}

// SameDevice reports whether two devices complete the same requests.
func SameDevice(a, b []float64, in timeline.Mask) bool {
	x, y := timeline.At(a, in), timeline.At(b, in)
	return timeline.Correlation(x, y) > 0.99 &&
		math.Abs(timeline.Sum(x)-timeline.Sum(y)) <= sameRates*timeline.Sum(x)
}

// onEachOther reports whether one device may be layered on the other, judging by their names.
func onEachOther(a, b string) bool {
	return Stacked(a) || Stacked(b) || strings.HasPrefix(a, b) || strings.HasPrefix(b, a)
}

// layerNames are the kernel's prefixes for stacked devices: device-mapper (LVM, dm-crypt,
// multipath), RAIDs, loop devices, bcache and DRBD.
var layerNames = []string{"dm-", "md", "mpath", "loop", "bcache", "drbd"}

// Stacked reports whether a device is built on others, judging by its name.
func Stacked(device string) bool {
	name := strings.TrimPrefix(device, hostOf(device))
	return slices.ContainsFunc(layerNames, func(p string) bool { return strings.HasPrefix(name, p) })
}

// swapping is the rate of pages swapped out per second above which memory counts as short.
const swapping = 100.0
