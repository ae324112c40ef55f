//go:build linux

package probe

import (
	"strings"
	"testing"

	"plimsoll/internal/base/latency"
	"plimsoll/internal/base/units"
)

func of(ms ...int64) latency.Latency {
	var d latency.Distribution
	for range 100 {
		for _, x := range ms {
			d.Add(x * 1e6)
		}
	}
	return d.Latency()
}

// TestBlame: the measured figures show which stream is to blame.
func TestBlame(t *testing.T) {
	stages := func(alone latency.Latency, checkpoint, reads latency.Latency) []StageResult {
		one := func(name string, l latency.Latency, w ...WhileResult) StageResult {
			return StageResult{Name: name, Streams: []StreamResult{{Name: "wal", Latency: l}}, While: w}
		}
		return []StageResult{
			one("alone", alone),
			one("with checkpoint", checkpoint, WhileResult{Companion: "checkpoint", On: checkpoint}),
			one("with reads", reads, WhileResult{Companion: "reads", On: reads}),
			one("with all", of(900), WhileResult{Companion: "checkpoint", On: of(900)}, WhileResult{Companion: "reads", On: of(900)}),
		}
	}

	criterion := &Criterion{Of: "latency", Quantile: "p99", Under: units.Duration(10e6)}
	for _, c := range []struct {
		name   string
		stages []StageResult
		stream string
		text   string
	}{
		{"checkpoint", stages(of(1), of(80), of(2)), "checkpoint", "80.0 times as long"},
		{"reads", stages(of(1), of(3), of(5)), "reads", "while reads is on"},
		{"no companion", stages(of(4), of(7), of(5)), "", "no companion: the p99 of wal is"},
		{"the device", stages(of(30), of(300), of(30)), "wal", "the device: even alone"},
	} {
		r := &Result{Measured: "wal", Stages: c.stages}
		r.judge(&Profile{Criterion: criterion})
		if r.Blame.Stream != c.stream || !strings.Contains(r.Blame.Text, c.text) {
			t.Errorf("%s: %+v", c.name, r.Blame)
		}
		if r.Criterion.Met {
			t.Errorf("%s: 900 ms with all companions meets 10 ms", c.name)
		}
	}

	r := &Result{Measured: "wal", Stages: stages(of(1), of(80), of(2))[:1]}
	if r.judge(&Profile{Criterion: criterion}); !r.Criterion.Met || r.Blame.Stream != "" {
		t.Errorf("alone: %+v, %+v", r.Criterion, r.Blame)
	}

	r = &Result{Measured: "wal", Stages: stages(latency.Latency{}, of(1), of(1))}
	if r.judge(&Profile{Criterion: criterion}); r.Criterion.Met {
		t.Error("the criterion is met without any operation")
	}
}

// TestWhile: an operation counts toward a companion's burst if it was due or in flight during it.
func TestWhile(t *testing.T) {
	j := &job{Stream: &Stream{Name: "burst"}, on: []interval{{100, 200}, {300, 400}}}
	w := while([]sample{{10, 20}, {90, 15}, {150, 10}, {210, 50}, {205, 200}, {350, 1}, {401, 5}}, j)
	if w.On.Operations != 4 || w.Off.Operations != 3 {
		t.Errorf("%d on, %d off", w.On.Operations, w.Off.Operations)
	}
}
