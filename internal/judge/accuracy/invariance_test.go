package accuracy_test

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/judge/ruletest"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/testkit"
)

// invariant are rules that no null recording tries: they judge the contents of a log, sums since a
// start, latencies of a benchmark's clients, or a device or member compared with itself and with
// others.
var invariant = []string{
	"clients/slow-operations", "disk/logged-slow-syncs", "disk/slow-member", "disk/write-bursts",
	"etcd/logged-no-space", "etcd/logged-slow-requests", "etcd/logged-slow-syncs", "etcd/nothing-slow-logged",
	"mongodb/logged-scans", "mongodb/logged-slow-operations", "mongodb/nothing-slow-logged", "mongodb/since-start",
	"postgres/logged-checkpoints", "postgres/logged-failures", "postgres/logged-slow-statements",
	"postgres/nothing-slow-logged",
}

// The findings of such a rule do not depend on how often another source was sampled, and they are the
// same at twice the load: with twice the calls, bytes and time in all counters.
func TestFindingsAreInvariant(t *testing.T) {
	scripts, err := ruletest.Scripts(testkit.Pack())
	if err != nil {
		t.Fatal(err)
	}

	tried := map[string]bool{}
	for _, s := range scripts {
		for i := range s.Cases {
			c := &s.Cases[i]
			if c.Kind != "positive" || !slices.Contains(invariant, s.Rule.ID) {
				continue
			}

			tried[s.Rule.ID] = true
			t.Run(s.Rule.ID+": "+c.Title, func(t *testing.T) {
				all := c.Series()
				want := severities(t, s.Rule.ID, all)
				if len(want) == 0 {
					t.Fatal("no finding")
				}

				if got := severities(t, s.Rule.ID, twice(all)); len(got) != len(want) || slices.Compare(got, want) > 0 {
					t.Errorf("at twice the load %v, at the load itself %v", got, want)
				}

				if last := all[0]; len(last.Values) < 10 {
					return // totals of a run or since a start have no grid
				}
				if got := severities(t, s.Rule.ID, finer(all)); !slices.Equal(got, want) {
					t.Errorf("next to a source sampled five times as often %v, alone %v", got, want)
				}
			})
		}
	}

	for _, id := range invariant {
		if !tried[id] {
			t.Errorf("%s has no positive case", id)
		}
	}
}

// severities returns the severities of a rule's findings as numbers from 0, the most severe first.
func severities(t *testing.T, rule string, all []ruletest.Series) (out []int) {
	t.Helper()
	mem := recording.NewMemory(recording.MemoryOptions{})
	for _, s := range all {
		appendSeries(t, mem, s.Labels, s.Step, s.Values)
	}

	r, err := diagnose.Each(t.Context(), []recording.Reader{mem}, diagnose.Options{Pack: testkit.Pack()})
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range r.All() {
		for _, f := range one.Findings {
			if f.Rule == rule {
				out = append(out, slices.Index([]diagnose.Severity{diagnose.Critical, diagnose.Warning, diagnose.Info},
					f.Severity))
			}
		}
	}
	slices.Sort(out)
	return out
}

// twice doubles everything that counters count. A device cannot be busy for more than all of the time.
func twice(all []ruletest.Series) (out []ruletest.Series) {
	for _, s := range all {
		name := s.Labels.Get(labels.MetricName)
		counter := !strings.Contains(name, "io_time_seconds") && !strings.Contains(name, "io_time_ms")
		last := math.Inf(-1)
		for _, x := range s.Values {
			if counter = counter && !(x < last); x == x {
				last = x
			}
		}

		first := s.Values[0]
		if first != first {
			first = 0 // a single page: counters are sums since the start
		}

		s.Values = slices.Clone(s.Values)
		for k := range s.Values {
			if counter && first != last {
				s.Values[k] = first + 2*(s.Values[k]-first)
			}
		}
		out = append(out, s)
	}
	return out
}

// finer adds a quiet host that was sampled five times as often.
func finer(all []ruletest.Series) []ruletest.Series {
	step, n := all[0].Step/5, 5*len(all[0].Values)
	return append(slices.Clone(all), ruletest.Series{Step: max(step, time.Millisecond),
		Labels: labels.FromStrings(labels.MetricName, "node_vmstat_pswpin"), Values: make([]float64, n)})
}
