package main

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/prometheus/model/labels"

	"plimsoll/internal/record/recording"
)

func TestSelectionNarrows(t *testing.T) {
	ctx := context.Background()
	m := recording.NewMemory(recording.MemoryOptions{})
	column := func(host string, v float64) recording.Column {
		return recording.Column{Labels: labels.FromStrings("__name__", "up", "instance", host), Values: []float64{v, v}}
	}

	if err := m.Append(ctx, &recording.Batch{TimesMs: []int64{0, 1000}, Columns: []recording.Column{column("db-1:9100", 1), column("db-2:9100", 2)}}); err != nil {
		t.Fatal(err)
	}

	for text, want := range map[string]float64{`{instance="db-1:9100"}`: 1, `instance=~"db-2:.*"`: 2, `{instance!="db-1:9100"}`: 2} {
		_, matchers, err := parseSelector(text)
		if err != nil {
			t.Fatal(err)
		}

		s := selection{Reader: m, matchers: matchers}
		samples, err := s.Samples(ctx, recording.MetricSelector("up"), time.UnixMilli(0), time.UnixMilli(1000))
		if err != nil {
			t.Fatal(err)
		}

		summed, err := s.Range(ctx, "sum(up)", time.UnixMilli(1000), time.UnixMilli(1000), time.Second, time.Minute)
		if err != nil {
			t.Fatal(err)
		}

		if len(samples) != 1 || samples[0].Points[0].F != want || len(summed) != 1 || summed[0].Points[0].F != want {
			t.Errorf("%s gives %v and %v, want %v alone", text, samples, summed, want)
		}
	}
}

func TestNarrowReachesEverySelector(t *testing.T) {
	whole, matchers, err := parseSelector(`job="db"`)
	if err != nil {
		t.Fatal(err)
	}

	if whole != `{job="db"}` {
		t.Errorf("a selector without braces becomes %s", whole)
	}

	got, err := selection{matchers: matchers}.narrow(`irate(a[1m]) / on(device) (b{x="y"} or sum by (device) (rate(c[5m])))`)
	if err != nil {
		t.Fatal(err)
	}

	want := `irate(a{job="db"}[1m]) / on (device) (b{job="db",x="y"} or sum by (device) (rate(c{job="db"}[5m])))`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}

	for _, bad := range []string{"{", "{a=}", "up", "a b"} {
		if _, m, err := parseSelector(bad); err == nil {
			t.Errorf("--selector %q was taken for %v", bad, m)
		}
	}
}
