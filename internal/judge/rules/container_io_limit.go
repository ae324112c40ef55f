package rules

import (
	"fmt"
	"math"
	"strings"

	"plimsoll/internal/record/timeline"
)

const (
	// atLimit is the share of a container's I/O limit above which the limit counts as reached. The
	// kernel lets requests through in slices of about 100 ms, and a writer that issues one request
	// after the other loses the rest of each slice. An etcd under a limit of 25 writes/s made 16 to
	// 23.
	atLimit = 0.7
	// roomBusy is the busy share below which a device has room for more. A busier one may itself be
	// the bottleneck.
	roomBusy = 0.9
)

// An ioLimit is one of the four limits that a container may have for a device.
type ioLimit struct {
	rate, limit      *Signal
	what, key, keyV1 string
}

var ioLimits = []ioLimit{
	{ContainerWrites, ContainerWritesLimit, "writes", "wiops", "blkio.throttle.write_iops_device"},
	{ContainerWritten, ContainerWrittenLimit, "bytes written", "wbps", "blkio.throttle.write_bps_device"},
	{ContainerReads, ContainerReadsLimit, "reads", "riops", "blkio.throttle.read_iops_device"},
	{ContainerRead, ContainerReadLimit, "bytes read", "rbps", "blkio.throttle.read_bps_device"},
}

// containerIOWhen is the condition that any of the limits is reached.
func containerIOWhen() string {
	var alts []string
	for _, l := range ioLimits {
		alts = append(alts, fmt.Sprintf("%s / %s > %g", l.rate.Name, l.limit.Name, atLimit))
	}
	return strings.Join(alts, " or ")
}

const ioLimitOf = "The {{if not .group}}container's {{end}}limit of {{.limit}} on {{.device}}{{with .group}}, set on the container's parent cgroup {{.}},{{end}} "

func containerIOLimit() Rule {
	r := Rule{ID: "container/io-limit", Title: "The container's I/O limit binds", Kind: Cause,
		Traced: cgroupLimit, When: containerIOWhen(), Needs: []*Signal{},
		Cause: "A limit on the container's I/O (io.max, blkio.throttle) holds its requests back before the device sees them. The device is idle while the database waits as it would on a slow volume, and neither a faster nor a larger volume changes anything.",
		Words: Words{
			"in stalls": ioLimitOf + "was reached in {{.share}} of the stalled time.",
			"in all":    ioLimitOf + "was reached for {{.for}} in total.",
			"disk busy": "But {{.device}} itself was busy {{.busy}} of that time: either both limits are close to each other, or another program is using up the device.",
			"disk idle": "The disk is not the cause: {{.device}} was busy {{.busy}} of that time.",
		},
		Advice: map[string]Advice{
			"raise": {Summary: "Raise the limit, up to what the volume delivers: {{.key}} in io.max (cgroup v2), {{.keyV1}} (v1); systemd: IOWriteIOPSMax=, IOWriteBandwidthMax=; Docker: --device-write-iops, --device-write-bps (and the same for reads)",
				Expect:   "requests reach the device; the stall ends, or the volume's own limit binds next",
				TradeOff: "neighbours on the same volume notice this container's bursts", Do: []*Remedy{liftIO}},
			"smaller": {Summary: "Make the bursts smaller: pace the checkpoint, bound dirty bytes",
				Expect:   "the same bytes under the same limit, spread over more seconds",
				TradeOff: "see the other findings", Do: []*Remedy{PaceWrites}},
		}}

	for _, l := range ioLimits {
		r.AnyOf = append(r.AnyOf, l.limit)
	}

	r.Judge = func(c *Case, _ []timeline.Track) []Finding {
		var out []Finding
		for _, l := range ioLimits {
			for _, limit := range c.Signal(l.limit) {
				if f, ok := r.limitFinding(c, l, limit); ok {
					out = append(out, f)
				}
			}
		}
		return out
	}

	return r
}

