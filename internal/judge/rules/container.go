package rules

import (
	"math"
	"slices"
	"strings"

	"github.com/prometheus/prometheus/model/labels"

	"plimsoll/internal/record/timeline"
)

// idShown is how many digits of a container's 64-digit ID are enough to find it.
const idShown = 12

// ContainerName is a container's readable name: pod/container, its name, or the last component of
// its cgroup path.
func ContainerName(l labels.Labels) string {
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

// GroupAbove returns the parent cgroup, such as a pod's, if the limit is set there; "" if it is set
// on the container itself. The host source samples a parent if its limit is the lowest.
func (sig *Signals) GroupAbove(l labels.Labels) Value {
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

// containerLabels identify a container, if its source has them.
var containerLabels = []string{"namespace", "pod", "container", "name", "id"}

// OfContainer returns a signal's values for the container of a track; nil if not measured.
func (sig *Signals) OfContainer(signal *Signal, of timeline.Track, more ...string) []float64 {
	return sig.SameAs(signal, of.Labels, slices.Concat(containerLabels, more)...)
}

// AddFigure adds evidence about a container if the value was measured.
func (c *Case) AddFigure(f *Finding, text string, signal *Signal, value float64, unit string,
	m timeline.Mask) {
	if !math.IsNaN(value) {
		f.Evidence = append(f.Evidence, c.Figure(text, signal, value, unit, m))
	}
}

// bindsShare is the share of the stalled time above which a container's limit explains the engine's
// own figures.
const bindsShare = 0.5

// ContainerBinds names the container limit that held requests back in the stalled time, and the
// rule with the details; "" if none did, or if that may be chance: then the rule finds nothing either.
func (c *Case) ContainerBinds() (what, rule string) {
	if !c.Stall.Any() {
		return "", ""
	}
	explains := func(cells timeline.Mask) bool {
		_, ok := Rule{}.Binds(c, "", cells)
		return ok
	}

	if held := c.ContainersHeldBack(); Share(held, c.Stall.Cells) >= bindsShare && explains(held) {
		return "the container's I/O limit", "container/io-limit"
	}
	for _, t := range c.Signal(ContainerCPUThrottled) {
		at := timeline.Where(t.Values, func(x float64) bool { return x > ThrottledShare })
		if fraction, _, _ := c.Attributable(at); fraction >= bindsShare && explains(at) {
			return "the container's CPU quota", "container/cpu-throttled"
		}
	}
	return "", ""
}

// ThrottledShare is the share of the quota's periods in which a container was throttled, above
// which clients notice: at one in four, every fourth operation waits up to a tenth of a second.
const ThrottledShare = 0.25
