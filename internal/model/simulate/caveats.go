package simulate

import (
	"fmt"
	"slices"
	"time"

	"plimsoll/internal/base/units"
	"plimsoll/internal/model/kernel"
	"plimsoll/internal/model/scenario"
)

// A Caveat explains why a run's figures do not decide whether its objectives are met.
type Caveat struct {
	// Kind is backlog, cycles, processor or credits.
	Kind string `json:"kind"`
	Text string `json:"text"`
	// HoldsSeconds is how long the figures hold; 0: they do not hold at all.
	HoldsSeconds float64 `json:"holds_seconds,omitempty"`
}

// The kinds of caveats.
const (
	Backlog   = "backlog"   // an open loop whose operations are not all answered
	Few       = "cycles"    // too few checkpoints were seen
	Processor = "processor" // its cores are saturated
	Burst     = "credits"   // credits that the load needs run out
)

const (
	// AnsweredMin is the share of an open loop's operations that must be answered at the end: the
	// percentiles of a deployment that does not keep up cover only the operations that it answered.
	AnsweredMin = 0.99
	// cyclesMin is the minimum number of checkpoints that a run must have seen, at least in part. Most
	// stalls belong to checkpoints, and a single one may not be typical.
	cyclesMin = 2
	// Above saturatedCPU of busy cores, latencies are those of a saturated machine. Compared with a real
	// server, p99s matched while its machine was up to 70 % busy, and were two to ten times the model's
	// above that (docs/models.md). That machine also ran an emulator of its volumes: at 70 and 77 % of
	// its cores, the model, which includes only the server and its clients, predicts 50 and 67 %. So
	// there is a warning above busyCPU.
	saturatedCPU = 0.7
	busyCPU      = 0.5
	// exhaustedCPU is the share of busy cores above which they are why a load is not answered.
	exhaustedCPU = 0.9
)

// CyclePeriod returns the time between a scenario's checkpoints; 0 if none are expected.
func CyclePeriod(sc *scenario.Scenario) time.Duration {
	if load := sc.Workloads(); sc.Engine.CyclePeriod == nil || load == nil || load.Writes() == 0 {
		return 0
	}
	return sc.Engine.CyclePeriod(sc.Engine.Config)
}

// LongEnough returns how long a run has to be to see at least two checkpoints: three periods.
func LongEnough(period time.Duration) time.Duration {
	return (3*period + time.Second - 1).Truncate(time.Second)
}

// caveats returns the caveats of a result whose run saw this many checkpoints. Headlines show only the first,
// so cores that have no time left come before the backlog that they cause.
func caveats(sc *scenario.Scenario, r *Result, cycles int) []Caveat {
	var out []Caveat
	if r.Host.CPUBusyMax > exhaustedCPU {
		out = append(out, Caveat{Kind: Processor, Text: processorText(r)})
	}

	// A closed loop cannot fall behind: its clients wait for their answers.
	if asked := r.AskedPerSec * r.Seconds; r.OpenLoop && float64(r.Unanswered) > (1-AnsweredMin)*asked {
		out = append(out, Caveat{Kind: Backlog,
			Text: fmt.Sprintf("does not keep up: %d of %.0f operations are unanswered at the end",
				r.Unanswered, asked)})
	}

	if period := CyclePeriod(sc); period > 0 && cycles < cyclesMin {
		out = append(out, Caveat{Kind: Few,
			Text: fmt.Sprintf("the measured %s have %s, which is too few: run.duration=%s has at least two",
				units.Seconds(r.Seconds), countOf(cycles, r.CycleWord), LongEnough(period))})
	}

	if b := r.Host.CPUBusyMax; b > saturatedCPU && b <= exhaustedCPU {
		out = append(out, Caveat{Kind: Processor, Text: processorText(r)})
	}

	if c := feltCredit(sc, r); c != nil {
		out = append(out, Caveat{Kind: Burst, Text: c.Text, HoldsSeconds: c.Empty.Seconds()})
	}

	return out
}

// countOf formats a small number of things.
func countOf(n int, word string) string {
	switch n {
	case 0:
		return "no " + word
	case 1:
		return "one " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}

// processors returns how busy the cores are: the mean, and the busiest member's, whose quota counts
// as its cores.
func (p *sampler) processors(host *kernel.Config, span float64) (mean, most float64) {
	for _, cores := range p.cpu {
		used := 0.0
		for _, i := range cores {
			used += p.delta(i) / span
		}
		has := float64(len(cores))
		mean += used / has / float64(len(p.cpu))
		// A member at its quota is throttled even if the host's other cores are idle.
		if q := float64(host.CPUQuota); q > 0 {
			has = min(has, q)
		}
		most = max(most, used/has)
	}
	return mean, most
}

// processorText explains how a busy processor affects the figures; "" if it does not.
func processorText(r *Result) string {
	switch busy := 100 * r.Host.CPUBusyMax; {
	case r.Host.CPUBusyMax > saturatedCPU:
		return fmt.Sprintf("the processor is saturated, cores are %.0f %% busy: the latencies do not hold. Over %.0f %%, a real engine's were up to ten times the model's (docs/models.md), so these are lower bounds",
			busy, 100*saturatedCPU)
	case r.Host.CPUBusyMax > busyCPU:
		return fmt.Sprintf("cores are %.0f %% busy: anything else that runs on this machine makes the latencies longer than the model's, and over %.0f %% they do not hold (docs/models.md)",
			busy, 100*saturatedCPU)
	}
	return ""
}

// Busy returns a warning if the processor is busy but the figures still hold.
func (r *Result) Busy() []string {
	if text := processorText(r); text != "" && r.Host.CPUBusyMax <= saturatedCPU {
		return []string{text}
	}
	return nil
}

// objectives compares the result with the scenario's objectives.
func objectives(sc *scenario.Scenario, r *Result) []ObjectiveResult {
	out := []ObjectiveResult{}
	for _, b := range sc.Objective.Bounds() {
		o := ObjectiveResult{Name: b.Name, Wanted: float64(b.Most) / 1e9, Unit: "seconds", Got: r.Figure(b.Name)}
		// A caveat withdraws a pass, never a miss: the true figures are no better.
		if o.Met = o.Got != nil && *o.Got <= o.Wanted; o.Met && len(r.Caveats) > 0 {
			o.Met, o.Caveat = false, r.Caveats[0].Text
		}
		out = append(out, o)
	}
	return out
}

// Judge returns the bound that a result misses, or the reason why its figures do not show that it keeps its
// bounds; "" if it keeps all of them. Caveats of the kinds that are allowed do not count.
func (r *Result) Judge(want []scenario.Bound, allowed ...string) string {
	// A backlog comes before the bounds, because the figures of a system that falls behind grow
	// with the run's length.
	if c := r.Caveat(allowed...); c != nil && c.Kind == Backlog {
		return c.Text
	}

	for _, b := range want {
		got := r.Figure(b.Name)
		switch {
		case got == nil && b.Name == "checkpoint":
			return "no checkpoint ended within the run"
		case got == nil:
			return "nothing of the kind of " + b.Name + " was answered"
		case *got > float64(b.Most)/1e9:
			return fmt.Sprintf("%s %s, over %s", b.Name, units.Seconds(*got), b.Most)
		}
	}

	if c := r.Caveat(allowed...); c != nil {
		return c.Text
	}

	return ""
}

// Caveat returns the first caveat that is not of an allowed kind, nil if there is none.
func (r *Result) Caveat(allowed ...string) *Caveat {
	for i := range r.Caveats {
		if !slices.Contains(allowed, r.Caveats[i].Kind) {
			return &r.Caveats[i]
		}
	}
	return nil
}