func (r Rule) limitFinding(c *Case, l ioLimit, limit timeline.Track) (Finding, bool) {
	rate := c.ofContainer(l.rate, limit, "device")
	cells := c.heldBack(rate, limit.Values)
	if c.Seconds(cells) < minThrottledS {
		return Finding{}, false
	}

	dev := limit.Labels.Get("device")
	f, ok := r.condition(c, containerName(limit.Labels)+" on "+dev, cells)
	in := cells.And(c.Stall.Cells)

	if !ok {
		if c.Stall.Any() || Share(cells, c.Stall.Observed) < MinAttributable {
			return f, false
		}
		// Nothing stalled, but the limit was reached for long enough to be worth a remark.
		f, in = r.reached(c, containerName(limit.Labels)+" on "+dev, cells), cells
	}

	// Evidence has plain units; the sentence says what is counted.
	unit, of := "1/s", l.what+"/s"
	if l.limit.Unit == "bytes/s" {
		unit, of = "bytes/s", "bytes/s"
	}

	most := timeline.Max(limit.Values)
	reached := "in stalls"
	if !ok {
		reached = "in all"
	}

	f.Say(reached, Values{"group": c.groupAbove(limit.Labels), "limit": Of(most, of), "device": Called(dev),
		"share": Part(Share(cells, c.Stall.Cells)), "for": Seconds(c.Seconds(cells))})
	if mean := timeline.Mean(timeline.At(c.For(DiskBusy, "device", dev), in)); mean == mean {
		words := "disk idle"
		if mean >= roomBusy {
			words = "disk busy"
			if f.Severity == Critical {
				f.Severity = Warning
			}
		}
		f.Say(words, Values{"device": Called(dev), "busy": Part(mean)})
		c.figureOf(&f, "busy share of "+dev+" meanwhile, mean", DiskBusy, mean, "ratio", in)
	}

	c.figureOf(&f, "limit of the container on "+dev, l.limit, most, unit, c.Stall.Observed)
	c.figureOf(&f, l.what+" of the container meanwhile, mean rate", l.rate,
		timeline.Mean(timeline.At(rate, in)), unit, in)
	if full := c.ofContainer(ContainerPSIIOFull, limit); full != nil {
		c.figureOf(&f, "share of that time in which all its tasks waited for I/O (PSI), mean",
			ContainerPSIIOFull, timeline.Mean(timeline.At(full, in)), "ratio", in)
	}

	f.Advise("raise", Values{"key": Called(l.key), "keyV1": Called(l.keyV1)})
	f.Advise("smaller", nil)
	return f, true
}

// reached reports a limit that was reached while nothing stalled. It still matters to an engine
// whose log misses its own criterion.
func (r Rule) reached(c *Case, subject string, cells timeline.Mask) Finding {
	f := r.Finding(subject)
	f.Severity, f.Windows = Info, c.Windows(cells.Close(3))
	if c.logLate() {
		f.Severity = Warning
	}
	return f
}

// heldBack marks the cells in which a limit holds requests back: the rate is at the limit, or
// earlier requests have not been let through yet. Version 1 of cgroups counts requests when they
// arrive, so the burst of an entire checkpoint is counted in one second and held back over many.
// Version 2 counts them when they are let through.
func (t Time) heldBack(rate, limit []float64) timeline.Mask {
	out := make(timeline.Mask, t.Grid.N)
	step := t.Grid.StepSeconds()
	behind := 0.0
	for k := range min(len(out), len(rate), len(limit)) {
		if math.IsNaN(rate[k]) || !(limit[k] > 0) {
			behind = 0
			continue
		}
		// behind is the backlog: requests counted on arrival but not yet let through.
		had := behind > 0
		behind = max(0, behind+(rate[k]-limit[k])*step)
		out[k] = rate[k] >= atLimit*limit[k] || had
	}
	return out.Close(1)
}

// containersHeldBack marks the cells in which any container's I/O limit holds requests back.
func (sig *Signals) containersHeldBack() timeline.Mask {
	out := make(timeline.Mask, sig.Grid.N)
	for _, l := range ioLimits {
		for _, limit := range sig.Signal(l.limit) {
			out = out.Or(sig.heldBack(sig.ofContainer(l.rate, limit, "device"), limit.Values))
		}
	}
	return out
}
