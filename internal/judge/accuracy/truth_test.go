package accuracy_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/judge/accuracy"
	"plimsoll/internal/record/recording"
)

// leastStall is the minimum stalled time for causes to be counted. If a run stalls for less, how much of
// it a counterfactual removes proves nothing, so no claim counts. If it does not stall at all, each
// claimed cause is a false alarm.
const leastStall = time.Second

// kinds are the clients' operations.
var kinds = []string{"read", "write"}

// latencies returns the mean latencies of a kind's operations, second by second, in seconds; 0 if there
// were none. They come from the clients alone, not from any rule.
func latencies(ctx context.Context, r recording.Reader, kind string) ([]float64, error) {
	var parts [2][]float64
	for i, part := range []string{"sum", "count"} {
		all, err := r.Samples(ctx, recording.MustSelector(fmt.Sprintf("plimsoll_client_latency_seconds_%s{kind=%q}", part, kind)), time.Unix(0, 0), time.Unix(1<<33, 0))
		if err != nil {
			return nil, err
		}
		for _, s := range all {
			for _, p := range s.Points {
				parts[i] = append(parts[i], p.F)
			}
		}
	}

	var out []float64
	for i := 1; i < min(len(parts[0]), len(parts[1])); i++ {
		mean := 0.0
		if n := parts[1][i] - parts[1][i-1]; n > 0 {
			mean = (parts[0][i] - parts[0][i-1]) / n
		}
		out = append(out, mean)
	}

	return out, nil
}

// limits returns the latency above which a second counts as stalled, by kind: five times the median,
// but at least 20 ms and at most 100 ms. A counterfactual is judged by the original's limits.
func limits(felt map[string][]float64) map[string]float64 {
	out := map[string]float64{}
	for _, kind := range kinds {
		all := slices.DeleteFunc(slices.Clone(felt[kind]), func(s float64) bool { return s == 0 })
		slices.Sort(all)
		out[kind] = 0.1
		if len(all) > 0 {
			out[kind] = min(0.1, max(leastLimitS, 5*all[len(all)/2]))
		}
	}
	return out
}

// leastLimitS is the lowest latency at which a second can count as stalled.
const leastLimitS = 0.02

// usuallyQuick reports whether each kind's usual latency is below what can be a stall. A database whose
// every write takes 40 ms is in trouble, although it never stalls.
func usuallyQuick(felt map[string][]float64) bool {
	for _, kind := range kinds {
		all := slices.DeleteFunc(slices.Clone(felt[kind]), func(s float64) bool { return s == 0 })
		slices.Sort(all)
		if len(all) > 0 && all[len(all)/2] >= leastLimitS {
			return false
		}
	}
	return true
}

// stalledIn returns the time in which reads or writes stalled. A second counts if its mean latency
// reaches the limit, by the part in which nothing can have completed. Operations that arrive evenly
// wait for half of a silence on average, and make up the same share of the second's operations as the
// silence does of the second, so a silence of D gives a mean of D²/2. With a longer mean, the seconds
// before count as well: all operations of a four-second wait complete in its last second. Without the
// three before it, a volume four times as fast would change nothing.
func stalledIn(felt map[string][]float64, limit map[string]float64) time.Duration {
	bad := map[int]float64{}
	for kind, all := range felt {
		for second, s := range all {
			if s < limit[kind] {
				continue
			}
			bad[second] = max(bad[second], min(1, math.Sqrt(2*s)))
			for k := second - 1; k >= 0 && float64(second-k) < math.Ceil(2*s); k-- {
				if all[k] > 0 && float64(second-k) >= math.Ceil(s) {
					break
				}
				bad[k] = 1
			}
		}
	}

	seconds := 0.0
	for _, part := range bad {
		seconds += part
	}

	return time.Duration(seconds * float64(time.Second)).Round(10 * time.Millisecond)
}

// truths returns whether each claim is true. It sets left to the stalled time that remains with the
// assignments.
func (in incident) truths(ctx context.Context, base time.Duration, limit map[string]float64, left map[string]time.Duration) (map[string]accuracy.Truth, error) {
	out := map[string]accuracy.Truth{}
	without := func(sets []string) (time.Duration, error) {
		key := strings.Join(sets, " ")
		if t, ok := left[key]; ok {
			return t, nil
		}
		latencies, _, err := felt(ctx, in.text, sets...)
		if err != nil {
			return 0, err
		}
		left[key] = stalledIn(latencies, limit)
		return left[key], nil
	}

	for rule, sets := range in.without {
		if base < leastStall {
			if out[rule] = accuracy.Unclear; base == 0 {
				out[rule] = accuracy.Wrong
			}
			continue
		}
		t, err := without(sets)
		if err != nil {
			return nil, err
		}
		out[rule] = accuracy.Cause(base, t)
	}

	for rule, sets := range in.granted {
		if base < leastStall {
			continue // nothing to refute
		}

		t, err := without(sets)
		if err != nil {
			return nil, err
		}

		out[rule] = accuracy.Refutation(base, t)
		if needs := in.needs[rule]; needs != nil && out[rule] == accuracy.Right {
			if t, err = without(needs); err != nil {
				return nil, err
			}
			if accuracy.Cause(base, t) != accuracy.Right {
				out[rule] = accuracy.Unclear // true, but it is not what the rule is about
			}
		}
	}

	return out, nil
}

// waitsFor is what else operations have to wait for, for a rule whose counterfactual removes more than
// its own wait: a larger cache ends both the waits for room in it and the reads of what does not fit.
var waitsFor = map[string]string{
	"wiredtiger/cache-pressure": "mongodb_ss_wt_thread_yield_application_thread_time_waiting_for_cache_usecs",
	"wiredtiger/app-eviction":   "mongodb_ss_wt_thread_yield_application_thread_time_evicting_usecs",
}

// besides checks truths against what operations waited for. If less than [accuracy.Stays] of their time
// went into the wait that a rule names, an improvement by its counterfactual proves nothing about the
// rule.
func besides(ctx context.Context, m *recording.Memory, truth map[string]accuracy.Truth) error {
	total := func(metric string) (sum float64, err error) {
		all, err := m.Samples(ctx, recording.MustSelector(metric), time.Unix(0, 0), time.Unix(1<<33, 0))
		for _, s := range all {
			if n := len(s.Points); n > 0 {
				sum += s.Points[n-1].F - s.Points[0].F
			}
		}
		return sum, err
	}

	for rule, metric := range waitsFor {
		if truth[rule] != accuracy.Right {
			continue
		}

		of, err := total("mongodb_ss_opLatencies_latency")
		if err != nil {
			return err
		}

		waited, err := total(metric)
		if err != nil {
			return err
		}

		if waited < accuracy.Stays*of {
			truth[rule] = accuracy.Unclear
		}
	}

	return nil
}
