package rules

import (
	"math"

	"plimsoll/internal/record/timeline"
)

// The same condition as numbers.
const (
	SaturatedBusy  = 0.9
	SaturatedQueue = 2
)

// A cap is a plateau that holds for most of the saturated time, is hardly ever exceeded, has a
// sharp upper edge, and makes requests wait for their turn.
const (
	CapTolerance = 0.05 // half-width of the band a capped rate stays in
	CapMinCells  = 5    // samples
	CapMinShare  = 0.35 // of the saturated cells
	CapMaxAbove  = 0.10 // of the saturated cells
	// A device without a cap has a usual level, too, and some of its rates are close to each other by
	// chance. capChance is the highest probability of that at which the level still counts as a cap;
	// CapChanceWaits applies if requests wait far longer at the level than below it, and capChanceKnown
	// if such a limit is on sale or the volume is known to have it.
	capChance      = 0.001
	CapChanceWaits = 0.003
	capChanceKnown = 0.2
	soldExact      = 0.01 // how close a plateau must be to a limit on sale for that chance
	SameCells      = 0.8  // both rates are constant together: the request size is constant
	soldWithin     = 0.04 // how close a plateau must be to a limit on sale to be taken for it
	// LargeRequest separates the two caps if nothing else does: a gp3 with its baselines reaches its
	// throughput before its IOPS with requests of 43 KiB or more (125 MiB/s / 3,000), one with 16,000
	// IOPS and 1,000 MiB/s with 64 KiB or more.
	LargeRequest = 64 << 10
	// A fixed number of clients also makes a flat rate with a queue, on a volume that is simply that
	// fast. Requests wait for a cap if the queue varies by queueVaries but the rate does not; if each
	// takes waitFactor times as long as when the device is not saturated; or, if neither is visible, if
	// they take waitS or more.
	queueVaries = 1.5
	waitFactor  = 2.0
	waitS       = 0.003
	// At a cap, requests wait longer than below it; if the medium makes them wait, it is the other
	// way round.
	waitLonger = 1.2
	minCalmOps = 20.0
)

// A Ceiling is a device's limit as its counters show it.
type Ceiling struct {
	Device           string
	Iops, Throughput timeline.Plateau
	HasIOPS, HasTP   bool
	Saturated        timeline.Mask
	RequestBytes     float64 // median size of a request in the saturated cells
	IopsOf           *Signal // the signal of the plateau iops
	// passed is the highest rate at other times, if the ceiling held for the stalled time only.
	Passed   float64
	Together bool // all requests have the same size: both rates are constant together
}

// FindCeiling looks for a device's ceiling in the cells in which it was saturated. within, if not
// nil, restricts the time in which a rate must not exceed the ceiling, because a limit may apply
// only for a while.
func FindCeiling(sig *Signals, held timeline.Track, within timeline.Mask) Ceiling {
	dev := held.Labels.Get("device")
	ceiling := Ceiling{Device: dev, Saturated: timeline.Known(held.Values)}
	ops := sig.For(DiskOps, "device", dev)
	moved := sig.For(DiskMoved, "device", dev)
	var ok bool

	// Cloud volumes limit reads and writes together. A cgroup or a hypervisor may limit them
	// separately, and then only one of them is constant.
	for _, signal := range []*Signal{DiskOps, DiskWrites, DiskReads} {
		rate := sig.For(signal, "device", dev)
		if rate == nil || ceiling.HasIOPS {
			continue
		}
		ceiling.Iops, ok = timeline.FindPlateau(Within(rate, within), ceiling.Saturated, CapTolerance, CapMinCells,
			sig.SampleCells(signal))
		limit, _ := SoldIOPS(ceiling.Iops.Level)
		ceiling.HasIOPS = ok && ceiling.isCap(sig, ceiling.Iops, rate, limit.level) &&
			ceiling.doesTheWaiting(sig, signal)
		ceiling.IopsOf = signal
	}

	if moved != nil {
		ceiling.Throughput, ok = timeline.FindPlateau(Within(moved, within), ceiling.Saturated,
			CapTolerance, CapMinCells,
			sig.SampleCells(DiskMoved))
		limit, _ := SoldThroughput(ceiling.Throughput.Level)
		ceiling.HasTP = ok && ceiling.isCap(sig, ceiling.Throughput, moved, limit.level)
	}

	ceiling.RequestBytes = timeline.Quantile(timeline.At(Ratio(moved, ops), ceiling.Saturated), 0.5)
	ceiling.settle(sig)
	return ceiling
}

