package rules

import (
	"slices"
	"strings"
	"time"

	"plimsoll/internal/record/timeline"
)

// A SupportCase is the evidence about a volume that a provider's support needs: when it was slow,
// by which counters, how it and its peers did at other times, and what was ruled out. Users attach
// it unchanged.
type SupportCase struct {
	Device string `json:"device"`
	// Volume is the provider's ID if the sources report exactly one; "" if unknown.
	Volume string    `json:"volume_id,omitempty"`
	From   time.Time `json:"from"`
	To     time.Time `json:"to"`
	// SlowS is for how many seconds of that time it was slow.
	SlowS    float64   `json:"slow_seconds"`
	Counters []Counted `json:"counters"`
	Excluded []string  `json:"excluded"`
}

// Counted is one counter of a device: its median while the volume was slow and in the time used for
// comparison; nil if not measured.
type Counted struct {
	Device  string   `json:"device"`
	Counter string   `json:"counter"`
	Metric  string   `json:"metric"`
	Unit    string   `json:"unit"`
	Slow    *float64 `json:"slow"`
	Usual   *float64 `json:"usual"`
}

// caseCounters are the counters listed for the slow device; its peers get the first few.
var caseCounters = []struct {
	name string
	of   *Signal
}{
	{"reads", DiskReads}, {"writes", DiskWrites}, {"bytes moved", DiskMoved}, {"read await", DiskReadAwait},
	{"write await", DiskWriteAwait},
	{"flush await", DiskFlushAwait}, {"queue", DiskQueue}, {"busy", DiskBusy},
}

const (
	peerCounters = 5 // of caseCounters, for each peer
	peersListed  = 8
)

// supportCase collects the evidence about a slow device.
func (s *slowdown) supportCase(c *Case) *SupportCase {
	eps := s.cells.Episodes()
	out := &SupportCase{Device: s.device, Volume: c.onlyVolume(), From: c.Grid.Start(eps[0].First),
		To:    c.Grid.Time(eps[len(eps)-1].Last),
		SlowS: c.Seconds(s.cells), Excluded: s.excluded}
	list := func(device string, most int) {
		for _, x := range caseCounters[:most] {
			v := c.For(x.of, "device", device)
			row := Counted{Device: device, Counter: x.name, Metric: x.of.Name, Unit: x.of.Unit,
				Slow:  measured(timeline.Quantile(timeline.At(v, s.cells), 0.5)),
				Usual: measured(timeline.Quantile(timeline.At(v, s.calm), 0.5))}
			if row.Slow != nil || row.Usual != nil {
				out.Counters = append(out.Counters, row)
			}
		}
	}

	list(s.device, len(caseCounters))
	for _, p := range slices.Concat(s.quick, s.alike)[:min(peersListed, len(s.quick)+len(s.alike))] {
		list(p, peerCounters)
	}

	for _, x := range []struct {
		name string
		of   *Signal
	}{{"time over the volume's IOPS limit", EBSVolumeIOPSExceeded},
		{"time over the volume's throughput limit", EBSVolumeThroughputExceeded},
		{"time over the instance's IOPS limit", EBSInstanceIOPSExceeded},
		{"time over the instance's throughput limit", EBSInstanceThroughputExceeded}} {
		for _, t := range c.Signal(x.of) {
			out.Counters = append(out.Counters,
				Counted{Device: t.Labels.Get("volume_id"), Counter: x.name, Metric: x.of.Name, Unit: "ratio",
					Slow:  measured(timeline.Mean(timeline.At(t.Values, s.cells))),
					Usual: measured(timeline.Mean(timeline.At(t.Values, s.calm)))})
		}
	}

	return out
}

// onlyVolume is the ID of the volume in EBS's counters, if there is exactly one.
func (sig *Signals) onlyVolume() string {
	t := sig.Signal(EBSVolumeIOPSExceeded)
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

// joined names things in a sentence: "a, b and c".
func joined(names []string) Value {
	if len(names) < 2 {
		return Value(strings.Join(names, ""))
	}
	return Value(strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1])
}
