package examples

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql"

	"plimsoll/internal/engine"
	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/recognise"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
	"plimsoll/internal/testkit"
)

// thinned returns a recording as if sampled at another period: it keeps the first sample of each
// interval.
func thinned(ctx context.Context, m *recording.Memory, every, phase time.Duration) (recording.Reader, error) {
	out := recording.NewMemory(recording.MemoryOptions{})
	for _, s := range m.Sources() {
		s.Period = max(s.Period, every)
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
			for i, p := range s.Points {
				if i > 0 && interval(p, every, phase) == interval(s.Points[i-1], every, phase) {
					continue
				}
				b.TimesMs, b.Columns[0].Values = append(b.TimesMs, p.T), append(b.Columns[0].Values, p.F)
			}
			if err := out.Append(ctx, b); err != nil {
				return nil, err
			}
		}
	}

	return out, nil
}

func interval(p promql.FPoint, every, phase time.Duration) int64 {
	return (p.T - phase.Milliseconds()) / every.Milliseconds()
}

// memories reads the files of an example.
func memories(t *testing.T, dir string) (out []*recording.Memory) {
	t.Helper()
	files, err := recognise.For(engine.All().Sources()).Expand(dir)
	if err != nil {
		t.Fatal(err)
	}

	for _, file := range files {
		input, err := recognise.For(engine.All().Sources()).Open(t.Context(), file, recognise.OpenOptions{})
		if err != nil {
			t.Fatal(err)
		}
		mem := recording.NewMemory(recording.MemoryOptions{})
		if err := input.Source.Read(t.Context(), mem, source.Options{Want: diagnose.Wants(testkit.Pack())}); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		out = append(out, mem)
	}

	return out
}

// mentioned returns the causes and refutations that a report claims, except those about a condition
// that was met but was not a cause.
func mentioned(r *diagnose.Report) map[string]rules.Finding {
	out := map[string]rules.Finding{}
	for _, f := range r.Findings {
		if f.Kind == rules.Cause && f.Severity != rules.Info || f.Kind == rules.Refutation {
			out[f.Rule] = f
		}
	}
	return out
}

// hiddenBy matches a verdict that does not exclude shorter stalls.
var hiddenBy = regexp.MustCompile(`No stall.* would not show`)

var sampledMore = regexp.MustCompile(`would not show|finer sampling shows more|s samples`)

// However rarely the sources of an example are sampled (all of them, only the database, or only its
// host), the range of the stalled time contains the value at one second. No cause is named that
// one-second samples do not show, and none of theirs is refuted. At least one of theirs is named, or
// the verdict says that the intervals are too long.
func TestThinned(t *testing.T) {
	for _, dir := range []string{"mongodb-checkpoint", "postgres-checkpoint", "etcd-latency-bound", "wiredtiger-journal"} {
		// For latencies that clients reported themselves, means over a minute give too narrow a range: 0
		// to 44 s, with 85 s stalled. The exporters' figures are compared instead.
		all := slices.DeleteFunc(memories(t, dir), func(m *recording.Memory) bool { return m.Sources()[0].Kind == "pgbench" })
		truth := run(t, all, func(*recording.Memory) time.Duration { return time.Second }, 0)
		for _, every := range []time.Duration{5 * time.Second, 15 * time.Second, 30 * time.Second, time.Minute} {
			for _, which := range []string{"all", "database", "host"} {
				for _, phase := range []time.Duration{0, every / 3, every * 2 / 3} {
					t.Run(fmt.Sprintf("%s/%s/%s/%s", dir, every, which, phase.Round(time.Second)), func(t *testing.T) {
						got := run(t, all, func(m *recording.Memory) time.Duration {
							isDatabase := m.Sources()[0].Engine != ""
							if which == "all" || isDatabase == (which == "database") {
								return every
							}
							return time.Second
						}, phase)
						compareThinned(t, truth, got)
					})
				}
			}
		}
	}
}

func run(t *testing.T, all []*recording.Memory, every func(*recording.Memory) time.Duration, phase time.Duration) *diagnose.Report {
	t.Helper()
	var in []recording.Reader
	for _, m := range all {
		if every(m) == time.Second {
			in = append(in, m)
			continue
		}
		r, err := thinned(t.Context(), m, every(m), phase)
		if err != nil {
			t.Fatal(err)
		}
		in = append(in, r)
	}

	r, err := diagnose.Run(t.Context(), in, diagnose.Options{Pack: testkit.Pack()})
	if err != nil {
		t.Fatal(err)
	}

	return r
}

func compareThinned(t *testing.T, truth, got *diagnose.Report) {
	t.Helper()
	stalled := truth.Stalls.Seconds
	least, most := got.Stalls.Seconds, got.Stalls.Seconds

	if got.Stalls.IntervalS > 0 {
		least, most = got.Stalls.LeastS, got.Stalls.MostS
	}

	// A gap at the edge of an interval may be a second longer or shorter.
	if tolerance := 0.15 * stalled; stalled < least-tolerance || stalled > most+tolerance && !hiddenBy.MatchString(got.Verdict) {
		t.Errorf("stalled for %v s; the range is %v to %v s\n%s", stalled, least, most, got.Verdict)
	}

	want, have := mentioned(truth), mentioned(got)
	kept := 0
	for rule, f := range have {
		if _, ok := want[rule]; ok {
			kept++
			continue
		}
		// Causes with a small share depend on which seconds an interval contains, and findings
		// about a rise in latency do not explain a stall.
		if _, info := byRule(truth)[rule]; !info && f.Weight >= rules.MinAttributable && got.Stalls.Seconds > 0 {
			t.Errorf("%s %s is not found in samples of a second: %s\n%s", f.Kind, rule, f.Summary, got.Verdict)
		}
	}

	if kept == 0 && len(want) > 0 && !sampledMore.MatchString(got.Verdict) {
		t.Errorf("no cause of %d is left, and the verdict does not say why: %s", len(want), got.Verdict)
	}

	for _, f := range got.Findings {
		if f.Severity == rules.Critical && f.Kind == rules.Cause && strings.HasPrefix(f.Rule, "disk/") && want[f.Rule].Rule == "" {
			t.Errorf("accused: %s: %s", f.Rule, f.Summary)
		}
	}
}
