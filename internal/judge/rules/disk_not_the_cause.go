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
	// Averaged over a long interval, a few seconds in which the device was never idle do not show. From
	// coarseStepS on the limits are stricter.
	coarseStepS      = 5.0
	coarseBusyMedian = 0.20
	coarseBusyP95    = 0.50
	// The usual limits still apply if no request takes long on average, far less than clients waited.
	quickAwaitS = 0.002
	quickTimes  = 20
)

func diskNotTheCause() Rule {
	r := Rule{ID: "disk/not-the-cause", Title: "The disk is not the cause", Kind: Refutation, Traced: noDevice,
		Refutes: DiskResources,
		When:    "plimsoll:disk_busy:ratio < 0.9",
		NoAlert: "it is a refutation: a healthy disk is no reason to page anyone",
		Cause:   "While clients waited, every device had spare capacity. A faster volume would only have been idle more.",
		Words: Words{"idle": "While {{.clients}} stalled, the busiest device ({{.device}}) was busy {{.mean}} of the time, at most {{.most}} in any interval" +
			"{{with .iops}}, with at most {{.}} IOPS{{end}}. A faster or larger volume will not help."},
		Advice: map[string]Advice{"do not buy": {Summary: "Do not buy IOPS or throughput for this",
			Expect: "no change: writes did not wait for the device", TradeOff: "none; it saves money",
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
			return nil // evidence/gap reports it
		}

		// The kernel counts a flush separately, not in the busy time. If flushes are what clients wait for
		// (etcd's fdatasync), a busy share without them refutes nothing.
		flush, measured := c.flushing(c.Stall.Cells)
		if flush > idleFlush || !measured && c.Stall.OfLog {
			return nil
		}

		if c.overLimit() || c.providerLimited() || c.volumeStalls() {
			return nil // the provider counted a limit or a fault of the volume or the instance
		}

		if queued, _ := c.QueuedShare(c.Stall.Cells); queued > idleQueued {
			return nil // stalls shorter than two samples do not show in a sample's busy share
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
		// Skip devices that were not measured in nearly all of the stalled time.
		if Share(timeline.Known(t.Values), c.Stall.Cells) < 0.9 {
			continue
		}
		if m := timeline.Mean(timeline.At(t.Values, c.Stall.Cells)); m > high {
			best, high = t, m
		}
	}
	return best, high >= 0
}

// flushing is the largest share of the cells' time that any device spent in flush requests. The
// kernel counts these separately from the busy time (kernel:
// Documentation/admin-guide/iostats.rst).
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

	// A device that is hardly used is not the cause, however long its few writes take.
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

// If the CPUs were saturated in starvedMost of the stalled time, a device that is rarely saturated
// in it does not explain why the rest stalled as well.
const (
	starvedMost   = 0.9
	besideSeldom  = 0.15 // of the stalled time
	besideInQueue = 2.0  // requests
)

// starvedInStall reports whether the CPUs, or a container's share of them, were saturated while
// clients stalled.
func (c *Case) starvedInStall() bool { return Share(c.starved(), c.Stall.Cells) >= starvedMost }

// besideCPU reports whether a device serves its requests immediately, one or two at a time, in
// nearly all of the stalled time. It may still be always busy: with a log's syncs, one after the
// other.
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

// quickDevice reports whether a device's reads and writes are so quick, on average over each
// interval, that no burst among them can have held up clients for as long as they stalled.
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

// roomForStall reports whether a device's samples are much further apart than those of the stalls,
// and its requests in one interval took longer in sequence than clients stalled in it: all of them
// may have fallen into the stall.
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
		c.Figure("highest busy share of "+dev+" in any interval of the recording", DiskBusy,
			timeline.Max(busiest.Values), "ratio", timeline.Known(busiest.Values)),
		c.Figure("highest write IOPS of "+dev+" in any interval", DiskWrites, timeline.Max(get(DiskWrites)), "1/s",
			timeline.Known(busiest.Values)),
		c.Figure("write await of "+dev+" while stalled, median", DiskWriteAwait,
			timeline.Quantile(timeline.At(get(DiskWriteAwait), stalled), 0.5), "seconds", stalled))

	if c.Stall.Latency != nil {
		// The worst seconds are the strongest test: a guilty disk would be busy in them.
		worst := timeline.Top(c.Stall.Latency, worstSeconds)
		f.Evidence = append(f.Evidence,
			c.Figure(fmt.Sprintf("highest busy share of %s in the %d intervals with the highest latency", dev,
				worst.Count()),
				DiskBusy, timeline.Max(timeline.At(busiest.Values, worst)), "ratio", worst))

		if moved := get(DiskMoved); moved != nil {
			if rho := timeline.Correlation(c.Stall.Latency, moved); rho == rho {
				f.Evidence = append(f.Evidence,
					c.Figure("correlation of latency with the bytes "+dev+
						" moved (positive if the disk makes writes wait)", nil, rho, "", timeline.Known(moved)))
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
