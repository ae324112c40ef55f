package accuracy_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/engine"
	"plimsoll/internal/judge/accuracy"
	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/model/scenario"
	"plimsoll/internal/model/simulate"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/testkit"
)

var language = scenario.NewLanguage(engine.All().Models(), nil)

// samplings are the periods of a live source, of the usual exporter and of the usual Prometheus.
var samplings = []time.Duration{time.Second, 10 * time.Second, 15 * time.Second}

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

// felt runs a scenario and returns its recording and the latencies that its clients felt, by kind of
// operation.
func felt(ctx context.Context, text string, sets ...string) (map[string][]float64, *recording.Memory, error) {
	m, err := run(ctx, text, sets...)
	if err != nil {
		return nil, nil, err
	}

	out := map[string][]float64{}
	for _, kind := range kinds {
		if out[kind], err = latencies(ctx, m, kind); err != nil {
			return nil, nil, err
		}
	}

	return out, m, nil
}

// resampled simulates coarser sampling: it keeps one sample per interval.
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
		all, err := m.Samples(ctx, recording.MetricSelector(name.Name), name.From, name.To)
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

// A tried is an incident with its results.
type tried struct {
	incident
	stalled time.Duration
	// quiet means that no second came close to a stall.
	quiet  bool
	trials []accuracy.Trial
	// errors are the claims that are wrong or missing, for tuning rules.
	errors []string
	// left is the stalled time that remains with each counterfactual, by its assignments.
	left map[string]time.Duration
	// What must never happen: the incident and sampling in which it did.
	criticalUnstalled, wrongNotTheDisk []string
}

// try runs an incident, its counterfactuals, and the diagnosis at each sampling.
func try(ctx context.Context, in incident) (*tried, error) {
	out := &tried{incident: in, left: map[string]time.Duration{}}
	latencies, m, err := felt(ctx, in.text)
	if err != nil {
		return nil, err
	}

	limit := limits(latencies)
	out.stalled = stalledIn(latencies, limit)

	half := map[string]float64{}
	for kind, s := range limit {
		half[kind] = s / 2
	}

	out.quiet = stalledIn(latencies, half) == 0 && usuallyQuick(latencies)
	long, err := in.longByThemselves(ctx, out.stalled, limit)
	if err != nil {
		return nil, err
	}

	if long {
		out.stalled, out.quiet = 0, true
	}

	truth, err := in.truths(ctx, out.stalled, limit, out.left)
	if err != nil {
		return nil, err
	}

	if err := besides(ctx, m, truth); err != nil {
		return nil, err
	}

	if long {
		truth[fewAndLong] = accuracy.Right
	}

	for _, every := range samplings {
		r, err := resampled(ctx, m, every)
		if err != nil {
			return nil, err
		}

		report, err := diagnose.Run(ctx, []recording.Reader{r}, diagnose.Options{Pack: testkit.Pack()})
		if err != nil {
			return nil, fmt.Errorf("at %s: %w", every, err)
		}

		said := claims(report)
		if f, yes := saidLong(report); yes {
			said[fewAndLong] = f
		}

		for rule, t := range truth {
			f, yes := said[rule]
			trial := accuracy.Trial{Rule: rule, Sampling: every, Truth: t, Said: yes}
			out.trials = append(out.trials, trial)
			if sets := slices.Concat(in.without[rule], in.granted[rule]); trial.Alarm() || trial.Miss() {
				out.errors = append(out.errors, fmt.Sprintf("seed %d %s %s %s alarm=%v: stalled %s, left %s; weight %.2f %s: %s; stalls %s",
					in.seed, in.family, every, rule, yes, out.stalled, out.left[strings.Join(sets, " ")], f.Weight, f.Severity, f.Summary, found(report)))
			}
		}

		out.worst(report, truth, every)
	}

	return out, nil
}

// claims returns what a report claims, by rule. A cause counts as claimed if the verdict would name it
// as the reason for a stall. Findings next to "No stall" or next to a slowdown do not count. Neither do
// findings of severity info, such as "stays at 3,000 IOPS, but hardly any stalled time falls into it".
// And a finding of another kind than its rule is not the rule's claim: a cleared checkpoint is not a
// cause, and an open question is not a refutation.
func claims(r *diagnose.Report) map[string]diagnose.Finding {
	out := map[string]diagnose.Finding{}
	for _, i := range r.Incidents {
		if i.Kind != diagnose.Stalled {
			continue
		}
		for _, f := range i.Findings {
			if f.Kind != kindOf[f.Rule] || f.Kind == diagnose.Cause && f.Severity == diagnose.Info {
				continue
			}
			if was, ok := out[f.Rule]; !ok || f.Weight > was.Weight {
				out[f.Rule] = f
			}
		}
	}

	return out
}

// kindOf returns the kind of claim of each rule.
var kindOf = func() map[string]diagnose.Kind {
	out := map[string]diagnose.Kind{}
	for _, r := range testkit.Pack().Rules() {
		out[r.ID] = r.Kind
	}
	return out
}()

// worst notes the mistakes that must never happen.
func (t *tried) worst(r *diagnose.Report, truth map[string]accuracy.Truth, every time.Duration) {
	const notDisk = "disk/not-the-cause"
	at := fmt.Sprintf("seed %d (%s) at %s", t.seed, t.family, every)
	if t.quiet {
		for _, f := range r.Findings {
			if f.Severity == diagnose.Critical && f.Kind != diagnose.Refutation {
				t.criticalUnstalled = append(t.criticalUnstalled, at+": "+f.Rule)
			}
		}
	}
	if _, said := claims(r)[notDisk]; said && truth[notDisk] == accuracy.Wrong {
		t.wrongNotTheDisk = append(t.wrongNotTheDisk, at)
	}
	slices.Sort(t.criticalUnstalled)
}

// found returns the stalls that a report found.
func found(r *diagnose.Report) string {
	var out []string
	for _, i := range r.Incidents {
		for _, h := range i.Hurt {
			out = append(out, fmt.Sprintf("%d %s %.0fs", i.ID, h.Signal, h.Seconds))
		}
	}
	return strings.Join(out, ", ")
}
