package table

import (
	"math"
	"strings"
	"testing"

	"plimsoll/internal/model/simulate"
)

func p(x float64) *float64 { return &x }

func result(rate, checkpoint, p50, in, out float64) *simulate.Result {
	r := &simulate.Result{Scenario: "s", DonePerSec: rate}
	r.Writes.All.Operations, r.Writes.All.P50Seconds, r.Writes.All.P99Seconds = 10, p(p50), p(in)
	if checkpoint > 0 {
		r.Checkpoints.MedianSeconds = p(checkpoint)
		r.Writes.DuringCheckpoint.P99Seconds, r.Writes.OutsideCheckpoint.P99Seconds = p(in), p(out)
	}
	return r
}

// rows returns the rows of one run of a scenario.
func rows(t *testing.T, lab, model *simulate.Result, doubtful bool) []Row {
	t.Helper()
	m := Measured{Runs: []Measurement{{Run: "r", Doubtful: doubtful, Figures: FiguresOf(lab)}}}
	out, err := m.Compare("r", lab.Scenario, model)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Half as much and twice as much are equally wrong. Unknown figures do not count, nor do
// measurements with a saturated emulator.
func TestSummary(t *testing.T) {
	all := rows(t, result(100, 10, .001, 2, .01), result(110, 10, .001, 1, .02), false)
	all = append(all, rows(t, result(100, 0, .001, 8, 0), result(100, 0, .001, 1, 0), true)...)
	all = append(all, Row{Kind: P99, Lab: p(1)})

	var p99 Summary
	for _, s := range Summarise(all) {
		if s.Kind == P99 {
			p99 = s
		}
	}

	if p99.Rows != 3 || p99.Off != 2 || p99.Worst != 2 {
		t.Errorf("%+v", p99)
	}

	if got := all[0].Off(); math.Abs(got-1.1) > 1e-9 {
		t.Errorf("110 against 100: %v", got)
	}

	if got := (&Row{Lab: p(0), Model: p(1)}).Off(); !math.IsNaN(got) {
		t.Errorf("compared with nothing: %v", got)
	}

	var b strings.Builder
	for i := range all {
		r := &all[i]
		b.WriteString(strings.Join([]string{r.Scenario, r.Figure, r.LabText(), r.ModelText(), r.ErrorText()}, " | ") + "\n")
	}

	for _, want := range []string{
		"s | operations a second | 100/s | 110/s | +10 %\n",
		"s | write p99 in a checkpoint | 2.00 s | 1.00 s | 1/2.0\n",
		"s | write p99 | 8.00 s | 1.00 s | 1/8.0\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no line %q in\n%s", want, b.String())
		}
	}

	if got := FactorText(p99.Off); got != "a factor of 2.0" {
		t.Errorf("half are off by less than %s", got)
	}
}

// Without writes, reads are compared.
func TestReads(t *testing.T) {
	r := &simulate.Result{Scenario: "s"}
	r.Reads.All.P50Seconds, r.Reads.All.P99Seconds = p(.001), p(.002)
	all := rows(t, r, r, false)
	if len(all) != 3 || all[2].Figure != "read p99" {
		t.Errorf("%+v", all)
	}
}

// With several runs, the median counts, and saturated runs do not; the table shows the range.
func TestSeveralRuns(t *testing.T) {
	m := Measured{Runs: []Measurement{
		{Run: "a", Figures: FiguresOf(result(100, 0, .001, 3, 0))},
		{Run: "a", Figures: FiguresOf(result(100, 0, .001, 1, 0))},
		{Run: "a", Figures: FiguresOf(result(100, 0, .001, 2, 0))},
		{Run: "a", Doubtful: true, Figures: FiguresOf(result(100, 0, .001, 50, 0))},
		{Run: "b", Figures: FiguresOf(result(100, 0, .001, 7, 0))},
	}}

	all, err := m.Compare("a", "the name", result(100, 0, .001, 2, 0))
	if err != nil {
		t.Fatal(err)
	}

	last := all[len(all)-1]
	if *last.Lab != 2 || last.LabLow != 1 || last.LabHigh != 3 || last.LabRuns != 3 || last.Doubtful || last.Scenario != "the name" {
		t.Errorf("%+v", last)
	}

	if lab, model, off := last.LabText(), last.ModelText(), last.ErrorText(); lab != "2.00 s (1.00 s to 3.00 s)" || model != "2.00 s" || off != "0 %" {
		t.Errorf("%s, %s, %s", lab, model, off)
	}

	if _, err := m.Compare("c", "", &simulate.Result{}); err == nil {
		t.Error("c was never run")
	}
}
