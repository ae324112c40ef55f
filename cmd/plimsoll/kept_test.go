package main

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/record/recognise"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
)

type liveSource struct{ source.Source }

func (liveSource) Live() bool { return true }

// Live samples are kept in a place that only their user can read, and the oldest are removed.
func TestLiveSamplesAreKept(t *testing.T) {
	cache := t.TempDir()
	environment := map[string]string{"XDG_CACHE_HOME": cache} // of the app, not of the test's process
	t.Chdir(t.TempDir())
	a, _, stderr := testApp()
	a.getenv = func(name string) string { return environment[name] }

	if got := a.keptAs("last"); got != "" {
		t.Errorf("nothing is kept yet, and last is %s", got)
	}

	m := recording.NewMemory(recording.MemoryOptions{})
	m.Source(recording.Source{Name: "host", Kind: "host"})
	err := m.Append(t.Context(), &recording.Batch{TimesMs: []int64{1000, 2000},
		Columns: []recording.Column{{Labels: labels.FromStrings(labels.MetricName, "x"), Values: []float64{1, 2}}}})
	if err != nil {
		t.Fatal(err)
	}

	inputs := []input{{arg: "host", Input: recognise.Input{Source: liveSource{}}}}
	began, newest := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), ""
	for i := range keptMost + 2 {
		a.now = func() time.Time { return began.Add(time.Duration(i) * time.Minute) }
		if newest = keepLive(t.Context(), a, inputs, []recording.Reader{m}); newest == "" {
			t.Fatalf("not kept: %s", stderr)
		}
	}

	if all := keptIn(keptFolder(a.getenv)); len(all) != keptMost || all[len(all)-1] != newest || a.keptAs("last") != newest {
		t.Errorf("kept are %v, last is %s, the newest %s", all, a.keptAs("last"), newest)
	}
	if info, err := os.Stat(newest); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v: mode %v", err, info.Mode())
	}

	r, err := recording.Open(newest)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if got := r.Sources(); len(got) != 1 || got[0].Name != "host" {
		t.Errorf("sources are %v", got)
	}

	// If there is a file with that name, the user means the file.
	if err := os.WriteFile("last", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := a.keptAs("last"); got != "" {
		t.Errorf("a file named last is %s", got)
	}

	// Without a place to keep them, there is at most a note, never an error.
	environment["XDG_CACHE_HOME"] = filepath.Join(newest, recording.ManifestName)
	if got := keepLive(t.Context(), a, inputs, []recording.Reader{m}); got != "" || stderr.Len() == 0 {
		t.Errorf("kept in %q: %s", got, stderr)
	}
}

func TestACauseIsNamedOnceItIsCertain(t *testing.T) {
	value := func(x float64) *float64 { return &x }
	r := &diagnose.Report{Findings: []diagnose.Finding{{Kind: diagnose.Cause, Severity: diagnose.Critical, Rule: "a", Title: "It is full", Subject: "sda", Weight: 0.9}},
		Timeline: []diagnose.Track{{Unit: "bytes"}, {Unit: "seconds", Values: []*float64{value(0.5), nil, value(0.002)}}}}
	l := &looked{}
	if live, news := l.text(r); live != "latency 2.00 ms, worst 500 ms" || news != "" {
		t.Errorf("without a stall: %q, %q", live, news)
	}

	r.Stalls = diagnose.StallSummary{Seconds: 3, Episodes: 1}
	for range 5 {
		if live, news := l.text(r); live != "latency 2.00 ms, worst 500 ms, stalled 3.00 s" || news != "" {
			t.Errorf("one episode: %q, %q", live, news)
		}
	}

	r.Stalls.Episodes, *l = 2, looked{}
	for i := range 4 {
		want := ""
		if i >= 2 {
			want = "found so far: It is full (sda), 90 % of the stall; Ctrl-C ends sampling and shows the diagnosis"
		}
		if _, news := l.text(r); news != want {
			t.Errorf("look %d: %q", i+1, news)
		}
	}

	// A piped progress would have a line for each percent.
	for share, want := range map[float64]string{0.83: "90 %", 0.97: "90 %"} {
		r.Findings[0].Weight = share
		if _, news := l.text(r); !strings.Contains(news, want) {
			t.Errorf("share %v: %q", share, news)
		}
	}
	r.Findings[0].Weight = 1
	if _, news := l.text(r); !strings.Contains(news, "100 %") {
		t.Errorf("share 1: %q", news)
	}

	r.Findings[0].Rule = "b"
	if _, news := l.text(r); news != "" {
		t.Errorf("another cause at once: %q", news)
	}
	if now, worst := latencies(&diagnose.Report{}); now != 0 || worst != 0 || math.IsNaN(now) {
		t.Error("no latency, and it is not 0")
	}
}

// The search ends with the sampling, whatever it finds.
func TestLookingEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	stop := lookWhile(ctx, nil, diagnose.Options{Pack: pack()}, &tally{})
	stop()
	cancel()
}
