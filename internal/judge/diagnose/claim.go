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

// "No stall" is a claim: it holds for the classes of operation that were watched, at the sampling
// they were watched with.

// judgedClasses are the classes of operation that detectors could judge, those of databases first.
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

// known is a figure, or 0 where it is not known.
func known(x float64) float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return 0
	}
	return x
}

// coarseS is the sampling from which stalls of seconds hide in a mean.
const coarseS = 2.0

// notSeen is what could not be seen, a sentence each; samplesS is the distance of the samples.
func notSeen(c *rules.Case, all []JudgedClass, samplesS float64) []string {
	out := []string{}
	step := c.Grid.StepSeconds()
	if len(all) == 0 {
		return out
	}

	if step > coarseS && samplesS < step {
		out = append(out,
			fmt.Sprintf("A stall much shorter than %s: so long a recording is searched in means of that, and what is found is judged in those of %s. --from and --to choose a part of it.",
				units.Seconds(step), units.Seconds(samplesS)))
	} else {
		out = append(out, hiddenByMeans(all)...)
	}

	out = append(out, undetermined(c)...)
	if volumesOnly(c) {
		out = append(
			out, "What a volume did within a minute: its provider reports sums of one. A burst of five seconds at a limit of 3,000 IOPS is a mean of 250.")
	}

	if len(allClasses(c)) == 0 {
		out = append(out, "A few slow operations among many quick ones: these sources have means, no percentiles.")
	}

	database, device := false, c.Measured(rules.DiskBusy) || c.Measured(rules.DiskWriteAwait)
	var idle []string
	for _, x := range all {
		isDevice := x.Class == string(rules.DeviceWrites) || x.Class == string(rules.DeviceReads)
		database = database || !isDevice
		if x.Operations == 0 && !isDevice {
			idle = append(idle, x.Signal)
		}
	}

	if !database {
		out = append(out, "What clients felt: no database reports it here, only devices.")
	}

	if !device {
		out = append(out, "What devices did: no source here reports it.")
	}

	if len(idle) > 0 {
		out = append(out, fmt.Sprintf("How %s would have done: there were none.", listed(idle)))
	}

	return out
}

// hiddenByMeans says how long stalls have to be to show: by the longest interval in which something is
// judged, and of what.
func hiddenByMeans(all []JudgedClass) []string {
	longest, shortest := 0.0, math.Inf(1)
	for _, x := range all {
		longest, shortest = max(longest, x.StepS), min(shortest, x.StepS)
	}

	if longest <= coarseS {
		return nil
	}

	text := fmt.Sprintf("A stall much shorter than %s: an interval's mean hides it.", units.Seconds(longest))
	if shortest < longest {
		var names []string
		for _, x := range all {
			if x.StepS == longest {
				names = append(names, x.Signal)
			}
		}
		text = fmt.Sprintf("A stall of %s much shorter than %s: an interval's mean hides it.",
			listed(shortened(names)), units.Seconds(longest))
	}

	return []string{text}
}

// undetermined says whose operations stopped before the recording ended, if no source shows why.
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

// volumesOnly reports whether devices are known only by what their provider reports of the volumes.
func volumesOnly(c *rules.Case) bool {
	ops := c.Signal(rules.DiskOps)
	return len(ops) > 0 && c.Grid.StepSeconds() >= 60 && !slices.ContainsFunc(ops, func(t timeline.Track) bool {
		device := t.Labels.Get("device")
		return !strings.HasPrefix(device, "vol-") && c.Facts["volume."+device] == ""
	})
}

// busyClasses names the classes of databases that had operations, as one subject: "MongoDB writes,
// reads and commands"; of devices where there is no database.
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

	if len(names) == 0 {
		names = devices
	}

	const most = 4
	if n := len(names) - most; n > 0 {
		names = append(names[:most], fmt.Sprintf("%d more", n))
	}

	return listed(shortened(names))
}

// shortened drops from each name the first word that it shares with the one before.
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

func listed(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}
