package table

import (
	"math"
	"strings"
	"testing"

	"plimsoll/simulate"
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

// Half as much and twice as much are as wrong; what is not known is not counted, nor is what an emulator that could
// not keep up measured.
func TestSummary(t *testing.T) {
	rows := Rows(result(100, 10, .001, 2, .01), result(110, 10, .001, 1, .02), false)
	rows = append(rows, Rows(result(100, 0, .001, 8, 0), result(100, 0, .001, 1, 0), true)...)
	rows = append(rows, Row{Kind: P99, Lab: p(1)})
	var p99 Summary
	for _, s := range Summarise(rows) {
		if s.Kind == P99 {
			p99 = s
		}
	}
	if p99.Rows != 2 || p99.Off != 2 || p99.Worst != 2 {
		t.Errorf("%+v", p99)
	}
	if got := rows[0].Off(); math.Abs(got-1.1) > 1e-9 {
		t.Errorf("110 against 100: %v", got)
	}
	if got := (&Row{Lab: p(0), Model: p(1)}).Off(); !math.IsNaN(got) {
		t.Errorf("against nothing: %v", got)
	}
	var b strings.Builder
	if err := Write(&b, rows); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| s | operations a second | 100/s | 110/s | +10 % |",
		"|  | write p99 in a checkpoint | 2.00 s | 1.00 s | 1/2.0 |",
		"|  | write p99 | 8.00 s | 1.00 s | 1/8.0 (saturated: does not count) |",
		"| p99 | 2 | a factor of 2.0 | a factor of 2.0 |",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no line %q in\n%s", want, b.String())
		}
	}
}

// Where only reads were made, they are what is compared.
func TestReads(t *testing.T) {
	r := &simulate.Result{Scenario: "s"}
	r.Reads.All.P50Seconds, r.Reads.All.P99Seconds = p(.001), p(.002)
	rows := Rows(r, r, false)
	if len(rows) != 3 || rows[2].Figure != "read p99" {
		t.Errorf("%+v", rows)
	}
}
