package corerules

import (
	"math"
	"slices"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// EBS counts the time that a volume was over each of its limits separately. These are totals, so
// they are exact at any sampling period, and even a stall of half a second is in them.
const (
	// countedShare is the share of a device's busy time in the stalls for which it must have been over a
	// limit.
	countedShare = 0.55
	// asBusyAs is the minimum ratio of a device's busy time in the stalls to that of the busiest device:
	// clients do not wait for a less busy device, even if it is at its limit.
	asBusyAs = 0.9
)

// ebsExceeded count the time over a limit of the volume or of its instance, as EBS measures it.
var ebsExceeded = []*rules.Signal{rules.EBSVolumeIOPSExceeded, rules.EBSVolumeThroughputExceeded,
	rules.EBSInstanceIOPSExceeded, rules.EBSInstanceThroughputExceeded}

// counted is what EBS counted over a volume's limits in the stalled time.
type counted struct {
	volume, device           string
	iopsS, throughputS       float64 // seconds over each limit
	busyS                    float64
	overIOPS, overThroughput timeline.Mask
}

// countedDevices returns what EBS counted for the volumes that are as busy as any in the stalls; false if
// it did not count.
func countedDevices(input *rules.Case) (out []counted, measured bool) {
	if !input.Stall.Any() {
		return nil, false
	}

	in := input.Stall.Cells
	if input.Grid.StepSeconds() <= 2 {
		in = in.Widen(1, 0) // its waiting is credited when it ends
	}

	step := input.Grid.StepSeconds()
	sum := func(v []float64) float64 { return timeline.Sum(timeline.At(v, in)) * step }
	over := func(v []float64) timeline.Mask {
		return timeline.Where(v, func(x float64) bool { return x > exceededShare })
	}

	// The busiest device is the reference for all others.
	busiest, most := "", 0.0
	for _, t := range input.Signal(rules.DiskBusy) {
		if s := sum(t.Values); s > most {
			busiest, most = t.Labels.Get("device"), s
		}
	}

	tracks := input.Signal(rules.EBSVolumeIOPSExceeded)

	// EBS's counters name volumes and the kernel's name devices, so each has to be matched.
	for _, t := range tracks {
		x := counted{volume: t.Labels.Get("volume_id"), overIOPS: over(t.Values), iopsS: sum(t.Values)}
		tp := input.For(rules.EBSVolumeThroughputExceeded, "volume_id", x.volume)
		x.overThroughput, x.throughputS = over(tp), sum(tp)

		switch {
		case input.For(rules.DiskBusy, "device", x.volume) != nil:
			x.device = x.volume
		case len(tracks) == 1: // with several volumes there is no telling which device is which
			x.device = busiest
		}

		// Without a matching device, assume the volume was as busy as the busiest one.
		x.busyS = most
		if x.device != "" {
			x.busyS = sum(input.For(rules.DiskBusy, "device", x.device))
		}

		if x.busyS > 0 && x.busyS >= asBusyAs*most {
			out = append(out, x)
		}
	}

	return out, len(tracks) > 0
}

// binds reports whether a limit held the volume back for most of its busy time, and for at least
// margin times as long as the other limit.
func (x counted) binds(over, other, margin float64) bool {
	return over >= countedShare*x.busyS && over >= margin*other
}

// settledByCount keeps the cap findings that EBS's own count confirms, and adds what it shows if no
// rate is constant for long enough. If EBS does not count, only devices that are as busy as any in
// the stalls can be the cause.
func settledByCount(rule rules.Rule, input *rules.Case, found []rules.Finding, kind capKind) []rules.Finding {
	all, measured := countedDevices(input)
	if !measured {
		return settledByBusy(input, found)
	}

	var out []rules.Finding
	for _, f := range found {
		mine, alike := false, false
		for _, x := range all {
			if x.device != f.Subject && x.device != "" {
				continue
			}
			over, other, _ := kind.counted(x)
			mine = mine || x.binds(over, other, kind.margin)
			alike = alike || x.binds(over, other, 1/kind.margin)
		}

		switch {
		case mine || f.Severity == rules.Info:
		// Raising one of two limits that bind alike does not help.
		case alike:
			f.Severity, f.Alike = rules.Info, true
			f.Say("counted alike", nil)
		default:
			f.Severity = rules.Info
			f.Say("not counted", nil)
		}

		out = append(out, f)
	}

	for _, count := range all {
		over, other, cells := kind.counted(count)
		named := func(f rules.Finding) bool { return f.Subject == count.device }
		if !count.binds(over, other, kind.margin) || over < minCountedS || slices.ContainsFunc(out, named) {
			continue
		}

		subject := count.device
		if subject == "" {
			subject = count.volume
		}

		finding := rule.During(input, subject, rules.Share(cells.Widen(0, 1), input.Stall.Cells), cells.Close(3))
		finding.PeriodS = input.Period(cells.Close(input.Cells(5e9)))
		finding.Say("counted", rules.Values{"volume": rules.Called(count.volume), "limit": rules.Called(kind.limit),
			"over": rules.Seconds(over), "share": rules.Part(math.Min(1, over/count.busyS))})

		if finding.PeriodS > 0 {
			finding.Say("recurring", rules.Values{"period": rules.Seconds(finding.PeriodS)})
		}

		finding.Evidence = append(finding.Evidence,
			input.FigureOf("time over the volume's "+kind.limit+" limit in the stalled time", kind.counter, over,
				"seconds", cells),
			input.Figure("time the device was busy in the stalled time", rules.DiskBusy, count.busyS, "seconds", input.Stall.Cells),
			input.Figure("highest rate in an interval", kind.of,
				timeline.Max(input.For(kind.of, "device", count.device)), kind.of.Unit, input.Stall.Cells))

		adviseBursts(input, &finding)
		out = append(out, finding)
	}

	return out
}

// minCountedS is how long a volume must have been over a limit for a finding, in seconds.
const minCountedS = 0.5

// settledByBusy demotes devices at a cap if clients waited for another device.
func settledByBusy(c *rules.Case, found []rules.Finding) []rules.Finding {
	most := 0.0
	busy := func(device string) float64 {
		return timeline.Sum(timeline.At(c.For(rules.DiskBusy, "device", device), c.Stall.Cells))
	}
	for _, t := range c.Signal(rules.DiskBusy) {
		most = max(most, busy(t.Labels.Get("device")))
	}

	for i := range found {
		f := &found[i]
		switch {
		case f.Severity == rules.Info:
		case busy(f.Subject) < asBusyAs*most:
			f.Severity = rules.Info
			f.Say("another", nil)
		case f.Weight < mostOfStall:
			f.Severity = rules.Info
			f.Say("part", nil)
		}
	}

	return found
}

// mostOfStall is the share of the stalled time during which a cap has to bind to be the cause.
const mostOfStall = 0.5

// overLimitS is the time over any limit, in seconds per stalled interval, above which the disk is
// not ruled out.
const overLimitS = 0.02

// overLimit reports whether EBS counted time over a limit of a volume or of the instance in the
// stalls. If the CPUs were saturated, a little of it in each interval is irrelevant.
func overLimit(c *rules.Case) bool {
	around, most := c.Stall.Cells.Widen(1, 0), overLimitS
	if starvedInStall(c) {
		most = besideSeldom * c.Grid.StepSeconds()
	}
	for _, s := range ebsExceeded {
		for _, t := range c.Signal(s) {
			if timeline.Mean(timeline.At(t.Values, around))*c.Grid.StepSeconds() > most {
				return true
			}
		}
	}
	return false
}
