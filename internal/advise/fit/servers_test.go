package fit_test

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/labels"

	"plimsoll/internal/advise/fit"
	"plimsoll/internal/engine"
	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/testkit"
)

// page copies recordings into one, each with its host in the label instance.
func page(t *testing.T, of map[string]*recording.Memory, order []string) *recording.Memory {
	t.Helper()
	out := recording.NewMemory(recording.MemoryOptions{})
	for _, host := range order {
		m := of[host]
		src := m.Sources()[0]
		all, err := m.Samples(context.Background(), recording.EverySeries(), src.From, src.To)
		if err != nil {
			t.Fatal(err)
		}

		for _, s := range all {
			b := recording.Batch{Columns: []recording.Column{{Labels: labels.NewBuilder(s.Labels).Set("instance", host+":9216").Labels()}}}
			for _, p := range s.Points {
				b.TimesMs = append(b.TimesMs, p.T)
				b.Columns[0].Values = append(b.Columns[0].Values, p.F)
			}
			if err := out.Append(context.Background(), &b); err != nil {
				t.Fatal(err)
			}
		}

		src.Name, src.Host, src.Kind = "page.prom", "", "openmetrics"
		out.Source(src)
	}

	return out
}

// If a recording has several servers, fit picks none, and the error lists them and how to choose. A
// server next to a host without a database is fitted as if it were alone.
func TestSeveralServersAreNotFittedAsOne(t *testing.T) {
	_, a := run(t, trips[0].name, []byte(trips[0].yaml))
	_, b := run(t, trips[0].name, []byte(strings.Replace(trips[0].yaml, "seed: 1", "seed: 2", 1)))
	of := map[string]*recording.Memory{"db-1": a, "db-2": b}

	opt := fit.Options{Pack: testkit.Pack(), Engines: engine.All().Fits(), Name: "x"}
	for _, order := range [][]string{{"db-1", "db-2"}, {"db-2", "db-1"}} {
		_, err := fit.Fit(t.Context(), []recording.Reader{page(t, of, order)}, opt)
		var several *diagnose.SeveralError
		if !errors.As(err, &several) {
			t.Fatalf("%v: %v", order, err)
		}
		text := several.Error() + several.Hint()
		for _, want := range []string{"MongoDB db-1:9216", "MongoDB db-2:9216", `--selector '{instance="db-1:9216"}'`, `--selector '{instance="db-2:9216"}'`} {
			if !strings.Contains(text, want) {
				t.Errorf("%v: no %s in %s", order, want, text)
			}
		}
	}

	alone, err := fit.Fit(t.Context(), []recording.Reader{page(t, of, []string{"db-1"})}, opt)
	if err != nil {
		t.Fatal(err)
	}

	host, err := recording.Pick(t.Context(), page(t, of, []string{"db-2"}), testkit.Pack().Wants, func(l labels.Labels) (labels.Labels, bool) {
		return l, strings.HasPrefix(l.Get(labels.MetricName), "node_")
	})
	if err != nil {
		t.Fatal(err)
	}

	next, err := fit.Fit(t.Context(), []recording.Reader{host, page(t, of, []string{"db-1"})}, opt)
	if err != nil {
		t.Fatal(err)
	}

	if !reflect.DeepEqual(next.Values, alone.Values) {
		t.Errorf("next to another host\n%s\nalone\n%s", next.YAML(), alone.YAML())
	}

	if !slices.ContainsFunc(next.Remarks, func(r string) bool { return strings.Contains(r, "db-2") }) {
		t.Errorf("nothing is said of the other host: %q", next.Remarks)
	}
}
