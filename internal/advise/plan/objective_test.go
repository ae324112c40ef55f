package plan

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"plimsoll/internal/model/scenario"
	"plimsoll/internal/model/simulate"
)

// An objective is a name and a time; any other text gives an error with a hint.
func TestParseObjective(t *testing.T) {
	for text, want := range map[string]scenario.Bound{
		"write_p99 < 25ms": {Name: "write_p99", Most: 25e6}, "write_p99<25ms": {Name: "write_p99", Most: 25e6}, "  read_p999 <=  1s ": {Name: "read_p999", Most: 1e9}, "checkpoint < 1m30s": {Name: "checkpoint", Most: 90e9},
	} {
		if got, err := ParseObjective(text); err != nil || got != want {
			t.Errorf("%q: %+v, %v, want %+v", text, got, err, want)
		}
	}

	const how = "write it as --objective 'write_p99 < 25ms'"
	for _, c := range []struct{ text, want, hint string }{
		{"write_p99", `"write_p99" is not an objective`, how}, {"write_p99 > 1ms", `"write_p99 > 1ms" is not an objective`, how},
		{"write_p9 < 1ms", `objective "write_p9 < 1ms": unknown metric "write_p9"`, "did you mean write_p95?"},
		{"throughput < 1ms", `objective "throughput < 1ms": unknown metric "throughput"`, "one of write_p50, write_p95, write_p99, write_p999, write_max, read_p50, read_p95, read_p99, read_p999, read_max, checkpoint"},
		{"write_p99 < 0s", `objective "write_p99 < 0s": the time must be positive`, ""},
		{fmt.Sprintf("write_p99 < %0100d", 1), "objective too long: 112 characters, want only a name and a time", how},
	} {
		_, err := ParseObjective(c.text)
		var input *InputError
		if !errors.As(err, &input) || err.Error() != c.want || input.Hint() != c.hint {
			t.Errorf("%.30q: %v (%q), want %s (%q)", c.text, err, input.Hint(), c.want, c.hint)
		}
	}
}

// A caller may change the list of objectives, but only its copy.
func TestObjectiveNames(t *testing.T) {
	names := ObjectiveNames()
	names[0] = "changed"
	if got := ObjectiveNames(); got[0] != "write_p50" || !slices.Contains(got, "checkpoint") {
		t.Error(got)
	}
	for _, name := range ObjectiveNames() {
		if _, err := ParseObjective(name + " < 1s"); err != nil {
			t.Error(err)
		}
	}
}

// The scenario's own objectives hold unless others are given, and each must be of something that happens.
func TestObjectivesOfScenario(t *testing.T) {
	sc := parsed(t, small, "objective={write_p99: 100ms, checkpoint: 10s}")
	got, err := objectives(sc, &Profile{}, nil)
	want := []scenario.Bound{{Name: "write_p99", Most: 100e6}, {Name: "checkpoint", Most: 10e9}}
	if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%v, %v", got, err)
	}
	if got, err := objectives(sc, &Profile{}, writeP99); err != nil || len(got) != 1 {
		t.Errorf("%v, %v", got, err)
	}

	if _, err := objectives(sc, &Profile{NoCheckpoint: "this engine has no checkpoints"}, nil); err == nil ||
		err.Error() != "objective checkpoint: this engine has no checkpoints" {
		t.Error(err)
	}
	reads := parsed(t, small, "workload.mix={read: 100%}")
	if _, err := objectives(reads, &Profile{}, writeP99); err == nil ||
		err.Error() != "objective write_p99: the workload does not write" {
		t.Error(err)
	}
}

// Predictions have the model's worst error on both sides, of the kind of their figure.
func TestPredictions(t *testing.T) {
	if got := predicted(nil); len(got) != 0 {
		t.Errorf("without a run: %v", got)
	}
	p99, cycle := 0.02, 9.0
	r := &simulate.Result{DonePerSec: 600, Checkpoints: simulate.Cycles{MedianSeconds: &cycle}}
	r.Writes.All.P99Seconds = &p99

	got := predicted(r)
	for name, kind := range map[string]simulate.Kind{"operations_per_second": simulate.Rate, "write_p99_seconds": simulate.P99, "checkpoint_median_seconds": simulate.Duration} {
		f, e := got[name], simulate.AccuracyOf(kind)
		if f.Low != f.Value/e.Worst || f.High != f.Value*e.Worst || f.TypicalLow != f.Value/e.Median ||
			f.TypicalHigh != f.Value*e.Median ||
			!(f.Low < f.TypicalLow && f.TypicalHigh < f.High) {
			t.Errorf("%s: %+v", name, f)
		}
	}
	if _, ok := got["read_p99_seconds"]; ok {
		t.Error("a prediction of what did not happen")
	}
	for name, want := range map[string]simulate.Kind{"checkpoint": simulate.Duration, "write_p50": simulate.P50, "read_p50": simulate.P50, "write_p95": simulate.P99, "write_max": simulate.P99} {
		if got := kindOf(name); got != want {
			t.Errorf("%s is a %v, want a %v", name, got, want)
		}
	}
}

// Within a tenth, no one would notice that a figure is better.
func TestNoticed(t *testing.T) {
	for than, want := range map[float64]float64{1: 0.9, 0: 0, 10: 9} {
		if got := noticed(than); got != want {
			t.Errorf("noticeably better than %v: %v, want %v", than, got, want)
		}
	}
}

// Why an objective was missed: what slow writes wait for, and which limit holds requests back. Queue slots
// fill up because of another limit.
func TestHeldBy(t *testing.T) {
	r := &simulate.Result{}
	if got := heldBy(r) + heldBy(nil); got != "" {
		t.Error(got)
	}
	r.Waits = []simulate.WaitResult{
		{Name: "CPU", SlowShare: 0.9, SlowCauseShare: 0.1},
		{Name: "journal sync", SlowCauseShare: 0.7},
	}
	if got, want := heldBy(r), `slow writes spend 70 % of their time waiting for "journal sync"`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	r.Volumes = []simulate.VolumeResult{
		{
			Name:   "data",
			HeldBy: []simulate.HeldBy{{Name: "queue slots", Seconds: 900}, {Name: "IOPS", Seconds: 10}},
		},
		{Name: "wal", HeldBy: []simulate.HeldBy{{Name: "throughput", Seconds: 20}}},
	}
	if got, want := heldBy(r), `slow writes spend 70 % of their time waiting for "journal sync", and requests to wal are held back by its throughput`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// The plan includes the lengths of the error bars.
func TestMargin(t *testing.T) {
	e := simulate.AccuracyOf(simulate.P99).Worst
	for _, c := range []struct {
		p99   float64
		warns bool
	}{{0.1 / e * 0.99, false}, {0.1 / e * 1.01, true}, {0.099, true}} {
		got := searched(writeP99, ran(1, c.p99, 0)).margin()
		if (len(got) == 1) != c.warns || c.warns && got[0].Kind != "margin" {
			t.Errorf("a p99 of %v under 100 ms, with an error of %v: %+v", c.p99, e, got)
		}
	}
	if got := searched(writeP99, nil, ran(1, 0.09, 0)).margin(); got != nil {
		t.Errorf("nothing is chosen: %+v", got)
	}
}
