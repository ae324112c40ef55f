package corerules

import (
	"fmt"
	"slices"

	"plimsoll/internal/judge/rules"
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
	// Averaged over a long interval, a few seconds in which the device was never idle do not show. At
	// coarseStepS and above the limits are stricter.
	coarseStepS      = 5.0
	coarseBusyMedian = 0.20
	coarseBusyP95    = 0.50
	// The usual limits still apply if no request takes long on average, far less than clients waited.
	quickAwaitS = 0.002
	quickTimes  = 20
)

func diskNotTheCause() rules.Rule {
	rule := rules.Rule{ID: "disk/not-the-cause", Title: "The disk is not the cause", Kind: rules.Refutation, Traced: noDevice,
		Refutes: rules.DiskResources,
		When:    "plimsoll:disk_busy:ratio < 0.9",
		NoAlert: "it is a refutation: a healthy disk is no reason to page anyone",
		Cause:   "While clients waited, every device had spare capacity. A faster volume would only have been idle more.",
		Words: rules.Words{"idle": "While {{.clients}} stalled, the busiest device ({{.device}}) was busy {{.mean}} of the time, at most {{.most}} in any interval" +
			"{{with .iops}}, with at most {{.}} IOPS{{end}}. A faster or larger volume will not help."},
		Advice: map[string]rules.Advice{"do not buy": {Summary: "Do not buy IOPS or throughput for this",
			Expect: "no change: writes did not wait for the device", TradeOff: "none; it saves money",
			NoCommand: nothingToDo}}}

	rule.Judge = func(input *rules.Case, _ []timeline.Track) []rules.Finding {
		if !input.Stall.IsDatabase || !input.Stall.Any() {
			return nil
		}

		busiest, ok := busiestInStall(input)
		if !ok {
			return nil
		}

		finding := rule.Finding("all devices")
		for _, t := range input.Signal(rules.DiskBusy) {
			if !idleDevice(input, t) {
				return nil
			}
		}

		if _, off := clockShift(input); off {
			return nil // evidence/gap reports it
		}

		// The kernel counts a flush separately, not in the busy time. If flushes are what clients wait for
		// (etcd's fdatasync), a busy share without them refutes nothing.
		flush, measured := flushing(&input.Signals, input.Stall.Cells)
		if flush > idleFlush || !measured && input.Stall.OfLog {
			return nil
		}

		if overLimit(input) || providerLimited(input) || volumeStalls(input) {
			return nil // the provider counted a limit or a fault of the volume or the instance
		}

		if queued, _ := input.QueuedShare(input.Stall.Cells); queued > idleQueued {
			return nil // stalls shorter than two samples do not show in a sample's busy share
		}

		if full := input.One(rules.PSIIOFull); full != nil &&
			timeline.Quantile(timeline.At(full, input.Stall.Cells), 0.5) > idleIOFull {
			return nil
		}
		if input.LogSyncing(input.Stall.Cells) > idleJournal {
			return nil
		}

		finding.Severity, finding.Weight = rules.Warning, 1
		if input.SeverityOf(1) == rules.Critical {
			finding.Severity = rules.Critical
		}

		fillNotTheCause(input, &finding, busiest)
		return []rules.Finding{finding}
	}

	return rule
}

