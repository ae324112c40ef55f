package rules

import (
	"math"
	"strings"

	"github.com/prometheus/prometheus/model/labels"

	"plimsoll/internal/record/timeline"
)

// idShown is how much of a container's id, 64 digits, is enough to find it.
const idShown = 12

// containerName is what a person calls a container: pod/container, its name, or the last part of
// its cgroup's path.
func containerName(l labels.Labels) string {
	if pod := l.Get("pod"); pod != "" {
		if c := l.Get("container"); c != "" {
			return pod + "/" + c
		}
		return pod
	}
	for _, label := range []string{"container", "name"} {
		if v := l.Get(label); v != "" {
			return v
		}
	}
	id := strings.TrimSuffix(l.Get("id"), "/")
	if at := strings.LastIndexByte(id, '/'); at >= 0 {
		id = id[at+1:]
	}
	if len(id) == 64 {
		id = id[:idShown]
	}
	if id == "" {
		return "container"
	}
	return id
}

// groupAbove is the group that a limit is on where that is not the container but one above it, as a
// pod is; "" for the container. The host source samples such a group where its limit is the least.
func (sig *Signals) groupAbove(l labels.Labels) Value {
	id := l.Get("id")
	for _, signal := range []*Signal{ContainerCPUUsed, ContainerMemoryUsed, ContainerWrites} {
		for _, t := range sig.Signal(signal) {
			if id != "" && strings.HasPrefix(t.Labels.Get("id"), id+"/") {
				return Called(id)
			}
		}
	}
	return ""
}

// ofContainer is a signal's series of the container that a track is of; nil if not measured.
func (sig *Signals) ofContainer(signal *Signal, of timeline.Track, more ...string) []float64 {
	for _, t := range sig.Signal(signal) {
		same := true
		for _, l := range append([]string{"namespace", "pod", "container", "name", "id"}, more...) {
			same = same && t.Labels.Get(l) == of.Labels.Get(l)
		}
		if same {
			return t.Values
		}
	}
	return nil
}

// figureOf adds evidence of a container if it was measured.
func (c *Case) figureOf(f *Finding, text string, signal *Signal, value float64, unit string, m timeline.Mask) {
	if !math.IsNaN(value) {
		f.Evidence = append(f.Evidence, c.Figure(text, signal, value, unit, m))
	}
}

// bindsShare is the part of the stalled time from which a container's limit is what the engine's
// own figures show.
const bindsShare = 0.5

// ContainerBinds names what of a container's limits held while it stalled, and the rule that says
// more; "" if none did.
func (c *Case) ContainerBinds() (what, rule string) {
	if !c.Stall.Any() {
		return "", ""
	}
	if Share(c.containersHeldBack(), c.Stall.Cells) >= bindsShare {
		return "the container's I/O limit", "container/io-limit"
	}
	for _, t := range c.Signal(ContainerCPUThrottled) {
		at := timeline.Where(t.Values, func(x float64) bool { return x > throttledShare })
		if fraction, _, _ := c.Attributable(at); fraction >= bindsShare {
			return "the container's CPU quota", "container/cpu-throttled"
		}
	}
	return "", ""
}
