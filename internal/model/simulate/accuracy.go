package simulate

import (
	"fmt"

	"plimsoll/internal/model/scenario"
)

// A Kind is what sort of figure one is, as far as models are right about it.
type Kind string

// The kinds.
const (
	Rate     Kind = "rate"     // operations a second
	Duration Kind = "duration" // of checkpoints
	P50      Kind = "p50"
	P99      Kind = "p99"
)

// Kinds are all of them, from what models are most right about.
var Kinds = []Kind{Rate, Duration, P50, P99}

// An Accuracy is by what factor figures of a kind were off from those of real engines, whichever
// way: half of them by Median at most, none by more than Worst.
type Accuracy struct{ Median, Worst float64 }

// AccuracyOf is the models' error bar: what the scenarios of examples/lab came to in the laboratory
// and in the simulator (`plimsoll lab table examples/lab --measured examples/lab/measured.json`; a
// test holds these figures to it). It is of WiredTiger, etcd, PostgreSQL and streams; no IRIS could
// be run.
func AccuracyOf(k Kind) Accuracy {
	switch k {
	case Rate:
		return Accuracy{1.01, 1.37}
	case Duration:
		return Accuracy{1.15, 1.32}
	case P50:
		return Accuracy{1.08, 1.31}
	default:
		return Accuracy{1.09, 4.1}
	}
}

// errorBar says how far off a scenario's model is, "" where nothing can simulate it.
func errorBar(sc *scenario.Scenario) string {
	e, err := scenario.Facet[Engine](sc, "be simulated")
	if err != nil {
		return ""
	}
	d, p, own := AccuracyOf(Duration), AccuracyOf(P99), e.Evidence()
	if !own.Measured {
		return own.Text
	}
	return fmt.Sprintf("against real engines on emulated volumes, half of the p99s were off by less than %s, the worst by a factor of %.1f; "+
		"checkpoints by %s (docs/models.md); %s", percent(p.Median), p.Worst, percent(d.Median), own.Text)
}

// percent tells a factor of less than two as people do.
func percent(factor float64) string {
	if factor >= 2 {
		return fmt.Sprintf("a factor of %.1f", factor)
	}
	return fmt.Sprintf("%.0f %%", 100*(factor-1))
}
