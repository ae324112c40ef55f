package simulate

import (
	"fmt"

	"plimsoll/internal/model/scenario"
)

// A Kind is a kind of figure with its own model accuracy.
type Kind string

// The kinds.
const (
	Rate     Kind = "rate"     // operations a second
	Duration Kind = "duration" // of checkpoints
	P50      Kind = "p50"
	P99      Kind = "p99"
)

// Kinds lists all kinds, from the most to the least accurate.
var Kinds = []Kind{Rate, Duration, P50, P99}

// An Accuracy is the factor by which modelled figures of a kind differ from those of real engines,
// in either direction: half of them by Median at most, none by more than Worst.
type Accuracy struct{ Median, Worst float64 }

// AccuracyOf is the models' error bar. It compares the scenarios of examples/lab in the lab and in
// the simulator (`plimsoll lab table examples/lab --measured examples/lab/measured.json`; a test
// checks that it is no narrower). It covers WiredTiger, etcd, PostgreSQL and streams; IRIS could not be run.
// In the current table, checkpoints and p99s are off by less. Runs of a server and repeated runs of one
// scenario are off by more, so their bars were kept.
func AccuracyOf(k Kind) Accuracy {
	switch k {
	case Rate:
		return Accuracy{1.01, 1.40}
	case Duration:
		return Accuracy{1.19, 1.34}
	case P50:
		return Accuracy{1.10, 1.31}
	default:
		return Accuracy{1.18, 3.4}
	}
}

// errorBar describes the accuracy of a scenario's model.
func errorBar(sc *scenario.Scenario) string {
	d, p, own := AccuracyOf(Duration), AccuracyOf(P99), sc.Engine.Evidence
	if !own.Measured {
		return own.Text
	}
	return fmt.Sprintf(
		"against real engines on emulated volumes, half of the p99s were off by less than %s, the worst by a factor of %.1f; "+
			"checkpoints by %s (docs/models.md); %s", percent(p.Median), p.Worst, percent(d.Median), own.Text)
}

// percent formats a factor below two as a percentage.
func percent(factor float64) string {
	if factor >= 2 {
		return fmt.Sprintf("a factor of %.1f", factor)
	}
	return fmt.Sprintf("%.0f %%", 100*(factor-1))
}