// waitsLeast is the share of all waiting at a plateau that one kind of request must have at least: only then
// can the limit of that kind be the reason why requests wait.
const waitsLeast = 0.5

// doesTheWaiting reports whether the requests that a plateau counts wait there. A kind of request
// that is constant while the other kind fills the queue has constant demand: two reads per second
// next to hundreds of writes are not a limit.
func (k Ceiling) doesTheWaiting(sig *Signals, of *Signal) bool {
	if of == DiskOps {
		return true
	}

	get := func(s *Signal) []float64 { return sig.For(s, "device", k.Device) }
	waiting := func(rate, await *Signal) float64 {
		sum, awaits := 0.0, get(await)
		for i, r := range get(rate) {
			// An interval without such requests has no mean latency.
			if w := r * ValueAt(awaits, i); i < len(k.Iops.Cells) && k.Iops.Cells[i] && w == w {
				sum += w
			}
		}
		return sum
	}

	reads, writes := waiting(DiskReads, DiskReadAwait), waiting(DiskWrites, DiskWriteAwait)
	if of == DiskReads {
		return reads >= waitsLeast*(reads+writes)
	}
	return writes >= waitsLeast*(reads+writes)
}

// Within returns the values in the cells of a mask; all of them if the mask is nil.
func Within(values []float64, within timeline.Mask) []float64 {
	if within == nil {
		return values
	}
	out := timeline.Unknown(len(values))
	for i, x := range values {
		if within[i] {
			out[i] = x
		}
	}
	return out
}

// isCap reports whether a plateau of a rate is a limit. known is a limit that such a volume may
// have; 0 if none.
func (k Ceiling) isCap(sig *Signals, p timeline.Plateau, rate []float64, known float64) bool {
	if p.Share < CapMinShare || p.Above > CapMaxAbove {
		return false
	}
	waits, far := k.waits(sig, p, rate)
	most := capChance
	switch {
	case len(sig.Signal(EBSVolumeIOPSExceeded)) > 0:
		return waits // EBS counts the time over each limit, and that decides
	case known > 0 && math.Abs(p.Level-known) <= soldExact*known:
		most = capChanceKnown
	case far:
		most = CapChanceWaits
	}
	return waits && p.Chance <= most
}

// waits distinguishes requests that wait for their turn at a cap from a fixed number of clients
// that each wait for the medium. By Little's law a request takes queue / rate. far reports whether
// requests wait many times as long as below the plateau.
func (k Ceiling) waits(sig *Signals, p timeline.Plateau, rate []float64) (waits, far bool) {
	queue := sig.For(DiskQueue, "device", k.Device)
	ops := sig.For(DiskOps, "device", k.Device)
	if queue == nil || ops == nil {
		return true, false // cannot distinguish them; the queue alone has to decide
	}

	at := timeline.At(queue, p.Cells)
	varies := timeline.Quantile(at, 0.9) >= queueVaries*timeline.Quantile(at, 0.1)

	each := Within(Ratio(queue, ops), timeline.Where(ops, func(x float64) bool { return x >= minCalmOps }))

	// Compare with time below the plateau: there requests wait for the medium only.
	here := timeline.Quantile(timeline.At(each, p.Cells), 0.5)
	lower := timeline.Where(rate, func(x float64) bool { return x < p.Level*(1-CapTolerance) })
	below := timeline.At(each, lower)
	if timeline.Count(below) < CapMinCells*sig.SampleCells(DiskQueue) {
		return varies || here >= waitS, false
	}

	// If the queue does not vary either, clients in a closed loop look like a cap, so each request
	// has to take clearly longer.
	usual := timeline.Quantile(below, 0.5)
	least := waitFactor
	if varies {
		least = waitLonger
	}

	return here >= least*usual, here >= waitFactor*usual
}

// One rate is steadier than the other if its spread is StillFactor times smaller and the other's is
// above stillLeast.
const (
	StillFactor = 3.0
	stillLeast  = 0.02
)

// Spread is how far most values of a rate are below its usual maximum, relative to that maximum.
func Spread(rate []float64, in timeline.Mask) float64 {
	v := timeline.At(rate, in)
	high := timeline.Quantile(v, 0.9)
	return (high - timeline.Quantile(v, 0.35)) / high
}

