package rules

import (
	"strings"

	"plimsoll/internal/record/timeline"
)

// A Limit is the rate at which a device plateaus while requests queue, by the criteria of the rules
// that report a cap.
type Limit struct {
	Device string
	// IOPS and Throughput (bytes/s) are the caps found; nil if none was reached. If all requests
	// have the same size, both rates are constant at the same time. Then only the more likely cap
	// is given, unless both are sold together.
	IOPS, Throughput *timeline.Plateau
	// Counts says which requests the IOPS count: "" (reads and writes together), or "read" or "write" if
	// a cgroup or a hypervisor limits only one of them.
	Counts string
	// SoldIOPS and SoldThroughput name the volumes sold with such a limit: "gp3's baseline, and
	// gp2's burst"; "" if none.
	SoldIOPS, SoldThroughput string
	// Saturated marks the cells in which the device was never idle and requests queued.
	Saturated timeline.Mask
}

// Limits returns the ceilings of all devices with a busy share and a queue length, in the order of
// the signal's series. The Limit of a device that was never saturated has no caps.
func (sig *Signals) Limits() []Limit {
	var out []Limit
	for _, t := range sig.Signal(DiskBusy) {
		dev := t.Labels.Get("device")
		full, ok := sig.SaturatedDevice(dev)
		if !ok {
			continue
		}

		k := FindCeiling(sig, timeline.Track{Labels: t.Labels, Values: Within(t.Values, full)}, nil)
		l := Limit{Device: dev, Saturated: k.Saturated}
		if k.HasIOPS {
			l.IOPS, l.Counts = &k.Iops, strings.TrimSpace(k.KindOfOps())
			limit, _ := SoldIOPS(k.Iops.Level)
			l.SoldIOPS = limit.What
		}

		if k.HasTP {
			l.Throughput = &k.Throughput
			limit, _ := SoldThroughput(k.Throughput.Level)
			l.SoldThroughput = limit.What
		}

		out = append(out, l)
	}

	return out
}
