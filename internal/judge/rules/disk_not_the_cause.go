package rules

import (
	"fmt"
	"slices"

	"plimsoll/internal/record/timeline"
)

// A disk below these limits in the stalled time is ruled out as a cause.
const (
	idleBusyMedian = 0.60 // median of the busiest device's busy share
	idleBusyP95    = 0.90
	idleAwaitS     = 0.020 // median write await
	idleIOFull     = 0.30  // median share of the time all tasks waited for I/O
	idleJournal    = 0.30  // share of the stalled time with a journal sync in progress
	idleFlush      = 0.30  // share of the stalled time with a device in a flush
	idleQueued     = 0.30  // share of the stalled time in stalls with a queue burst
	worstSeconds   = 6
	// Over a long interval, an average hides a stall of a few seconds in which the device was never
	// idle. From coarseStepS on the limit is stricter.
	coarseStepS      = 5.0
	coarseBusyMedian = 0.20
	coarseBusyP95    = 0.50
	// It is as it was where no request takes long on average, far less than clients waited.
	quickAwaitS = 0.002
	quickTimes  = 20
)

func diskNotTheCause() Rule {
	r := Rule{ID: "disk/not-the-cause", Title: "The disk is not the cause", Kind: Refutation, Traced: noDevice,
		Refutes: DiskResources,
		When:    "plimsoll:disk_busy:ratio < 0.9",
		NoAlert: "it refutes: a healthy disk is no reason to page anybody",
		Cause:   "While clients waited, every device had time to spare. A faster volume would have been idle more.",
		Words: Words{"idle": "While {{.clients}} stalled, the busiest device ({{.device}}) was busy {{.mean}} of the time, at most {{.most}} in any interval" +
			"{{with .iops}}, with at most {{.}} IOPS{{end}}. A faster or larger volume will not help."},
		Advice: map[string]Advice{"do not buy": {Summary: "Do not buy IOPS or throughput for this",
			Expect: "no change: the device was not what writes waited for", TradeOff: "none; it saves money",
			NoCommand: nothingToDo}}}

	r.Judge = func(c *Case, _ []timeline.Track) []Finding {
		if !c.Stall.IsDatabase || !c.Stall.Any() {
			return nil
		}

		busiest, ok := c.busiestInStall()
		if !ok {
			return nil
		}

		f := r.Finding("all devices")
		for _, t := range c.Signal(DiskBusy) {
			if !c.idleDevice(t) {
				return nil
			}
		}

		if _, off := c.ClockShift(); off {
			return nil // evidence/gap says so
		}

		// The kernel counts a flush separately, not in the busy time. Where the flush itself is the
		// complaint (etcd's fdatasync), a busy share without it refutes nothing.
		flush, measured := c.flushing(c.Stall.Cells)
		if flush > idleFlush || !measured && c.Stall.OfLog {
			return nil
		}

		if c.overLimit() || c.providerLimited() || c.volumeStalls() {
			return nil // of a volume or of the instance, as EBS counts it
		}

		if queued, _ := c.QueuedShare(c.Stall.Cells); queued > idleQueued {
			return nil // in stalls shorter than two samples, which a sample's busy share cannot show
		}

		if full := c.One(PSIIOFull); full != nil &&
			timeline.Quantile(timeline.At(full, c.Stall.Cells), 0.5) > idleIOFull {
			return nil
		}
		if c.logSyncing(c.Stall.Cells) > idleJournal {
			return nil
		}

		f.Severity, f.Weight = Warning, 1
		if c.SeverityOf(1) == Critical {
			f.Severity = Critical
		}

		r.fillNotTheCause(c, &f, busiest)
		return []Finding{f}
	}

	return r
}

// busiestInStall returns the device with the highest mean busy share in the stalled time.
func (c *Case) busiestInStall() (timeline.Track, bool) {
	var best timeline.Track
	high := -1.0
	for _, t := range c.Signal(DiskBusy) {
		// The device must have been measured in nearly all of the stalled time.
		if Share(timeline.Known(t.Values), c.Stall.Cells) < 0.9 {
			continue
		}
		if m := timeline.Mean(timeline.At(t.Values, c.Stall.Cells)); m > high {
			best, high = t, m
		}
	}
	return best, high >= 0
}

// flushing is the largest share of the cells' time that any device spent in flush requests, which
// the kernel counts separately from the busy time (kernel: Documentation/admin-guide/iostats.rst).
func (sig *Signals) flushing(cells timeline.Mask) (share float64, measured bool) {
	for _, t := range sig.Signal(DiskFlushes) {
		dev := t.Labels.Get("device")
		await := sig.For(DiskFlushAwait, "device", dev)

		spent := make([]float64, len(t.Values))
		for k, n := range t.Values {
			spent[k] = n
			if n > 0 && await != nil {
				spent[k] = n * await[k]
			}
		}

		if in := timeline.Mean(timeline.At(spent, cells)); in == in {
			share, measured = max(share, in), true
		}
	}
	return share, measured
}

func (c *Case) idleDevice(busy timeline.Track) bool {
	in := timeline.At(busy.Values, c.Stall.Cells)
	if timeline.Count(in) == 0 {
		return true // not measured while stalled; busiestInStall requires that
	}

	if timeline.Quantile(in, 0.5) < 0.05 && timeline.Quantile(in, 0.95) < 0.3 {
		return true
	}
	if c.starvedInStall() && c.besideCPU(busy) {
		return true
	}

	await := timeline.At(c.For(DiskWriteAwait, "device", busy.Labels.Get("device")), c.Stall.Cells)
	median, p95 := idleBusyMedian, idleBusyP95
	if c.coarsest(DiskBusy) >= coarseStepS && !c.quickDevice(busy.Labels.Get("device")) {
		median, p95 = coarseBusyMedian, coarseBusyP95
	}

	return timeline.Quantile(in, 0.5) < median && timeline.Quantile(in, 0.95) < p95 &&
		!(timeline.Quantile(await, 0.5) > idleAwaitS)
}

