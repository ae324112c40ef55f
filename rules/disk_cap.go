package rules

import (
	"fmt"
	"math"

	"plimsoll/timeline"
)

// saturated is the condition under which a device's rate may stand at a cap: it is
// never idle, and requests queue. Busy alone says nothing on a device that serves
// many requests at once.
const saturated = "plimsoll:disk_busy:ratio > 0.9 and plimsoll:disk_queue:requests > 2"

// A cap is a plateau that holds most of the saturated time and is hardly ever passed.
const (
	capTolerance  = 0.05 // half-width of the band a capped rate stays in
	capMinCells   = 5
	capMinShare   = 0.35 // of the saturated cells
	capMaxAbove   = 0.02 // of all cells
	sameCells     = 0.8  // both rates stand still together: the request size is constant
	sizedByVolume = 0.03 // how near a plateau must be to a limit sold to be named after it
)

// A ceiling is what limits a device, as far as its counters show.
type ceiling struct {
	device           string
	iops, throughput timeline.Plateau
	hasIOPS, hasTP   bool
	saturated        timeline.Mask
	requestBytes     float64 // median size of a request in the saturated cells
}

func findCeiling(c *Case, held timeline.Track) ceiling {
	dev := held.Labels.Get("device")
	k := ceiling{device: dev, saturated: timeline.Known(held.Values)}
	ops := c.For(SignalPrefix+"disk_ops:rate", "device", dev)
	moved := c.For(SignalPrefix+"disk_moved:bytes", "device", dev)
	isCap := func(p timeline.Plateau, ok bool) bool {
		return ok && p.Share >= capMinShare && p.Above <= capMaxAbove
	}
	var ok bool
	if ops != nil {
		k.iops, ok = timeline.FindPlateau(ops, k.saturated, capTolerance, capMinCells)
		k.hasIOPS = isCap(k.iops, ok)
	}
	if moved != nil {
		k.throughput, ok = timeline.FindPlateau(moved, k.saturated, capTolerance, capMinCells)
		k.hasTP = isCap(k.throughput, ok)
	}
	if ops != nil && moved != nil {
		sizes := make([]float64, len(ops))
		for i := range sizes {
			sizes[i] = moved[i] / ops[i]
		}
		k.requestBytes = timeline.Quantile(timeline.At(sizes, k.saturated), 0.5)
	}
	k.settle()
	return k
}

// settle decides which cap binds where both rates stand still. With requests of one
// size they stand still together; then a limit that is sold as such is the likelier
// one, else the one that holds more of the time.
func (k *ceiling) settle() {
	if !k.hasIOPS || !k.hasTP {
		return
	}
	together := min(Share(k.iops.Cells, k.throughput.Cells), Share(k.throughput.Cells, k.iops.Cells))
	if together < sameCells {
		return // each binds in its own seconds
	}
	_, iopsSold := soldIOPS(k.iops.Level)
	_, tpSold := soldThroughput(k.throughput.Level)
	switch {
	case iopsSold && !tpSold:
		k.hasTP = false
	case tpSold && !iopsSold:
		k.hasIOPS = false
	case k.iops.Share >= k.throughput.Share:
		k.hasTP = false
	default:
		k.hasIOPS = false
	}
}

type sold struct {
	level float64
	what  string
}

// Limits volumes are sold with. EBS: docs.aws.amazon.com/ebs, general-purpose and
// provisioned IOPS volumes; Azure: learn.microsoft.com, managed disk types (P
// series); both as of 2026-08.
var iopsSold = []sold{
	{3000, "gp3's baseline, and gp2's burst"},
	{16000, "gp2's maximum, and gp3's before 2025"},
	{64000, "io1's maximum"},
	{80000, "gp3's maximum"},
	{500, "Azure P10"}, {1100, "Azure P15"}, {2300, "Azure P20"}, {5000, "Azure P30"}, {7500, "Azure P40 and P50"},
}

const mib = 1 << 20

var throughputSold = []sold{
	{125 * mib, "gp3's baseline"},
	{128 * mib, "gp2's under 170 GiB"},
	{250 * mib, "gp2's maximum"},
	{500 * mib, "io1's up to 32,000 IOPS"},
	{1000 * mib, "gp3's before 2025"},
	{2000 * mib, "gp3's maximum"},
}

func soldIOPS(level float64) (string, bool)       { return nearest(iopsSold, level) }
func soldThroughput(level float64) (string, bool) { return nearest(throughputSold, level) }

func nearest(list []sold, level float64) (string, bool) {
	for _, s := range list {
		if math.Abs(level-s.level) <= sizedByVolume*s.level {
			return s.what, true
		}
	}
	return "", false
}

