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

// An Accuracy is by what factor figures of a kind were off from those of real engines, whichever way: half of them by
// Median at most, none by more than Worst.
type Accuracy struct{ Median, Worst float64 }

// AccuracyOf is the models' error bar: what the scenarios of examples/lab came to in the laboratory and in the simulator
// (`plimsoll lab table examples/lab --measured examples/lab/measured.json`; a test holds these figures to it). It is
// of WiredTiger, etcd, PostgreSQL and streams; no IRIS could be run.
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

// errorBar says how far off an engine's model is.
func errorBar(e *scenario.Engine) string {
	d, p := AccuracyOf(Duration), AccuracyOf(P99)
	beside := fmt.Sprintf("beside real engines on emulated volumes half of the p99s were off by less than %s, the worst by a factor of %.1f; "+
		"checkpoints by %s (docs/models.md); ", percent(p.Median), p.Worst, percent(d.Median))
	switch {
	case e.WiredTiger != nil:
		return beside + "WiredTiger 3.2.1 and 11.3.1 of eight measured kinds of runs had p99s of 0.4 to 2 times the model's"
	case e.Etcd != nil:
		return beside + "puts a second are within a factor of 1.5 of eighteen measured runs of etcd 3.6, of which eight set its CPU costs"
	case e.Postgres != nil:
		return beside + "below 10 ms a latency is a lower bound"
	case e.IRIS != nil:
		return "no instance of IRIS could be run: documentation and one published case are all it rests on"
	default:
		return beside + "the volume's latency is calibrated on published measurements"
	}
}

// percent tells a factor of less than two as people do.
func percent(factor float64) string {
	if factor >= 2 {
		return fmt.Sprintf("a factor of %.1f", factor)
	}
	return fmt.Sprintf("%.0f %%", 100*(factor-1))
}
