package results

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"

	"plimsoll/internal/check/golden"
	"plimsoll/internal/judge/ruletest"
	"plimsoll/internal/present/text"
	"plimsoll/internal/record/query"
	"plimsoll/internal/record/recording"
)

var noon = time.Date(2026, 7, 20, 12, 0, 0, 0, time.UTC)

// pointed is a series with values of every second.
func pointed(name string, values ...float64) recording.Series {
	s := recording.Series{Labels: labels.FromStrings("__name__", name, "device", "nvme1n1")}
	for i, v := range values {
		s.Points = append(s.Points, promql.FPoint{T: noon.UnixMilli() + int64(i)*1000, F: v})
	}
	return s
}

// Over a range each series has four figures; what was not a number is left out of them, unless there is
// nothing else.
func TestQuery(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	r := &query.Result{
		Expr: "up",
		From: noon,
		To:   noon.Add(time.Minute),
		Step: time.Second,
		Series: []recording.Series{
			pointed("up", 1, nan, 3, 2), pointed("never", nan, nan), pointed("burst", 1, inf)},
	}
	golden.Inline(t, set(t, Query(r, time.UTC), text.Options{Width: 100}), `
3 series from 2026-07-20 12:00:00 UTC to 2026-07-20 12:01:00 UTC, every 1.00 s.

SERIES
────────────────────────────────────────────────────────────────────────────────────────────────────
   series                                 min  mean   max  last
   {__name__="up", device="nvme1n1"}     1.00  2.00  3.00  2.00
   {__name__="never", device="nvme1n1"}   NaN   NaN   NaN   NaN
   {__name__="burst", device="nvme1n1"}  1.00  +Inf  +Inf  +Inf

-o csv writes every value, -o json uses Prometheus' format
`)

	r.To = r.From
	golden.Inline(t, set(t, Query(r, time.FixedZone("CEST", 7200)), text.Options{Width: 100}), `
3 series at 2026-07-20 14:00:00 CEST.

SERIES
────────────────────────────────────────────────────────────────────────────────────────────────────
   series                                value
   {__name__="up", device="nvme1n1"}      2.00
   {__name__="never", device="nvme1n1"}    NaN
   {__name__="burst", device="nvme1n1"}   +Inf
`)

	r.Series = nil
	golden.Inline(t, set(t, Query(r, time.UTC), text.Options{Width: 100}), `
0 series at 2026-07-20 12:00:00 UTC.
The metrics exist, but the expression has no value in this time range: check its labels and
comparisons.
`)
}

// Metrics are in the order of their names, with their units.
func TestMetrics(t *testing.T) {
	all := []recording.Metric{
		{
			Name:   "node_disk_io_time_seconds_total",
			Series: 1234,
			Period: 15 * time.Second,
			From:   noon,
			To:     noon.Add(24 * time.Hour),
		},
		{Name: "a_metric", Series: 1, From: noon, To: noon}}
	golden.Inline(t, set(t, Metrics(all, time.UTC), text.Options{Width: 110}), `
2 metrics, 1,235 series.

METRICS
──────────────────────────────────────────────────────────────────────────────────────────────────────────────
   metric                           unit        series  period  first sample         last sample
   a_metric                         –                1       –  2026-07-20 12:00:00  2026-07-20 12:00:00
   node_disk_io_time_seconds_total  s, counter   1,234  15.0 s  2026-07-20 12:00:00  2026-07-21 12:00:00

plimsoll query SOURCE 'METRIC' shows the values of a metric
`)
	golden.Inline(t, set(t, Metrics(nil, time.UTC), text.Options{}), `
0 metrics, 0 series.
`)
}

// After a recording, a push or a mark, the program prints one sentence.
func TestSentences(t *testing.T) {
	to := noon.Add(90 * time.Minute)
	for want, got := range map[string]string{
		"rec: 12,390,000 samples, 1h30m of time":                                         Recording(&Recorded{Recording: "rec", Samples: 12_390_000, From: noon, To: to}).Verdict,
		"rec: 10.0 samples (2.00 more were dropped), 1h30m of time, stopped by a signal": Recording(&Recorded{Recording: "rec", Samples: 10, Dropped: 2, From: noon, To: to, Interrupted: true}).Verdict,
		"http://prom/api/v1/write: 500 samples pushed, 0 s of time":                      Push(&Pushed{RemoteWrite: "http://prom/api/v1/write", Samples: 500, From: noon, To: noon}).Verdict,
		`Marked "IOPS raised" at 2026-07-20 14:00:00 CEST in ring.`:                      Mark(&Marked{At: noon, Text: "IOPS raised", Where: "ring"}, time.FixedZone("CEST", 7200)).Verdict,
		"plimsoll 1.0.0 (abc123, modified), go1.26, linux/amd64":                         Version(&Build{Version: "1.0.0", Revision: "abc123", Modified: true, Go: "go1.26", Platform: "linux/amd64"}).Verdict,
		"plimsoll (devel), go1.26, linux/arm64":                                          Version(&Build{Version: "(devel)", Modified: true, Go: "go1.26", Platform: "linux/arm64"}).Verdict,
	} {
		if got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}

// Failed cases of rules' tests have a row for each failure.
func TestRuleTests(t *testing.T) {
	passed := []ruletest.Result{
		{Rule: "disk/iops-capped", Passed: true},
		{Rule: "disk/iops-capped", Passed: true},
	}
	if d := RuleTests(passed); d.Verdict != "2 of 2 cases passed" || len(d.Sections) != 0 {
		t.Errorf("%s, %d sections", d.Verdict, len(d.Sections))
	}
	d := RuleTests(
		append(
			passed,
			ruletest.Result{
				Rule:     "host/swapping",
				Case:     "negative",
				Failures: []string{"the condition holds at 12 s", "the finding is critical"},
			},
		),
	)
	golden.Inline(t, set(t, d, text.Options{Width: 80}), `
2 of 3 cases passed

FAILED
────────────────────────────────────────────────────────────────────────────────
   rule           case      failure
   host/swapping  negative  the condition holds at 12 s
   host/swapping  negative  the finding is critical
`)
}

// How a rule's commands were tested, or that there are none.
func TestHowTested(t *testing.T) {
	if got := HowTested(nil).Parts[0].Text; got != "The rule's fixes have no commands." {
		t.Error(got)
	}
	tab := HowTested([][3]string{{"raise-iops", "aws", "against a recorded API"}}).Parts[0].Table
	if got := fmt.Sprint(tab.Rows[0][0].Text, ", ", tab.Rows[0][1].Text, ", ", tab.Rows[0][2].Text); got != "raise-iops, aws, against a recorded API" {
		t.Error(got)
	}
}

// A list of more than forty series is cut on a terminal.
func TestQueryOfManySeries(t *testing.T) {
	r := &query.Result{Expr: "up", From: noon, To: noon}
	for i := range shortRows + 2 {
		r.Series = append(r.Series, pointed(fmt.Sprint("m", i), float64(i)))
	}
	if got := set(t, Query(r, time.UTC), text.Options{}); !strings.Contains(got, "and 2 more") ||
		strings.Contains(got, "m40{") {
		t.Error(got)
	}
}
