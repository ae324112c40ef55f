package diagnosis

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/base/units"
	"plimsoll/internal/judge/diagnose"
)

// Latency that rose to nearlyTimes its usual value without a stall is worth a sentence if at least
// nearlySlots points of the timeline show it: a single slow interval is common.
const (
	nearlyTimes = 10
	nearlySlots = 2
)

// nearly says that latency rose far above its usual value although nothing stalled, and which threshold
// would find it; none otherwise. The threshold of a stall has a minimum, and clients may already suffer
// below it.
func (d *diagnosed) nearly() []string {
	s := d.Stalls
	if s.Of <= 0 || s.Seconds > 0 || s.ThresholdS <= 0 || len(d.Incidents) > 0 {
		return nil
	}

	values := latencies(d.Report)
	if len(values) == 0 {
		return nil
	}

	slices.Sort(values)
	usual, worst := values[len(values)/2], values[len(values)-1]
	// Half of the worst latency includes it and values close to it, and one digit is easy to remember
	// and type.
	from := roundDown(worst / 2)
	i, _ := slices.BinarySearch(values, from)
	if !(usual > 0) || worst < nearlyTimes*usual || worst >= s.ThresholdS || len(values)-i < nearlySlots {
		return nil
	}

	return []string{fmt.Sprintf("Mean latency rose to %s, %.0f times the usual %s, but stayed below the %s from which an interval counts as stalled. If that is what hurts, add --slow-from %s.",
		units.Seconds(worst), worst/usual, units.Seconds(usual), units.Seconds(s.ThresholdS),
		strings.TrimSuffix(time.Duration(from*float64(time.Second)).String(), "0s"))}
}

// latencies are the known values of the first series, if it is a latency.
func latencies(r *diagnose.Report) (out []float64) {
	for _, t := range r.Timeline {
		if t.Name != r.Timeline[0].Name || t.Unit != "seconds" {
			continue
		}
		for _, v := range t.Values {
			if v != nil && !math.IsNaN(*v) && !math.IsInf(*v, 0) {
				out = append(out, *v)
			}
		}
	}
	return out
}

// roundDown rounds to one significant digit, in whole microseconds.
func roundDown(x float64) float64 {
	if x < 1e-6 {
		return 0
	}
	unit := math.Pow(10, math.Floor(math.Log10(x)))
	return math.Floor(math.Round(math.Floor(x/unit+1e-9)*unit*1e6)) / 1e6
}