// Where the CPUs had nothing to spare in starvedMost of the stalled time, a device that is seldom
// saturated in it is not why the rest stalls as well.
const (
	starvedMost   = 0.9
	besideSeldom  = 0.15 // of the stalled time
	besideInQueue = 2.0  // requests
)

// starvedInStall reports whether the CPUs, or a container's share of them, had nothing to spare while
// clients stalled.
func (c *Case) starvedInStall() bool { return Share(c.starved(), c.Stall.Cells) >= starvedMost }

// besideCPU reports whether a device serves its requests at once, one or two at a time, in nearly all
// of the stalled time. It may be busy all the time: with a log's syncs, one after the other.
func (c *Case) besideCPU(busy timeline.Track) bool {
	dev := busy.Labels.Get("device")
	queue, await := c.For(DiskQueue, "device", dev), c.For(DiskWriteAwait, "device", dev)
	if queue == nil || await == nil || c.roomForStall(dev) {
		return false
	}
	deep := timeline.Where(queue, func(x float64) bool { return x > besideInQueue })
	return Share(deep, c.Stall.Cells) <= besideSeldom &&
		!(timeline.Quantile(timeline.At(await, c.Stall.Cells), 0.5) > quickAwaitS)
}

// quickDevice reports whether a device's requests of both kinds are so quick, on average over each
// interval, that no burst among them can have held up clients for as long as they were.
func (c *Case) quickDevice(dev string) bool {
	stalled := timeline.Quantile(timeline.At(c.Stall.Latency, c.Stall.Cells), 0.5)
	if c.roomForStall(dev) {
		return false
	}
	for _, of := range []*Signal{DiskWriteAwait, DiskReadAwait} {
		each := timeline.Quantile(timeline.At(c.For(of, "device", dev), c.Stall.Cells), 0.95)
		if each > quickAwaitS || !(stalled >= quickTimes*each) && each == each {
			return false
		}
	}
	return stalled == stalled
}

// roomForStall reports whether a device's samples are so much further apart than those of the stalls that
// its requests of one interval took longer, one after the other, than clients stalled in it: all of that
// may have been in the stall.
func (c *Case) roomForStall(dev string) bool {
	periodS := c.ResolutionS(DiskBusy)
	if periodS < pinpointFactor*max(c.Stall.PeriodS, c.Grid.StepSeconds()) {
		return false
	}
	busy := c.For(DiskBusy, "device", dev)
	for _, e := range c.intervals(timeline.Known(busy), periodS) {
		stalled := c.Seconds(c.Stall.Cells[e.First : e.Last+1])
		if stalled > 0 && timeline.Mean(busy[e.First:e.Last+1])*periodS >= stalled {
			return true
		}
	}
	return false
}

func (r Rule) fillNotTheCause(c *Case, f *Finding, busiest timeline.Track) {
	dev := busiest.Labels.Get("device")
	get := func(signal *Signal) []float64 { return c.For(signal, "device", dev) }
	stalled := c.Stall.Cells
	in := timeline.At(busiest.Values, stalled)
	f.Say("idle", Values{"clients": Called(c.Stall.Subject), "device": Called(dev),
		"mean": Part(timeline.Mean(in)), "most": Part(timeline.Max(in)),
		"iops": Number(timeline.Max(timeline.At(get(DiskOps), stalled)))})
	f.Evidence = append(f.Evidence,
		c.Figure("busy share of "+dev+" while stalled, 95th percentile", DiskBusy, timeline.Quantile(in, 0.95),
			"ratio", stalled),
		c.Figure("busy share of "+dev+", most in any interval of the recording", DiskBusy,
			timeline.Max(busiest.Values), "ratio", timeline.Known(busiest.Values)),
		c.Figure("write IOPS of "+dev+", most in any interval", DiskWrites, timeline.Max(get(DiskWrites)), "1/s",
			timeline.Known(busiest.Values)),
		c.Figure("write await of "+dev+" while stalled, median", DiskWriteAwait,
			timeline.Quantile(timeline.At(get(DiskWriteAwait), stalled), 0.5), "seconds", stalled))

	if c.Stall.Latency != nil {
		worst := timeline.Top(c.Stall.Latency, worstSeconds)
		f.Evidence = append(f.Evidence,
			c.Figure(fmt.Sprintf("busy share of %s in the %d intervals of the highest latency, highest of them", dev,
				worst.Count()),
				DiskBusy, timeline.Max(timeline.At(busiest.Values, worst)), "ratio", worst))

		if moved := get(DiskMoved); moved != nil {
			if rho := timeline.Correlation(c.Stall.Latency, moved); rho == rho {
				f.Evidence = append(f.Evidence,
					c.Figure("correlation of latency with the bytes "+dev+
						" moved (a disk that makes writes wait gives a positive one)", nil, rho, "", timeline.Known(moved)))
			}
		}
	}

	if full := c.One(PSIIOFull); full != nil {
		f.Evidence = append(f.Evidence,
			c.Figure("share of the stalled time in which all tasks waited for I/O (PSI), median", PSIIOFull,
				timeline.Quantile(timeline.At(full, stalled), 0.5), "ratio", stalled))
	}

	f.Windows = c.Windows(stalled)
	f.Advise("do not buy", nil)
	f.Evidence = slices.DeleteFunc(f.Evidence, func(e Evidence) bool { return e.Value == nil })
}