// capFinding is what both caps' findings share.
func (r Rule) capFinding(c *Case, k ceiling, p timeline.Plateau, level, unit string, metric string) Finding {
	f := r.finding(k.device)
	at := p.Cells.Close(1)
	f.Weight = Share(at.Widen(1, 1), c.Stall.Cells)
	f.Severity = c.severityOf(f.Weight)
	f.Windows = c.Windows(at.Close(3))
	f.PeriodS = c.Period(at.Close(c.Cells(5e9)))
	if f.Severity == Info && c.Seconds(at) > 0 {
		f.Summary = fmt.Sprintf("%s stands at %s for %s in all, which nobody waited for noticeably.", k.device, level, dur(c.Seconds(at)))
	} else {
		f.Summary = fmt.Sprintf("%s stands at %s and goes no higher: %s in all, and in %s of the stalled time.",
			k.device, level, dur(c.Seconds(at)), pct(f.Weight))
	}
	if f.PeriodS > 0 {
		f.Summary += fmt.Sprintf(" It recurs every %s.", dur(f.PeriodS))
	}
	dev := func(signal string) []float64 { return c.For(SignalPrefix+signal, "device", k.device) }
	f.Evidence = append(f.Evidence,
		c.figure("the plateau: the rate of "+pct(p.Share)+" of the saturated intervals, within 5 %", metric, p.Level, unit, p.Cells),
		c.figure("share of all intervals in which it was passed", metric, p.Above, "ratio", timeline.Known(dev("disk_ops:rate"))),
		c.figure("median queue at the plateau", SignalPrefix+"disk_queue:requests", timeline.Quantile(timeline.At(dev("disk_queue:requests"), p.Cells), 0.5), "requests", p.Cells),
		c.figure("median write await at the plateau", SignalPrefix+"disk_write_await:seconds", timeline.Quantile(timeline.At(dev("disk_write_await:seconds"), p.Cells), 0.5), "seconds", p.Cells),
		c.figure("median write await elsewhere", SignalPrefix+"disk_write_await:seconds", timeline.Quantile(timeline.At(dev("disk_write_await:seconds"), k.saturated.Not()), 0.5), "seconds", k.saturated.Not()),
		c.figure("median request at saturation", "", k.requestBytes, "bytes", k.saturated))
	return f
}

func diskIOPSCapped() Rule {
	r := Rule{ID: "disk/iops-capped", Title: "The volume's IOPS cap binds", Kind: Cause, When: saturated,
		Needs: []string{SignalPrefix + "disk_busy:ratio", SignalPrefix + "disk_queue:requests", SignalPrefix + "disk_ops:rate"},
		Cause: "A rented volume serves so many requests a second and makes the rest wait in its queue. The device is never idle, the queue is deep, and the rate stands at one figure that it does not pass."}
	r.Judge = func(c *Case, held []timeline.Track) []Finding {
		var out []Finding
		for _, h := range held {
			k := findCeiling(c, h)
			if !k.hasIOPS {
				continue
			}
			level := num(k.iops.Level) + " IOPS"
			f := r.capFinding(c, k, k.iops, level, "1/s", SignalPrefix+"disk_ops:rate")
			if what, ok := soldIOPS(k.iops.Level); ok {
				f.Evidence = append(f.Evidence, Evidence{Text: level + " is " + what, From: c.Whole().From, To: c.Whole().To})
			}
			f.Fixes = []Fix{
				{Summary: "First make the bursts smaller: pace the checkpoint, bound the OS's dirty bytes, or give the journal/WAL a volume of its own (see the other findings)",
					Expect: "the same bytes spread over more seconds; it costs nothing", TradeOff: "less coalescing: more bytes written in all"},
				{Summary: fmt.Sprintf("Then raise the volume's IOPS above %s", num(k.iops.Level)),
					Expect:   fmt.Sprintf("the time at the cap shrinks in proportion, until %s requests meet the throughput limit or the instance's", size(k.requestBytes)),
					TradeOff: "gp3: USD 0.005 a month for each IOPS over 3,000 (us-east-1); pointless beyond the instance's own limit"},
			}
			out = append(out, f)
		}
		return out
	}
	return r
}

func diskThroughputCapped() Rule {
	r := Rule{ID: "disk/throughput-capped", Title: "The volume's throughput cap binds", Kind: Cause, When: saturated,
		Needs: []string{SignalPrefix + "disk_busy:ratio", SignalPrefix + "disk_queue:requests", SignalPrefix + "disk_moved:bytes"},
		Cause: "A rented volume moves so many bytes a second and makes the rest wait in its queue. With large requests this limit is met before the IOPS limit, and buying IOPS changes nothing."}
	r.Judge = func(c *Case, held []timeline.Track) []Finding {
		var out []Finding
		for _, h := range held {
			k := findCeiling(c, h)
			if !k.hasTP {
				continue
			}
			level := size(k.throughput.Level) + "/s"
			f := r.capFinding(c, k, k.throughput, level, "bytes/s", SignalPrefix+"disk_moved:bytes")
			if what, ok := soldThroughput(k.throughput.Level); ok {
				f.Evidence = append(f.Evidence, Evidence{Text: fmt.Sprintf("%s (%.0f MiB/s) is %s", level, k.throughput.Level/mib, what), From: c.Whole().From, To: c.Whole().To})
			}
			ops := c.For(SignalPrefix+"disk_ops:rate", "device", k.device)
			f.Evidence = append(f.Evidence, c.figure("median IOPS at the plateau: not what binds", SignalPrefix+"disk_ops:rate",
				timeline.Quantile(timeline.At(ops, k.throughput.Cells), 0.5), "1/s", k.throughput.Cells))
			f.Fixes = []Fix{
				{Summary: "First make the bursts smaller: pace the checkpoint, bound the OS's dirty bytes, or give the journal/WAL a volume of its own (see the other findings)",
					Expect: "the same bytes spread over more seconds; it costs nothing", TradeOff: "less coalescing: more bytes written in all"},
				{Summary: fmt.Sprintf("Then raise the volume's throughput above %.0f MiB/s; leave its IOPS", k.throughput.Level/mib),
					Expect:   "the time at the cap shrinks in proportion, until the instance's own limit is met",
					TradeOff: "gp3: USD 0.04 a month for each MiB/s over 125 (us-east-1), at most 0.25 MiB/s for each IOPS"},
			}
			out = append(out, f)
		}
		return out
	}
	return r
}
