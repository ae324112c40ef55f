package examples

import (
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/testkit"
)

var invariantExamples = []string{"mongodb-checkpoint", "postgres-checkpoint", "etcd-latency-bound", "wiredtiger-journal"}

// byChanceMost is the share of recordings in which a rule may name a condition that coincides with
// stalls by chance.
const byChanceMost = 0.05

// Wherever a recording is cut, even within a stall, its diagnosis names a subset of the causes found in
// the whole recording. It never rules out anything else, or calls it critical.
func TestAnyWindow(t *testing.T) {
	windows, more := 0, []string{}
	for _, dir := range invariantExamples {
		in := readers(memories(t, dir))
		truth := diagnosed(t, in, diagnose.Options{})

		from, to := truth.Span.From, truth.Span.To
		for _, length := range []time.Duration{90 * time.Second, 150 * time.Second, 4 * time.Minute} {
			for at := from; at.Add(length).Before(to.Add(time.Second)); at = at.Add(11 * time.Second) {
				got := diagnosed(t, in, diagnose.Options{From: at, To: at.Add(length)})
				windows++
				for _, f := range unmentioned(truth, got) {
					where := fmt.Sprintf("%s, %s from second %.0f: %s %s: %s\n%s", dir, length, at.Sub(from).Seconds(), f.Severity, f.Rule, f.Summary, got.Verdict)
					if more = append(more, where); f.Severity == rules.Critical || f.Kind == rules.Refutation {
						t.Error(where)
					}
				}
			}
		}
	}

	if windows < 100 {
		t.Fatalf("%d windows", windows)
	}

	if float64(len(more)) > byChanceMost*float64(windows) {
		t.Errorf("in %d of %d windows something is named that the whole does not show: %q", len(more), windows, more)
	}
}

func readers(all []*recording.Memory) (out []recording.Reader) {
	for _, m := range all {
		out = append(out, m)
	}
	return out
}

func diagnosed(t *testing.T, in []recording.Reader, opt diagnose.Options) *diagnose.Report {
	t.Helper()
	opt.Pack = testkit.Pack()
	r, err := diagnose.Run(t.Context(), in, opt)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// unmentioned returns the causes that one report names or rules out and another does not mention.
func unmentioned(truth, got *diagnose.Report) (out []rules.Finding) {
	known := byRule(truth)
	for rule, f := range mentioned(got) {
		if _, ok := known[rule]; !ok && (f.Weight >= rules.MinAttributable || f.Kind == rules.Refutation) {
			out = append(out, f)
		}
	}
	return out
}

// changed is a recording with every series changed, dropped (nil) or multiplied.
func changed(t *testing.T, m *recording.Memory, change func(s recording.Series) []recording.Series) recording.Reader {
	t.Helper()
	out := recording.NewMemory(recording.MemoryOptions{})
	for _, s := range m.Sources() {
		out.Source(s)
	}

	metrics, err := m.Metrics(t.Context())
	if err != nil {
		t.Fatal(err)
	}

	for _, x := range metrics {
		all, err := m.Samples(t.Context(), recording.MetricSelector(x.Name), x.From, x.To)
		if err != nil {
			t.Fatal(err)
		}

		for _, s := range all {
			for _, o := range change(s) {
				b := &recording.Batch{Columns: []recording.Column{{Labels: o.Labels}}}
				for _, p := range o.Points {
					b.TimesMs, b.Columns[0].Values = append(b.TimesMs, p.T), append(b.Columns[0].Values, p.F)
				}
				if err := out.Append(t.Context(), b); err != nil {
					t.Fatal(err)
				}
			}
		}
	}

	return out
}

// Changes that are unrelated to the stalls do not change the answer: another time of day, twice as
// many cores, an additional idle device, the order of the sources, an idle host's metrics.
func TestIrrelevantChanges(t *testing.T) {
	const day = 24 * 3600 * 1000
	renamed := func(s recording.Series, label, value string) recording.Series {
		s.Labels = labels.NewBuilder(s.Labels).Set(label, value).Labels()
		return s
	}

	changes := map[string]func(s recording.Series) []recording.Series{
		"another day": func(s recording.Series) []recording.Series {
			s.Points = slices.Clone(s.Points)
			for i := range s.Points {
				s.Points[i].T += 17*day + 4*3600*1000
			}
			return []recording.Series{s}
		},
		"twice the cores": func(s recording.Series) []recording.Series {
			n, err := strconv.Atoi(s.Labels.Get("cpu"))
			if err != nil {
				return []recording.Series{s}
			}
			return []recording.Series{s, renamed(s, "cpu", strconv.Itoa(n+1000))}
		},
		"an idle device": func(s recording.Series) []recording.Series {
			if s.Labels.Get("device") != "loop0" && s.Labels.Get("device") != "loop1" {
				return []recording.Series{s}
			}
			idle := renamed(s, "device", "vdz")
			idle.Points = slices.Clone(s.Points)
			for i := range idle.Points {
				idle.Points[i].F = 0
			}
			return []recording.Series{s, idle}
		},
		"series nobody knows": func(s recording.Series) []recording.Series {
			return []recording.Series{s, renamed(s, "__name__", "zz_"+s.Labels.Get("__name__"))}
		},
	}

	for _, dir := range invariantExamples {
		all := memories(t, dir)
		truth := diagnosed(t, readers(all), diagnose.Options{})
		for name, change := range changes {
			t.Run(dir+"/"+name, func(t *testing.T) {
				var in []recording.Reader
				for _, m := range all {
					in = append(in, changed(t, m, change))
				}
				sameAnswer(t, truth, diagnosed(t, in, diagnose.Options{}))
			})
		}

		t.Run(dir+"/sources turned around", func(t *testing.T) {
			in := readers(all)
			slices.Reverse(in)
			sameAnswer(t, truth, diagnosed(t, in, diagnose.Options{}))
		})
	}
}

// sameAnswer compares the stalled time of each operation, and all causes and refutations.
func sameAnswer(t *testing.T, truth, got *diagnose.Report) {
	t.Helper()
	if truth.Stalls.Seconds != got.Stalls.Seconds || truth.Stalls.Signal != got.Stalls.Signal {
		t.Errorf("%s stalled for %v s, not %s for %v s", got.Stalls.Signal, got.Stalls.Seconds, truth.Stalls.Signal, truth.Stalls.Seconds)
	}
	said := func(r *diagnose.Report) (out []string) {
		for _, f := range r.Findings {
			out = append(out, fmt.Sprintf("%s %s %s (%s) %.3f", f.Severity, f.Kind, f.Rule, f.Subject, f.Weight))
		}
		slices.Sort(out)
		return out
	}
	if a, b := said(truth), said(got); !slices.Equal(a, b) {
		t.Errorf("%q\nis now\n%q", a, b)
	}
}
