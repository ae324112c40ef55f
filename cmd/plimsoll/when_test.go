package main

import (
	"math"
	"testing"
	"time"
)

func TestParseMoment(t *testing.T) {
	now := time.Date(2026, 7, 20, 12, 0, 0, 0, time.UTC)
	zone := time.FixedZone("here", 2*3600)
	for text, want := range map[string]time.Time{
		"":                          {},
		"now":                       now,
		"-2h30m":                    now.Add(-150 * time.Minute),
		"2026-07-20T15:55:00Z":      time.Date(2026, 7, 20, 15, 55, 0, 0, time.UTC),
		"2026-07-20T15:55:00.5Z":    time.Date(2026, 7, 20, 15, 55, 0, 5e8, time.UTC),
		"2026-07-20T15:55:00+05:30": time.Date(2026, 7, 20, 10, 25, 0, 0, time.UTC),
		"2026-07-20 15:55":          time.Date(2026, 7, 20, 13, 55, 0, 0, time.UTC),
		"2026-07-20T15:55:06":       time.Date(2026, 7, 20, 13, 55, 6, 0, time.UTC),
		"2026-07-20":                time.Date(2026, 7, 19, 22, 0, 0, 0, time.UTC),
	} {
		got, err := parseMoment("--from", text, now, zone)
		if err != nil || !got.Equal(want) {
			t.Errorf("%q is %v, %v; want %v", text, got, err, want)
		}
	}

	for _, text := range []string{"yesterday", "2h", "20.7.2026", "2026-13-01", "-"} {
		if got, err := parseMoment("--from", text, now, zone); err == nil {
			t.Errorf("%q was taken for %v", text, got)
		}
	}
}

func TestParseOffsets(t *testing.T) {
	sources := []string{"logs/iostat.log", "http://host:9216/metrics?a=b", "other"}
	o, err := parseOffsets([]string{"1s", "iostat.log=-2m", "http://host:9216/metrics?a=b=3s"}, sources)
	if err != nil {
		t.Fatal(err)
	}

	for i, want := range []time.Duration{-2 * time.Minute, 3 * time.Second, time.Second} {
		if got := o.of(sources[i]); got != want {
			t.Errorf("offset of %s is %v, want %v", sources[i], got, want)
		}
	}

	for _, bad := range []string{"", "x", "nobody=1s", "other=", "other=soon"} {
		if _, err := parseOffsets([]string{bad}, sources); err == nil {
			t.Errorf("--offset %q was taken", bad)
		}
	}
}

func TestWantsJSON(t *testing.T) {
	for _, c := range []struct {
		want bool
		args []string
	}{
		{true, []string{"diagnose", "-o", "json"}}, {true, []string{"-ojson"}}, {true, []string{"-o=json"}},
		{true, []string{"--output", "json", "x"}}, {true, []string{"--output=json"}},
		{false, nil}, {false, []string{"-o"}}, {false, []string{"-o", "text"}}, {false, []string{"--", "-o", "json"}}, {false, []string{"json"}},
	} {
		if got := wantsJSON(c.args); got != c.want {
			t.Errorf("%q: %v", c.args, got)
		}
	}
}

func TestCountValues(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		values []float64
		times  int
		want   int64
	}{{[]float64{1, 2, 3}, 3, 3}, {[]float64{1}, 5, 5}, {[]float64{nan, 1}, 2, 1}, {[]float64{nan}, 9, 0}, {nil, 4, 0}} {
		if got := countValues(c.values, c.times); got != c.want {
			t.Errorf("%v over %d times counts %d, want %d", c.values, c.times, got, c.want)
		}
	}
}
