package corerules

import (
	"slices"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// caseCounters are the counters listed for the slow device; its peers get the first few.
var caseCounters = []struct {
	name string
	of   *rules.Signal
}{
	{
		"reads",
		rules.DiskReads,
	}, {"writes", rules.DiskWrites}, {"bytes moved", rules.DiskMoved}, {"read await", rules.DiskReadAwait},
	{"write await", rules.DiskWriteAwait},
	{"flush await", rules.DiskFlushAwait}, {"queue", rules.DiskQueue}, {"busy", rules.DiskBusy},
}

const (
	peerCounters = 5 // of caseCounters, for each peer
	peersListed  = 8
)

// supportCase collects the evidence about a slow device.
func supportCase(s *rules.Slowdown, c *rules.Case) *rules.SupportCase {
	eps := s.Cells.Episodes()
	out := &rules.SupportCase{Device: s.Device, Volume: onlyVolume(&c.Signals), From: c.Grid.Start(eps[0].First),
		To:    c.Grid.Time(eps[len(eps)-1].Last),
		SlowS: c.Seconds(s.Cells), Excluded: s.Excluded}
	list := func(device string, most int) {
		for _, x := range caseCounters[:most] {
			v := c.For(x.of, "device", device)
			row := rules.Counted{Device: device, Counter: x.name, Metric: x.of.Name, Unit: x.of.Unit,
				Slow:  measured(timeline.Quantile(timeline.At(v, s.Cells), 0.5)),
				Usual: measured(timeline.Quantile(timeline.At(v, s.Calm), 0.5))}
			if row.Slow != nil || row.Usual != nil {
				out.Counters = append(out.Counters, row)
			}
		}
	}

	list(s.Device, len(caseCounters))
	for _, p := range slices.Concat(s.Quick, s.Alike)[:min(peersListed, len(s.Quick)+len(s.Alike))] {
		list(p, peerCounters)
	}

	for _, x := range []struct {
		name string
		of   *rules.Signal
	}{{"time over the volume's IOPS limit", rules.EBSVolumeIOPSExceeded},
		{"time over the volume's throughput limit", rules.EBSVolumeThroughputExceeded},
		{"time over the instance's IOPS limit", rules.EBSInstanceIOPSExceeded},
		{"time over the instance's throughput limit", rules.EBSInstanceThroughputExceeded}} {
		for _, t := range c.Signal(x.of) {
			out.Counters = append(out.Counters,
				rules.Counted{Device: t.Labels.Get("volume_id"), Counter: x.name, Metric: x.of.Name, Unit: "ratio",
					Slow:  measured(timeline.Mean(timeline.At(t.Values, s.Cells))),
					Usual: measured(timeline.Mean(timeline.At(t.Values, s.Calm)))})
		}
	}

	return out
}

// onlyVolume is the ID of the volume in EBS's counters, if there is exactly one.
func onlyVolume(sig *rules.Signals) string {
	t := sig.Signal(rules.EBSVolumeIOPSExceeded)
	if len(t) != 1 {
		return ""
	}
	return t[0].Labels.Get("volume_id")
}

// measured is a pointer to a figure; nil if it is not finite.
func measured(x float64) *float64 {
	if x != x || x-x != 0 {
		return nil
	}
	return &x
}
