package plan

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/base/units"
	"plimsoll/internal/model/scenario"
	"plimsoll/internal/model/simulate"
)

// gathered is a deployment that collects readings in buckets, small enough to be run fully.
const gathered = `
plimsoll: 1
run: {duration: 40s, warmup: 5s}
host: {instance: m6i.large}
volumes: {data: {type: gp3, size: 100GiB}}
engine: {mongodb: {cache: 256MB, checkpoint: 10s, oplog: false}}
workload: {arrivals: {poisson: 500/s}, buckets: {span: 15min, sensors: 1000, interval: 2s, entry: 100B, filled_for: 14min}}
`

// The plan chooses the same span as running every span to the end: among those that meet the
// objective, the one nearest to the current span.
func TestBucketsAgainstBruteForce(t *testing.T) {
	if underRace {
		t.Skip("thousands of runs one by one; made without the race detector")
	}

	now := parsed(t, gathered)
	m := &spaceMaker{now: now, opt: &Options{}, members: 1}
	options := append([]option{{}}, m.spans()...) // in the order of preference

	p99 := make([]float64, len(options))
	for i, o := range options {
		sc, err := now.With(o.sets...)
		if err != nil {
			t.Fatal(err)
		}
		r, err := simulate.Run(context.Background(), sc, simulate.Options{})
		if err != nil {
			t.Fatal(err)
		}
		p99[i] = *r.Figure("write_p99")
		t.Logf("%v: write_p99 %s", o.sets, units.Seconds(p99[i]))
	}

	chosen := 0
	for _, most := range slices.Concat(p99, []float64{1e-4}) {
		bound := units.Duration(most*1e9) + 1000
		want := slices.IndexFunc(p99, func(x float64) bool { return x < float64(bound)/1e9 })
		p, err := Make(context.Background(), now, "gathered.yaml", Options{
			Engines:    every.Engines,
			Objectives: []scenario.Bound{{Name: "write_p99", Most: bound}}, Keep: []string{"volumes", "host", "engine"},
		})

		switch {
		case err != nil:
			t.Fatal(err)
		case want < 0 && p.Chosen != nil:
			t.Errorf("no span is under %s, but %v was chosen", bound, p.Chosen.Sets)
		case want >= 0 && (p.Chosen == nil || !slices.Equal(p.Chosen.Sets, texts(options[want].sets))):
			t.Errorf("under %s: %+v, want %v", bound, p.Chosen, options[want].sets)
		case want > 0:
			chosen++
			if !slices.ContainsFunc(p.Statements, func(s Statement) bool {
				return s.Kind == "buckets" && strings.Contains(s.Text, "what the application must change")
			}) {
				t.Errorf("the required change of the application is missing: %+v", p.Statements)
			}
		}
	}

	if chosen == 0 {
		t.Error("no other span was ever the answer: the test shows nothing")
	}
}

// The spans to try depend on the rate of readings and on how far back queries read.
func TestBucketSpans(t *testing.T) {
	for _, c := range []struct {
		interval, entry string
		query           time.Duration
		want            string
	}{
		{"5s", "40B", 0, "15m0s 5m0s 1m0s"},         // a span of 6 hours would have 4,320 readings
		{"5s", "40B", 24 * time.Hour, "15m0s 5m0s"}, // a day is 1,440 minutes
		{"5s", "40B", 30 * 24 * time.Hour, ""},      // 2,880 quarters of an hour
		{"10min", "40B", 0, "6h0m0s 24h0m0s"},       // a quarter of an hour has one reading
		{"1s", "1kB", 0, "1m0s"},                    // 5 minutes have 300 kB
	} {
		text := strings.Replace(gathered, "{span: 15min, sensors: 1000, interval: 2s, entry: 100B, filled_for: 14min}",
			fmt.Sprintf("{span: 1h, sensors: 1000, interval: %s, entry: %s}", c.interval, c.entry), 1)
		m := &spaceMaker{now: parsed(t, text), opt: &Options{Engines: every.Engines, QuerySpan: units.Duration(c.query)}, members: 1}
		var got []string
		for _, o := range m.spans() {
			got = append(got, o.sets[0].Text())
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s of %s, queries of %s: %q, want %q", c.interval, c.entry, c.query, got, c.want)
		}
	}
}