// settle decides which cap binds if both rates are constant. If all requests have the same size,
// both rates are constant together, and the more likely limit is one that is on sale. Both remain
// if one provider sells both (8 KiB x 16,000 is 125 MiB/s). If neither is on sale, the request size
// decides.
func (k *Ceiling) settle(sig *Signals) {
	if !k.HasIOPS || !k.HasTP {
		return
	}

	shared := min(Share(k.Iops.Cells, k.Throughput.Cells), Share(k.Throughput.Cells, k.Iops.Cells))
	if shared < SameCells {
		return // each binds in its own seconds
	}

	k.Together = true

	// A limiter holds one of the two perfectly steady; the other varies with the request size.
	switch i, t := Spread(sig.For(k.IopsOf, "device", k.Device), k.Saturated),
		Spread(sig.For(DiskMoved, "device", k.Device), k.Saturated); {
	case t > StillFactor*i && t > stillLeast:
		k.HasTP = false
		return
	case i > StillFactor*t && i > stillLeast:
		k.HasIOPS = false
		return
	}

	// With requests of one size, both are equally steady, so providers' standard limits decide.
	iopsOf, iopsSold := SoldIOPS(k.Iops.Level)
	tpOf, tpSold := SoldThroughput(k.Throughput.Level)
	switch {
	case iopsSold && tpSold && iopsOf.azure == tpOf.azure:
	case iopsSold && !tpSold:
		k.HasTP = false
	case tpSold && !iopsSold:
		k.HasIOPS = false
	default:
		k.HasIOPS = !(k.RequestBytes >= LargeRequest)
		k.HasTP = !k.HasIOPS
	}
}

// sold is a limit that volumes are sold with.
type sold struct {
	level float64
	What  string
	Types []string // as the catalogue names them
	azure bool
}

// Limits that volumes are sold with. EBS: docs.aws.amazon.com/ebs, general-purpose and provisioned
// IOPS volumes; Azure: learn.microsoft.com, managed disk types (P series); both as of 2026-08.
var iopsSold = []sold{
	{level: 3000, What: "gp3's baseline, and gp2's burst", Types: []string{"gp3", "gp2"}},
	{level: 16000, What: "gp2's maximum, and gp3's before 2025", Types: []string{"gp2", "gp3"}},
	{level: 64000, What: "io1's maximum", Types: []string{"io1"}},
	{level: 80000, What: "gp3's maximum", Types: []string{"gp3"}},
	{level: 500, What: "Azure P10", azure: true},
	{level: 1100, What: "Azure P15", azure: true},
	{level: 2300, What: "Azure P20", azure: true},
	{level: 5000, What: "Azure P30", azure: true},
	{level: 7500, What: "Azure P40 and P50", azure: true},
}

// MiB is bytes per MiB.
const MiB = 1 << 20

var throughputSold = []sold{
	{level: 125 * MiB, What: "gp3's baseline", Types: []string{"gp3"}},
	{level: 128 * MiB, What: "gp2's under 170 GiB", Types: []string{"gp2"}},
	{level: 250 * MiB, What: "gp2's maximum", Types: []string{"gp2"}},
	{level: 500 * MiB, What: "io1's up to 32,000 IOPS", Types: []string{"io1"}},
	{level: 1000 * MiB, What: "gp3's before 2025", Types: []string{"gp3"}},
	{level: 2000 * MiB, What: "gp3's maximum", Types: []string{"gp3"}},
}

// SoldIOPS returns the limit on sale that a plateau of requests per second equals; false if there is none.
func SoldIOPS(level float64) (sold, bool) { return nearest(iopsSold, level) }

// SoldThroughput is [SoldIOPS] for bytes per second.
func SoldThroughput(level float64) (sold, bool) { return nearest(throughputSold, level) }

// nearest returns the limit on sale that is closest to the level, if any is close enough.
func nearest(list []sold, level float64) (best sold, ok bool) {
	off := math.Inf(1)
	for _, s := range list {
		if d := math.Abs(level-s.level) / s.level; d <= soldWithin && d < off {
			best, off, ok = s, d, true
		}
	}
	return best, ok
}

// KindOfOps names what the IOPS plateau counts; "" for reads and writes together.
func (k Ceiling) KindOfOps() string {
	switch k.IopsOf {
	case DiskWrites:
		return " write"
	case DiskReads:
		return " read"
	}
	return ""
}