// busiestInStall returns the device with the highest mean busy share in the stalled time.
func busiestInStall(c *rules.Case) (timeline.Track, bool) {
	var best timeline.Track
	high := -1.0
	for _, t := range c.Signal(rules.DiskBusy) {
		// Skip devices that were not measured in nearly all of the stalled time.
		if rules.Share(timeline.Known(t.Values), c.Stall.Cells) < 0.9 {
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
func flushing(sig *rules.Signals, cells timeline.Mask) (share float64, measured bool) {
	for _, t := range sig.Signal(rules.DiskFlushes) {
		dev := t.Labels.Get("device")
		await := sig.For(rules.DiskFlushAwait, "device", dev)

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

func idleDevice(c *rules.Case, busy timeline.Track) bool {
	in := timeline.At(busy.Values, c.Stall.Cells)
	if timeline.Count(in) == 0 {
		return true // not measured while stalled; busiestInStall requires that
	}

	// A device that is hardly used is not the cause, however long its few writes take.
	if timeline.Quantile(in, 0.5) < 0.05 && timeline.Quantile(in, 0.95) < 0.3 {
		return true
	}
	if starvedInStall(c) && besideCPU(c, busy) {
		return true
	}

	await := timeline.At(c.For(rules.DiskWriteAwait, "device", busy.Labels.Get("device")), c.Stall.Cells)
	median, p95 := idleBusyMedian, idleBusyP95
	if c.Coarsest(rules.DiskBusy) >= coarseStepS && !quickDevice(c, busy.Labels.Get("device")) {
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
func starvedInStall(c *rules.Case) bool {
	return rules.Share(c.Starved(), c.Stall.Cells) >= starvedMost
}

// besideCPU reports whether a device serves its requests immediately, one or two at a time, in
// nearly all of the stalled time. It may still be always busy: with a log's syncs, one after the
// other.
func besideCPU(c *rules.Case, busy timeline.Track) bool {
	dev := busy.Labels.Get("device")
	queue, await := c.For(rules.DiskQueue, "device", dev), c.For(rules.DiskWriteAwait, "device", dev)
	if queue == nil || await == nil || roomForStall(c, dev) {
		return false
	}
	deep := timeline.Where(queue, func(x float64) bool { return x > besideInQueue })
	return rules.Share(deep, c.Stall.Cells) <= besideSeldom &&
		!(timeline.Quantile(timeline.At(await, c.Stall.Cells), 0.5) > quickAwaitS)
}

// quickDevice reports whether a device's reads and writes are so quick, on average over each
// interval, that no burst among them can have held up clients for as long as they stalled.
func quickDevice(c *rules.Case, dev string) bool {
	stalled := timeline.Quantile(timeline.At(c.Stall.Latency, c.Stall.Cells), 0.5)
	if roomForStall(c, dev) {
		return false
	}
	for _, of := range []*rules.Signal{rules.DiskWriteAwait, rules.DiskReadAwait} {
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
func roomForStall(c *rules.Case, dev string) bool {
	periodS := c.ResolutionS(rules.DiskBusy)
	if periodS < rules.PinpointFactor*max(c.Stall.PeriodS, c.Grid.StepSeconds()) {
		return false
	}
	busy := c.For(rules.DiskBusy, "device", dev)
	for _, e := range c.Intervals(timeline.Known(busy), periodS) {
		stalled := c.Seconds(c.Stall.Cells[e.First : e.Last+1])
		if stalled > 0 && timeline.Mean(busy[e.First:e.Last+1])*periodS >= stalled {
			return true
		}
	}
	return false
}

func fillNotTheCause(input *rules.Case, finding *rules.Finding, busiest timeline.Track) {
	dev := busiest.Labels.Get("device")
	get := func(signal *rules.Signal) []float64 { return input.For(signal, "device", dev) }
	stalled := input.Stall.Cells
	in := timeline.At(busiest.Values, stalled)
	finding.Say("idle", rules.Values{"clients": rules.Called(input.Stall.Subject), "device": rules.Called(dev),
		"mean": rules.Part(timeline.Mean(in)), "most": rules.Part(timeline.Max(in)),
		"iops": rules.Number(timeline.Max(timeline.At(get(rules.DiskOps), stalled)))})
	finding.Evidence = append(finding.Evidence,
		input.Figure("busy share of "+dev+" while stalled, 95th percentile", rules.DiskBusy, timeline.Quantile(in, 0.95),
			"ratio", stalled),
		input.Figure("highest busy share of "+dev+" in any interval of the recording", rules.DiskBusy,
			timeline.Max(busiest.Values), "ratio", timeline.Known(busiest.Values)),
		input.Figure("highest write IOPS of "+dev+" in any interval", rules.DiskWrites, timeline.Max(get(rules.DiskWrites)), "1/s",
			timeline.Known(busiest.Values)),
		input.Figure("write await of "+dev+" while stalled, median", rules.DiskWriteAwait,
			timeline.Quantile(timeline.At(get(rules.DiskWriteAwait), stalled), 0.5), "seconds", stalled))

	if input.Stall.Latency != nil {
		// The worst seconds are the strongest test: a guilty disk would be busy in them.
		worst := timeline.Top(input.Stall.Latency, worstSeconds)
		finding.Evidence = append(finding.Evidence,
			input.Figure(fmt.Sprintf("highest busy share of %s in the %d intervals with the highest latency", dev,
				worst.Count()),
				rules.DiskBusy, timeline.Max(timeline.At(busiest.Values, worst)), "ratio", worst))

		if moved := get(rules.DiskMoved); moved != nil {
			if rho := timeline.Correlation(input.Stall.Latency, moved); rho == rho {
				finding.Evidence = append(finding.Evidence,
					input.Figure("correlation of latency with the bytes "+dev+
						" moved (positive if the disk makes writes wait)", nil, rho, "", timeline.Known(moved)))
			}
		}
	}

	if full := input.One(rules.PSIIOFull); full != nil {
		finding.Evidence = append(finding.Evidence,
			input.Figure("share of the stalled time in which all tasks waited for I/O (PSI), median", rules.PSIIOFull,
				timeline.Quantile(timeline.At(full, stalled), 0.5), "ratio", stalled))
	}

	finding.Windows = input.Windows(stalled)
	finding.Advise("do not buy", nil)
	finding.Evidence = slices.DeleteFunc(finding.Evidence, func(e rules.Evidence) bool { return e.Value == nil })
}
