package diagnose

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"plimsoll/internal/base/units"
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// "No stall" is a claim about the classes of operation that were watched, at their sampling. This file
// determines the limits of that claim.

// judgedClasses lists the classes of operation that detectors could judge, those of databases
// first.
func judgedClasses(c *rules.Case) []JudgedClass {
	order, _ := detectors(c)
	out := []JudgedClass{}
	for _, i := range order {
		s := c.Symptoms[i]
		if s.Observed.Count() == 0 {
			continue
		}
		out = append(out, JudgedClass{Signal: s.Called(), Class: string(s.Class), Seconds: c.Seconds(s.Observed),
			Operations: known(timeline.Sum(s.Ops) * c.Grid.StepSeconds()), ThresholdS: known(s.Threshold),
			StepS: max(s.PeriodS, c.Grid.StepSeconds())})
	}
	return out
}

// known returns a figure, or 0 if it is NaN or infinite, which JSON cannot represent.
func known(x float64) float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return 0
	}
	return x
}

// coarseS is the sampling, in seconds, above which a mean can hide stalls of a few seconds.
const coarseS = 2.0

// notSeen lists what could not be seen, in a sentence each. samplesS is the sampling period.
func notSeen(input *rules.Case, all []JudgedClass, samplesS float64) []string {
	out := []string{}
	step := input.Grid.StepSeconds()
	if len(all) == 0 {
		return out
	}

	// A long recording is searched coarsely and judged finely, and users have to know both.
	if step > coarseS && samplesS < step {
		out = append(out,
			fmt.Sprintf("Stalls much shorter than %s: a recording this long is searched in means of that length, and what is found is judged in means of %s. Use --from and --to to select a part.",
				units.Seconds(step), units.Seconds(samplesS)))
	} else {
		out = append(out, hiddenByMeans(all)...)
	}

	out = append(out, undetermined(input)...)
	if volumesOnly(input) {
		out = append(
			out, "What a volume did within a minute: its provider reports one-minute sums. A five-second burst at a limit of 3,000 IOPS averages 250.")
	}

	if len(allClasses(input)) == 0 {
		out = append(
			out, "A few slow operations among many fast ones: these sources report means, not percentiles.")
	}

	database, device := false, input.Measured(rules.DiskBusy) || input.Measured(rules.DiskWriteAwait)
	var idle []string
	for _, x := range all {
		isDevice := x.Class == string(rules.DeviceWrites) || x.Class == string(rules.DeviceReads)
		database = database || !isDevice
		// "Had no operations" and "not measured" are different reasons for a signal without data.
		if x.Operations == 0 && !isDevice {
			idle = append(idle, x.Signal)
		}
	}

	if !database {
		out = append(out, "Client latency: only devices report here, no database.")
	}

	if !device {
		out = append(out, "Device activity: no source reports it.")
	}

	if len(idle) > 0 {
		out = append(out, fmt.Sprintf("The latency of %s: there were none.", units.Joined(idle)))
	}

	return out
}

// hiddenByMeans says which stalls are too short to show: those shorter than the longest interval in
// which any class was judged.
func hiddenByMeans(all []JudgedClass) []string {
	longest, shortest := 0.0, math.Inf(1)
	for _, x := range all {
		longest, shortest = max(longest, x.StepS), min(shortest, x.StepS)
	}

	if longest <= coarseS {
		return nil
	}

	text := fmt.Sprintf("Stalls much shorter than %s: the mean of an interval hides them.",
		units.Seconds(longest))
	if shortest < longest {
		var names []string
		for _, x := range all {
			if x.StepS == longest {
				names = append(names, x.Signal)
			}
		}
		text = fmt.Sprintf("Stalls of %s much shorter than %s: the mean of an interval hides them.",
			units.Joined(shortened(names)), units.Seconds(longest))
	}

	return []string{text}
}

// undetermined lists the operations that stopped before the recording ended, if no source shows
// whether clients were waiting or had stopped asking.
func undetermined(c *rules.Case) (out []string) {
	for _, s := range c.Symptoms {
		if n := s.Undetermined.Count(); n > 0 {
			out = append(out,
				fmt.Sprintf("Whether %s waited in the last %s: none completed, and no source counts how many were waiting.",
					s.Called(), units.Seconds(c.Seconds(s.Undetermined))))
		}
	}
	return out
}

// volumesOnly reports whether the provider's metrics about its volumes are the only data about devices.
func volumesOnly(c *rules.Case) bool {
	ops := c.Signal(rules.DiskOps)
	return len(ops) > 0 && c.Grid.StepSeconds() >= 60 && !slices.ContainsFunc(ops, func(t timeline.Track) bool {
		device := t.Labels.Get("device")
		return !strings.HasPrefix(device, "vol-") && c.Facts["volume."+device] == ""
	})
}

// busyClasses names the database classes that had operations, as one subject: "MongoDB writes,
// reads and commands". Without a database, it names the devices' classes.
func busyClasses(all []JudgedClass) string {
	var names, devices []string
	for _, x := range all {
		switch isDevice := x.Class == string(rules.DeviceWrites) || x.Class == string(rules.DeviceReads); {
		case x.Operations == 0:
		case isDevice:
			devices = append(devices, x.Signal)
		default:
			names = append(names, x.Signal)
		}
	}

	// Devices count only if no database had operations: clients feel the database, not the device.
	if len(names) == 0 {
		names = devices
	}

	const most = 4
	if n := len(names) - most; n > 0 {
		names = append(names[:most], fmt.Sprintf("%d more", n))
	}

	return units.Joined(shortened(names))
}

// samplesOf describes the sampling of what was judged: "1 s samples".
func samplesOf(stepS float64) string {
	if stepS < 120 && stepS == math.Trunc(stepS) {
		return fmt.Sprintf("%.0f s samples", stepS)
	}
	return units.Seconds(stepS) + " samples"
}

// shortened drops the first word of each name that starts like the previous one: "MongoDB writes,
// MongoDB reads" becomes "MongoDB writes, reads".
func shortened(names []string) []string {
	out := make([]string, len(names))
	for i, name := range names {
		out[i] = name
		if i == 0 {
			continue
		}
		was, _, _ := strings.Cut(names[i-1], " ")
		if first, rest, ok := strings.Cut(name, " "); ok && first == was && !strings.Contains(rest, " ") {
			out[i] = rest
		}
	}
	return out
}
