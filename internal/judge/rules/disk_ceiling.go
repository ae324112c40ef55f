package rules

import (
	"math"

	"plimsoll/internal/record/timeline"
)

// saturated is the condition under which a device may be at a cap: it is never idle, and requests
// queue. A busy share alone says nothing about a device that serves many requests concurrently.
const saturated = "plimsoll:disk_busy:ratio > 0.9 and plimsoll:disk_queue:requests > 2"

// The same condition as numbers.
const (
	saturatedBusy  = 0.9
	saturatedQueue = 2
)

// A cap is a plateau that holds for most of the saturated time, is hardly ever exceeded, has a
// sharp upper edge, and makes requests wait for their turn.
const (
	capTolerance = 0.05 // half-width of the band a capped rate stays in
	capMinCells  = 5    // samples
	capMinShare  = 0.35 // of the saturated cells
	capMaxAbove  = 0.10 // of the saturated cells
	// A device without a cap has a usual level, too, and some of its rates are close to each other by
	// chance. capChance is the highest probability of that at which the level still counts as a cap;
	// capChanceWaits applies if requests wait far longer at the level than below it, and capChanceKnown
	// if such a limit is on sale or the volume is known to have it.
	capChance      = 0.001
	capChanceWaits = 0.003
	capChanceKnown = 0.2
	soldExact      = 0.01 // how close a plateau must be to a limit on sale for that
	sameCells      = 0.8  // both rates are constant together: the request size is constant
	soldWithin     = 0.04 // how close a plateau must be to a limit on sale to get its name
	// largeRequest separates the two caps if nothing else does: a gp3 with its baselines reaches its
	// throughput before its IOPS with requests of 43 KiB or more (125 MiB/s / 3,000), one with 16,000
	// IOPS and 1,000 MiB/s with 64 KiB or more.
	largeRequest = 64 << 10
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

// A ceiling is a device's limit as its counters show it.
type ceiling struct {
	device           string
	iops, throughput timeline.Plateau
	hasIOPS, hasTP   bool
	saturated        timeline.Mask
	requestBytes     float64 // median size of a request in the saturated cells
	iopsOf           *Signal // the signal of the plateau iops
	// passed is the highest rate at other times, if the ceiling held for the stalled time only.
	passed   float64
	together bool // all requests have the same size: both rates are constant together
}

// findCeiling looks for a device's ceiling in the cells in which it was saturated. within, if not
// nil, restricts the time in which a rate must not exceed the ceiling, because a limit may apply
// only for a while.
func findCeiling(sig *Signals, held timeline.Track, within timeline.Mask) ceiling {
	dev := held.Labels.Get("device")
	k := ceiling{device: dev, saturated: timeline.Known(held.Values)}
	ops := sig.For(DiskOps, "device", dev)
	moved := sig.For(DiskMoved, "device", dev)
	var ok bool

	// Cloud volumes limit reads and writes together. A cgroup or a hypervisor may limit them
	// separately, and then only one of them is constant.
	for _, signal := range []*Signal{DiskOps, DiskWrites, DiskReads} {
		rate := sig.For(signal, "device", dev)
		if rate == nil || k.hasIOPS {
			continue
		}
		k.iops, ok = timeline.FindPlateau(only(rate, within), k.saturated, capTolerance, capMinCells,
			sig.perSample(signal))
		limit, _ := soldIOPS(k.iops.Level)
		k.hasIOPS = ok && k.isCap(sig, k.iops, rate, limit.level) && k.doesTheWaiting(sig, signal)
		k.iopsOf = signal
	}

	if moved != nil {
		k.throughput, ok = timeline.FindPlateau(only(moved, within), k.saturated, capTolerance, capMinCells,
			sig.perSample(DiskMoved))
		limit, _ := soldThroughput(k.throughput.Level)
		k.hasTP = ok && k.isCap(sig, k.throughput, moved, limit.level)
	}

	if ops != nil && moved != nil {
		sizes := make([]float64, len(ops))
		for i := range sizes {
			sizes[i] = moved[i] / ops[i]
		}
		k.requestBytes = timeline.Quantile(timeline.At(sizes, k.saturated), 0.5)
		if math.IsInf(k.requestBytes, 0) { // bytes without requests: the counters contradict each other
			k.requestBytes = math.NaN()
		}
	} else {
		k.requestBytes = math.NaN()
	}

	k.settle(sig)
	return k
}

// waitsLeast is the least share of all waiting at a plateau that one kind of request must have, for
// its own limit to be why requests wait.
const waitsLeast = 0.5

// doesTheWaiting reports whether the requests that a plateau counts wait there. A kind of request
// that is constant while the other kind fills the queue has constant demand: two reads per second
// next to hundreds of writes are not a limit.
func (k ceiling) doesTheWaiting(sig *Signals, of *Signal) bool {
	if of == DiskOps {
		return true
	}

	get := func(s *Signal) []float64 { return sig.For(s, "device", k.device) }
	waiting := func(rate, await *Signal) float64 {
		sum, awaits := 0.0, get(await)
		for i, r := range get(rate) {
			// An interval without such requests has no mean latency.
			if w := r * at(awaits, i); i < len(k.iops.Cells) && k.iops.Cells[i] && w == w {
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

// only returns the values in the cells of a mask; all of them if the mask is nil.
func only(values []float64, within timeline.Mask) []float64 {
	if within == nil {
		return values
	}
	out := make([]float64, len(values))
	for i, x := range values {
		if out[i] = math.NaN(); within[i] {
			out[i] = x
		}
	}
	return out
}

// perSample is how many cells share one sample of a signal.
func (t Time) perSample(of *Signal) int {
	return max(1, int(math.Round(t.ResolutionS(of)/t.Grid.StepSeconds())))
}

// isCap reports whether a plateau of a rate is a limit. known is a limit that such a volume may
// have; 0 if none.
func (k ceiling) isCap(sig *Signals, p timeline.Plateau, rate []float64, known float64) bool {
	if p.Share < capMinShare || p.Above > capMaxAbove {
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
		most = capChanceWaits
	}
	return waits && p.Chance <= most
}

// waits distinguishes requests that wait for their turn at a cap from a fixed number of clients
// that each wait for the medium. By Little's law a request takes queue / rate. far reports whether
// requests wait many times as long as below the plateau.
func (k ceiling) waits(sig *Signals, p timeline.Plateau, rate []float64) (waits, far bool) {
	queue := sig.For(DiskQueue, "device", k.device)
	ops := sig.For(DiskOps, "device", k.device)
	if queue == nil || ops == nil {
		return true, false // cannot distinguish them; the queue alone has to decide
	}

	at := timeline.At(queue, p.Cells)
	varies := timeline.Quantile(at, 0.9) >= queueVaries*timeline.Quantile(at, 0.1)

	each := make([]float64, len(ops))
	for i := range each {
		each[i] = math.NaN()
		if ops[i] >= minCalmOps {
			each[i] = queue[i] / ops[i]
		}
	}

	// Compare with time below the plateau: there requests wait for the medium only.
	here := timeline.Quantile(timeline.At(each, p.Cells), 0.5)
	lower := timeline.Where(rate, func(x float64) bool { return x < p.Level*(1-capTolerance) })
	below := timeline.At(each, lower)
	if timeline.Count(below) < capMinCells*sig.perSample(DiskQueue) {
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

// One rate is steadier than the other if its spread is stillFactor times smaller and the other's is
// above stillLeast.
const (
	stillFactor = 3.0
	stillLeast  = 0.02
)

// spread is how far most values of a rate are below its usual maximum, relative to that maximum.
func spread(rate []float64, in timeline.Mask) float64 {
	v := timeline.At(rate, in)
	high := timeline.Quantile(v, 0.9)
	return (high - timeline.Quantile(v, 0.35)) / high
}

// settle decides which cap binds if both rates are constant. If all requests have the same size,
// both rates are constant together, and the more likely limit is one that is on sale. Both remain
// if one provider sells both (8 KiB x 16,000 is 125 MiB/s). If neither is on sale, the request size
// decides.
func (k *ceiling) settle(sig *Signals) {
	if !k.hasIOPS || !k.hasTP {
		return
	}

	shared := min(Share(k.iops.Cells, k.throughput.Cells), Share(k.throughput.Cells, k.iops.Cells))
	if shared < sameCells {
		return // each binds in its own seconds
	}

	k.together = true

	// A limiter holds one of the two perfectly steady; the other varies with the request size.
	switch i, t := spread(sig.For(k.iopsOf, "device", k.device), k.saturated),
		spread(sig.For(DiskMoved, "device", k.device), k.saturated); {
	case t > stillFactor*i && t > stillLeast:
		k.hasTP = false
		return
	case i > stillFactor*t && i > stillLeast:
		k.hasIOPS = false
		return
	}

	// With requests of one size, both are equally steady, so providers' standard limits decide.
	iopsOf, iopsSold := soldIOPS(k.iops.Level)
	tpOf, tpSold := soldThroughput(k.throughput.Level)
	switch {
	case iopsSold && tpSold && iopsOf.azure == tpOf.azure:
	case iopsSold && !tpSold:
		k.hasTP = false
	case tpSold && !iopsSold:
		k.hasIOPS = false
	default:
		k.hasIOPS = !(k.requestBytes >= largeRequest)
		k.hasTP = !k.hasIOPS
	}
}

// sold is a limit that volumes are sold with.
type sold struct {
	level float64
	what  string
	types []string // as the catalogue names them
	azure bool
}

// Limits that volumes are sold with. EBS: docs.aws.amazon.com/ebs, general-purpose and provisioned
// IOPS volumes; Azure: learn.microsoft.com, managed disk types (P series); both as of 2026-08.
var iopsSold = []sold{
	{level: 3000, what: "gp3's baseline, and gp2's burst", types: []string{"gp3", "gp2"}},
	{level: 16000, what: "gp2's maximum, and gp3's before 2025", types: []string{"gp2", "gp3"}},
	{level: 64000, what: "io1's maximum", types: []string{"io1"}},
	{level: 80000, what: "gp3's maximum", types: []string{"gp3"}},
	{level: 500, what: "Azure P10", azure: true},
	{level: 1100, what: "Azure P15", azure: true},
	{level: 2300, what: "Azure P20", azure: true},
	{level: 5000, what: "Azure P30", azure: true},
	{level: 7500, what: "Azure P40 and P50", azure: true},
}

const mib = 1 << 20

var throughputSold = []sold{
	{level: 125 * mib, what: "gp3's baseline", types: []string{"gp3"}},
	{level: 128 * mib, what: "gp2's under 170 GiB", types: []string{"gp2"}},
	{level: 250 * mib, what: "gp2's maximum", types: []string{"gp2"}},
	{level: 500 * mib, what: "io1's up to 32,000 IOPS", types: []string{"io1"}},
	{level: 1000 * mib, what: "gp3's before 2025", types: []string{"gp3"}},
	{level: 2000 * mib, what: "gp3's maximum", types: []string{"gp3"}},
}

func soldIOPS(level float64) (sold, bool)       { return nearest(iopsSold, level) }
func soldThroughput(level float64) (sold, bool) { return nearest(throughputSold, level) }

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

// kindOfOps names what the IOPS plateau counts; "" for reads and writes together.
func (k ceiling) kindOfOps() string {
	switch k.iopsOf {
	case DiskWrites:
		return " write"
	case DiskReads:
		return " read"
	}
	return ""
}
