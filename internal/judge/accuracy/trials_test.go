package accuracy_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	engines "plimsoll/internal/engine"
	"plimsoll/internal/judge/accuracy"
	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/model/scenario"
	"plimsoll/internal/model/simulate"
	"plimsoll/internal/record/recording"
)

var (
	pack     = rules.NewPack(engines.All())
	language = scenario.NewLanguage(engines.All())
)

// samplings are those of a live source, of the usual exporter and of the usual Prometheus.
var samplings = []time.Duration{time.Second, 10 * time.Second, 15 * time.Second}

// leastStall is the stalled time below which a run counts as one that does not stall.
const leastStall = 3 * time.Second

// run simulates a scenario and returns its recording at one second.
func run(ctx context.Context, text string, sets ...string) (*recording.Memory, error) {
	sc, err := language.Parse("generated.yaml", []byte(text), sets)
	if err != nil {
		return nil, fmt.Errorf("%v: %w\n%s", sets, err, text)
	}
	m := recording.NewMemory(recording.MemoryOptions{})
	_, err = simulate.Run(ctx, sc, simulate.Options{Record: m})
	return m, err
}

// kinds are the clients' operations.
var kinds = []string{"read", "write"}

// latencies are the mean latencies of a kind's operations, second by second, in seconds; 0 where
// none came. They are told by the clients alone, not by any rule.
func latencies(ctx context.Context, r recording.Reader, kind string) ([]float64, error) {
	var parts [2][]float64
	for i, part := range []string{"sum", "count"} {
		all, err := r.Samples(ctx, fmt.Sprintf("plimsoll_client_latency_seconds_%s{kind=%q}", part, kind), time.Unix(0, 0), time.Unix(1<<33, 0))
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

// limits are the latencies from which a second counts as stalled, by kind: five times the median,
// but not under 20 ms and always from 100 ms on. A counterfactual is held to its original's.
func limits(ctx context.Context, r recording.Reader) (map[string]float64, error) {
	out := map[string]float64{}
	for _, kind := range kinds {
		all, err := latencies(ctx, r, kind)
		if err != nil {
			return nil, err
		}
		all = slices.DeleteFunc(all, func(s float64) bool { return s == 0 })
		slices.Sort(all)
		out[kind] = 0.1
		if len(all) > 0 {
			out[kind] = min(0.1, max(0.02, 5*all[len(all)/2]))
		}
	}
	return out, nil
}

// stalled is the time in which reads or writes took as long as the limits.
func stalled(ctx context.Context, r recording.Reader, limit map[string]float64) (time.Duration, error) {
	bad := map[int]bool{}
	for _, kind := range kinds {
		all, err := latencies(ctx, r, kind)
		if err != nil {
			return 0, err
		}
		for second, s := range all {
			if s >= limit[kind] {
				bad[second] = true
			}
		}
	}
	return time.Duration(len(bad)) * time.Second, nil
}

// resampled is what somebody who samples less often has: every so many seconds' samples.
func resampled(ctx context.Context, m *recording.Memory, every time.Duration) (recording.Reader, error) {
	if every <= time.Second {
		return m, nil
	}
	out := recording.NewMemory(recording.MemoryOptions{})
	for _, s := range m.Sources() {
		out.Source(s)
	}
	metrics, err := m.Metrics(ctx)
	if err != nil {
		return nil, err
	}
	for _, name := range metrics {
		all, err := m.Samples(ctx, name.Name, name.From, name.To)
		if err != nil {
			return nil, err
		}
		for _, s := range all {
			b := &recording.Batch{Columns: []recording.Column{{Labels: s.Labels}}}
			for _, p := range s.Points {
				if p.T/1000%int64(every/time.Second) == 0 {
					b.TimesMs, b.Columns[0].Values = append(b.TimesMs, p.T), append(b.Columns[0].Values, p.F)
				}
			}
			if len(b.TimesMs) == 0 {
				continue
			}
			if err := out.Append(ctx, b); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// tried is an incident with what came of it.
type tried struct {
	incident
	stalled time.Duration
	// quiet says that no second came near a stall.
	quiet  bool
	trials []accuracy.Trial
	// What must never happen: where and at which sampling it did.
	criticalUnstalled, wrongNotTheDisk []string
}

// try runs an incident, its counterfactuals, and the diagnosis at each sampling.
func try(ctx context.Context, in incident) (*tried, error) {
	out := &tried{incident: in}
	m, err := run(ctx, in.text)
	if err != nil {
		return nil, err
	}
	limit, err := limits(ctx, m)
	if err != nil {
		return nil, err
	}
	if out.stalled, err = stalled(ctx, m, limit); err != nil {
		return nil, err
	}
	half := map[string]float64{}
	for kind, s := range limit {
		half[kind] = s / 2
	}
	near, err := stalled(ctx, m, half)
	if err != nil {
		return nil, err
	}
	out.quiet = near == 0
	truth, err := in.truths(ctx, out.stalled, limit)
	if err != nil {
		return nil, err
	}
	for _, every := range samplings {
		r, err := resampled(ctx, m, every)
		if err != nil {
			return nil, err
		}
		report, err := diagnose.Run(ctx, []recording.Reader{r}, diagnose.Options{Pack: pack})
		if err != nil {
			return nil, fmt.Errorf("at %s: %w", every, err)
		}
		said := saidBy(report)
		for rule, t := range truth {
			out.trials = append(out.trials, accuracy.Trial{Rule: rule, Sampling: every, Truth: t, Said: said[rule]})
		}
		out.worst(report, truth, every)
	}
	return out, nil
}

// truths is what holds of each claim.
func (in incident) truths(ctx context.Context, base time.Duration, limit map[string]float64) (map[string]accuracy.Truth, error) {
	out := map[string]accuracy.Truth{}
	known := map[string]time.Duration{}
	without := func(sets []string) (time.Duration, error) {
		key := strings.Join(sets, " ")
		if t, ok := known[key]; ok {
			return t, nil
		}
		m, err := run(ctx, in.text, sets...)
		if err != nil {
			return 0, err
		}
		known[key], err = stalled(ctx, m, limit)
		return known[key], err
	}
	for rule, sets := range in.without {
		if base < leastStall {
			out[rule] = accuracy.Wrong
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

// saidBy are the rules that a report names, of any incident.
func saidBy(r *diagnose.Report) map[string]bool {
	out := map[string]bool{}
	for _, f := range r.Findings {
		out[f.Rule] = true
	}
	for _, i := range r.Incidents {
		for _, f := range i.Findings {
			out[f.Rule] = true
		}
	}
	return out
}

// worst notes what must never happen.
func (t *tried) worst(r *diagnose.Report, truth map[string]accuracy.Truth, every time.Duration) {
	at := fmt.Sprintf("seed %d (%s) at %s", t.seed, t.family, every)
	if t.quiet {
		for _, f := range r.Findings {
			if f.Severity == diagnose.Critical && f.Kind != diagnose.Refutation {
				t.criticalUnstalled = append(t.criticalUnstalled, at+": "+f.Rule)
			}
		}
	}
	if notDisk := "disk/not-the-cause"; saidBy(r)[notDisk] && truth[notDisk] == accuracy.Wrong {
		t.wrongNotTheDisk = append(t.wrongNotTheDisk, at)
	}
	slices.Sort(t.criticalUnstalled)
}
