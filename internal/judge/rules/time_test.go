package rules_test

import (
	"testing"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// A database that is sampled every 15 s remains coarse next to a device that is sampled every second.
func TestResolution(t *testing.T) {
	slow, quick := &rules.Signal{Name: "slow"}, &rules.Signal{Name: "quick"}
	c := rules.NewCase(nil, timeline.Grid{StepMs: 1000, N: 60}, nil)
	c.Sampled(map[string]float64{"slow": 15, "quick": 0.5})
	for _, of := range []struct {
		signals []*rules.Signal
		want    float64
	}{{nil, 1}, {[]*rules.Signal{quick}, 1}, {[]*rules.Signal{slow}, 15}, {[]*rules.Signal{quick, slow}, 15}} {
		if got := c.ResolutionS(of.signals...); got != of.want {
			t.Errorf("resolution of %d signals: %g s, want %g", len(of.signals), got, of.want)
		}
	}
	if got := c.Slice(10, 20).Signals.ResolutionS(slow); got != 15 {
		t.Errorf("resolution in a part of the recording: %g s, want 15", got)
	}
}
