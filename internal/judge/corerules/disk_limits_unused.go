package corerules

import (
	"math"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// Limits are unused if EBS counts no time over them, or if the device did far more at other times
// than ever in the stalled time. A mean over seconds hides a limit that is hit only for a moment,
// so the second criterion needs samples of a second or two. If the volume's limits are known, they
// are compared with its load; in longer intervals only if the queue was short, because a burst at a
// limit fills it.
const (
	unusedShare  = 0.01 // at most this share of the stalled time is over a limit
	unusedKnown  = 0.9  // at least this share of the stalled time is measured
	unusedStepS  = 2.0
	unusedPart   = 0.5 // of its load at other times
	unusedAround = 3e9
	unusedBusy   = 0.05 // less is idle
	unusedCells  = 5    // intervals at other times with that load
	unusedQueue  = 4.0  // requests in flight on average
	unusedFull   = 0.9  // busy share of a saturated device
	unusedStands = 0.5  // share of the stalled time in which requests wait
	unusedEven   = 1.1  // highest over median of a rate that hardly varies
)

func diskLimitsUnused() rules.Rule {
	r := rules.Rule{ID: "disk/limits-unused",
		Title: "The volume's limits are not reached: more IOPS or throughput buys nothing",
		Kind:  rules.Refutation, Refutes: []rules.Resource{rules.VolumeIOPS, rules.VolumeThroughput},
		Needs: []*rules.Signal{}, AnyOf: []*rules.Signal{rules.DiskOps, rules.EBSVolumeIOPSExceeded},
		NoAlert: "it is a refutation: there is nothing to buy",
		Cause:   "A volume's IOPS and throughput are limits, not its speed. Requests wait for them only while they are reached. Otherwise requests wait for their own latency, for each other, or for something else entirely.",
		Words: rules.Words{
			"given":   "While {{.clients}} stalled, {{.device}} did at most {{.ops}} and {{.moved}}: {{.opsPart}} of the IOPS and {{.movedPart}} of the throughput that {{.volume}} provides.",
			"counted": "While {{.clients}} stalled, EBS counted no time over the volume's limits.",
			"seen":    "While {{.clients}} stalled, {{.device}} did at most {{.ops}} and {{.moved}}, {{.opsPart}} and {{.movedPart}} of its rates at other times.",
		},
		Advice: map[string]rules.Advice{"do not buy": {Summary: "Do not buy IOPS, throughput or a larger volume for this",
			Expect: "no change: the limits are not reached", TradeOff: "none; it saves money",
			NoCommand: nothingToDo}}}

	r.Judge = func(c *rules.Case, _ []timeline.Track) []rules.Finding {
		if !c.Stall.Any() || !c.Stall.IsDatabase && len(c.Provisioned) == 0 || c.Change != nil ||
			rules.Trifle(c.Seconds(c.Stall.Cells), c.Seconds(c.Stall.Observed)) {
			return nil
		}

		if _, off := clockShift(c); off || providerLimited(c) || volumeStalls(c) {
			return nil
		}

		f := r.Finding("all volumes")
		f.Severity, f.Weight = rules.Info, 1
		f.Windows = c.Windows(c.Stall.Cells)

		if countedUnused(c, &f) || givenUnused(c, &f) || c.Stall.IsDatabase && seenUnused(c, &f) {
			f.Advise("do not buy", nil)
			return []rules.Finding{f}
		}

		return nil
	}

	return r
}

// countedUnused reports whether EBS counts the time over limits and counted none.
func countedUnused(c *rules.Case, f *rules.Finding) bool {
	iops, throughput := c.Signal(rules.EBSVolumeIOPSExceeded), c.Signal(rules.EBSVolumeThroughputExceeded)
	if len(iops) == 0 || len(throughput) == 0 {
		return false
	}

	around := c.Cells(unusedAround)
	cells := c.Stall.Cells.Widen(around, around)
	for _, of := range ebsExceeded {
		for _, t := range c.Signal(of) {
			if rules.Share(timeline.Known(t.Values), c.Stall.Cells) < unusedKnown ||
				timeline.Mean(timeline.At(t.Values, cells)) > unusedShare {
				return false
			}
			f.Evidence = append(f.Evidence,
				c.Figure("share of the stalled time over the limit of "+t.Labels.Get("volume_id"), of,
					timeline.Mean(timeline.At(t.Values, cells)), "ratio", cells))
		}
	}

	f.Say("counted", rules.Values{"clients": rules.Called(c.Stall.Subject)})
	return true
}

// givenUnused reports whether the volume limits of every device that is not idle are known and the
// device stays far below them.
func givenUnused(input *rules.Case, finding *rules.Finding) bool {
	finding.Evidence = nil
	around := input.Cells(unusedAround)
	cells := input.Stall.Cells.Widen(around, around)

	most, said := 0.0, rules.Values{}
	for _, t := range input.Signal(rules.DiskOps) {
		dev := t.Labels.Get("device")
		moved, queue := input.For(rules.DiskMoved, "device", dev), input.For(rules.DiskQueue, "device", dev)
		if timeline.Mean(timeline.At(input.For(rules.DiskBusy, "device", dev), cells)) < unusedBusy {
			continue
		}

		provision, known := input.Provisioned[dev]

		// One device with unknown limits is enough to make the claim unsafe.
		if !known || moved == nil || provision.IOPS <= 0 || provision.Throughput <= 0 ||
			rules.Share(timeline.Known(t.Values), input.Stall.Cells) < unusedKnown {
			return false
		}

		// In a long interval, only a short queue excludes a burst at the limit.
		if input.Coarsest(rules.DiskOps) > unusedStepS &&
			!(timeline.Quantile(timeline.At(queue, input.Stall.Cells), 0.9) <= unusedQueue) {
			return false
		}

		ops, bytes := timeline.Quantile(timeline.At(t.Values, cells), 0.95),
			timeline.Quantile(timeline.At(moved, cells), 0.95)
		if !(ops <= unusedPart*provision.IOPS) || !(bytes <= unusedPart*provision.Throughput) {
			return false
		}

		finding.Evidence = append(finding.Evidence,
			input.Figure("requests completed by "+dev+" while stalled, 95th percentile", rules.DiskOps,
				ops, "1/s", cells),
			input.Figure("IOPS of its volume, "+provision.Text, nil, provision.IOPS, "1/s", cells))
		if ops >= most {
			most, finding.Subject = ops, dev
			said = rules.Values{
				"clients": rules.Called(input.Stall.Called()),
				"device":  rules.Called(dev),
				"ops":     rules.Of(ops, "IOPS"),
				"moved":   rules.Of(bytes, "bytes/s"),
				"opsPart": rules.Part(
					ops / provision.IOPS,
				),
				"movedPart": rules.Part(bytes / provision.Throughput),
				"volume":    rules.Called(provision.Text),
			}
		}
	}

	if most == 0 {
		return false
	}

	finding.Say("given", said)
	return true
}

// seenUnused reports whether every device did far more at other times.
func seenUnused(input *rules.Case, finding *rules.Finding) bool {
	finding.Evidence = nil
	if input.Coarsest(rules.DiskOps) > unusedStepS || len(input.Slowdowns()) > 0 {
		return false
	}

	around := input.Cells(unusedAround)
	cells := input.Stall.Cells.Widen(around, around)
	busiest, most := "", 0.0

	var said rules.Values
	for _, t := range input.Signal(rules.DiskOps) {
		dev := t.Labels.Get("device")
		moved := input.For(rules.DiskMoved, "device", dev)
		if moved == nil || rules.Share(timeline.Known(t.Values), input.Stall.Cells) < unusedKnown {
			return false
		}

		ops, bytes := timeline.Quantile(timeline.At(t.Values, cells), 0.95),
			timeline.Quantile(timeline.At(moved, cells), 0.95)
		if timeline.Mean(timeline.At(input.For(rules.DiskBusy, "device", dev), cells)) < unusedBusy {
			continue
		}
		if standsStill(input, dev, t.Values) {
			return false
		}

		// The rates that it sustained at other times for more than a moment.
		can, canMove := nth(timeline.At(t.Values, cells.Not()), unusedCells),
			nth(timeline.At(moved, cells.Not()), unusedCells)
		if !(can > 0 && ops <= unusedPart*can) || !(canMove > 0 && bytes <= unusedPart*canMove) {
			return false
		}

		if ops >= most {
			busiest, most = dev, ops
			said = rules.Values{
				"clients": rules.Called(input.Stall.Subject),
				"device":  rules.Called(dev),
				"ops":     rules.Of(ops, "IOPS"),
				"moved": rules.Of(
					bytes,
					"bytes/s",
				),
				"opsPart":   rules.Part(ops / can),
				"movedPart": rules.Part(bytes / canMove),
			}
		}
	}

	if busiest == "" {
		return false
	}

	finding.Subject = busiest
	finding.Say("seen", said)
	finding.Evidence = []rules.Evidence{
		input.Figure("requests completed while stalled, 95th percentile", rules.DiskOps, most, "1/s", cells),
		input.Figure("most requests completed at other times, in at least 5 intervals", rules.DiskOps,
			nth(timeline.At(input.For(rules.DiskOps, "device", busiest), cells.Not()), unusedCells), "1/s", cells.Not()),
	}

	return true
}

// standsStill reports whether a device completes a constant number of requests while more wait, in
// most of the stalled time: its limit dropped, no matter how much it did before.
func standsStill(c *rules.Case, dev string, ops []float64) bool {
	busy, queue := c.For(rules.DiskBusy, "device", dev), c.For(rules.DiskQueue, "device", dev)
	if busy == nil || queue == nil {
		return false
	}
	waiting := timeline.Where(busy,
		func(x float64) bool { return x > unusedFull }).And(timeline.Where(queue,
		func(x float64) bool { return x > unusedQueue })).And(c.Stall.Cells)
	rate := timeline.At(ops, waiting)
	return rules.Share(waiting, c.Stall.Cells) >= unusedStands &&
		timeline.Quantile(rate, 0.9) <= unusedEven*timeline.Quantile(rate, 0.5)
}

// nth is the n-th highest value; NaN if there are fewer.
func nth(values []float64, n int) float64 {
	top := timeline.Top(values, n)
	if top.Count() < n {
		return math.NaN()
	}
	return timeline.Quantile(timeline.At(values, top), 0)
}
