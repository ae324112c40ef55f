package diagnose_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"

	"plimsoll/internal/engine"
	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/model/scenario"
	"plimsoll/internal/model/simulate"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/testkit"
)

// days is when the recording begins.
var days = time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)

// An event is a scenario that runs for ten minutes, once, some time into the recording.
type event struct {
	at time.Duration
	// sets changes the usual scenario.
	sets []string
	// cause is the rule that must be among the first three causes that the headline names: what waits,
	// and for what.
	cause string
	// fix, unless "", is the remedy to try first.
	fix string
}

// usually is the scenario while nothing happens: a MongoDB server with headroom, on a separate volume.
const usually = `plimsoll: 1
name: some days
seed: 1
run: {duration: 10min, warmup: 60s}
host: {cores: 4, memory: 16GiB, filesystem: xfs}
volumes:
  data: {type: custom, size: 500GiB, iops: 6000, throughput: 125MiB/s, latency: {like: gp3}}
engine:
  mongodb: {cache: 4GB, checkpoint: 60s}
workload:
  arrivals: {poisson: 300/s}
  mix: {update: 5%, read: 95%}
  keys: {count: 20000}
  document: {size: 1000B}
  connections: 64
`

// events are five events, each with a different cause.
var events = []event{
	{at: 5 * time.Hour, cause: "host/writeback-backlog", sets: []string{"workload.arrivals={poisson: 300/s}", "workload.mix={update: 80%, read: 20%}", "workload.keys.count=300000", "volumes.data.iops=3000", "volumes.data.throughput=500MiB/s"}},
	{at: 19 * time.Hour, cause: "disk/degraded", sets: []string{"volumes.data.episodes={every: 200s, lasts: {from: 30s, to: 40s}, latency: {from: 150ms, to: 250ms}}"}},
	{at: 33 * time.Hour, cause: "host/cpu-saturated", sets: []string{"workload.arrivals={poisson: 1300/s}", "workload.mix={read: 100%}", "engine.mongodb.cpu={operation: 3ms}"}},
	{at: 50 * time.Hour, cause: "disk/burst-exhausted", fix: "gp3", sets: []string{"workload.arrivals={poisson: 400/s}", "workload.keys.count=60000000",
		"volumes.data={type: custom, size: 500GiB, iops: 100, throughput: 125MiB/s, latency: {like: gp3}, burst: {iops: 3000, for: 30min, left: 2%}}"}},
	{at: 63 * time.Hour, cause: "disk/throughput-capped", sets: []string{"workload.arrivals={poisson: 2000/s}", "workload.mix={update: 1%, read: 99%}", "workload.document.size=100kB", "workload.keys.count=1000000"}},
}

// simulated returns a scenario's recording at one second, with times from the beginning of days on.
func simulated(tb testing.TB, sets ...string) []recording.Series {
	tb.Helper()
	ctx := context.Background()
	sc, err := scenario.NewLanguage(engine.All().Models(), nil).Parse("days.yaml", []byte(usually), sets)
	if err != nil {
		tb.Fatal(err)
	}

	m := recording.NewMemory(recording.MemoryOptions{})
	if _, err := simulate.Run(ctx, sc, simulate.Options{Record: m}); err != nil {
		tb.Fatal(err)
	}

	metrics, err := m.Metrics(ctx)
	if err != nil {
		tb.Fatal(err)
	}

	var out []recording.Series
	for _, x := range metrics {
		if strings.HasPrefix(x.Name, "plimsoll_") {
			continue // reported only by a simulation
		}
		all, err := m.Samples(ctx, recording.MetricSelector(x.Name), x.From, x.To)
		if err != nil {
			tb.Fatal(err)
		}
		out = append(out, all...)
	}

	return out
}

// A tape is written piece by piece: counters continue from their last values.
type tape struct {
	tb     testing.TB
	to     recording.Writer
	series map[string]*taped
	at     time.Duration
}

type taped struct {
	labels labels.Labels
	last   float64
}

// run appends a piece once.
func (t *tape) run(piece []recording.Series) {
	t.tb.Helper()
	seconds := 0
	for _, s := range piece {
		seconds = max(seconds, len(s.Points))
	}

	b := &recording.Batch{}
	for k := range seconds {
		b.TimesMs = append(b.TimesMs, days.Add(t.at+time.Duration(k)*time.Second).UnixMilli())
	}

	for _, s := range piece {
		if len(s.Points) != seconds {
			continue
		}
		key := s.Labels.String()
		was := t.series[key]
		if was == nil {
			was = &taped{labels: s.Labels}
			t.series[key] = was
		}
		b.Columns = append(b.Columns, recording.Column{Labels: was.labels, Values: was.goOn(s.Points)})
	}

	if err := t.to.Append(context.Background(), b); err != nil {
		t.tb.Fatal(err)
	}

	t.at += time.Duration(seconds) * time.Second
}

// goOn returns a piece's values, continued from the previous ones.
func (s *taped) goOn(points []promql.FPoint) []float64 {
	counts := points[len(points)-1].F > points[0].F && slices.IsSortedFunc(points, func(a, b promql.FPoint) int {
		if a.F < b.F {
			return -1
		}
		return 0
	})

	out := make([]float64, len(points))
	for k, p := range points {
		out[k] = p.F
		if counts {
			out[k] += s.last - points[0].F
		}
	}

	s.last = out[len(out)-1]
	return out
}

// recordDays writes a recording of the given length in which the events happen.
func recordDays(tb testing.TB, to recording.Writer, long time.Duration, events []event) {
	tb.Helper()
	to.Source(recording.Source{Kind: "simulation", Name: "days", Engine: "mongodb", Version: "8.0", From: days, To: days.Add(long),
		Period: time.Second, Samples: int64(long / time.Second), Facts: map[string]string{"cores": "4", "memory_bytes": "17179869184"}})
	t := &tape{tb: tb, to: to, series: map[string]*taped{}}
	calm := simulated(tb)
	for _, e := range events {
		for t.at < e.at {
			t.run(calm)
		}
		t.run(simulated(tb, e.sets...))
	}
	for t.at < long {
		t.run(calm)
	}
}

// Five events in three days are five incidents, each with its own cause and time. They are judged
// second by second; if the grid is too coarse for that, each is judged again at one second.
func TestFiveIncidentsOfDays(t *testing.T) {
	if underRace {
		t.Skip("three days at a second; made without the race detector")
	}

	m := recording.NewMemory(recording.MemoryOptions{})
	recordDays(t, m, 72*time.Hour, events)

	for _, cells := range []int{0, 30_000} {
		t.Run(fmt.Sprint(cells), func(t *testing.T) {
			r, err := diagnose.Run(t.Context(), []recording.Reader{m}, diagnose.Options{Pack: testkit.Pack(), Cells: cells})
			if err != nil {
				t.Fatal(err)
			}
			for _, x := range r.Incidents {
				t.Logf("%d: %s", x.ID, x.Verdict)
			}
			named(t, r)
		})
	}
}

// A volume at both of its limits is the cause, although neither limit alone is.
func TestBothLimits(t *testing.T) {
	m := recording.NewMemory(recording.MemoryOptions{})
	m.Source(recording.Source{Kind: "simulation", Name: "both", Engine: "mongodb", Version: "8.0", Period: time.Second})
	both := &tape{tb: t, to: m, series: map[string]*taped{}}
	both.run(simulated(t, "run.duration=4min", "engine.mongodb.cache=256MB", "workload.arrivals={poisson: 1500/s}", "workload.mix={update: 90%, read: 10%}",
		"workload.keys.count=3000000", "volumes.data.iops=3000"))
	r, err := diagnose.Run(t.Context(), []recording.Reader{m}, diagnose.Options{Pack: testkit.Pack()})
	if err != nil {
		t.Fatal(err)
	}
	if r.Stalls.Seconds < 60 || !strings.Contains(r.Verdict, "at both its IOPS and its throughput limit (data)") {
		t.Errorf("%v s: %s", r.Stalls.Seconds, r.Verdict)
	}
}

// named checks that each event is an incident with its cause, and that there are no other incidents.
func named(t testing.TB, r *diagnose.Report) {
	t.Helper()
	if len(r.Incidents) != len(events) || r.MoreIncidents > 0 {
		t.Errorf("%d incidents and %d more, not %d", len(r.Incidents), r.MoreIncidents, len(events))
	}

	for _, e := range events {
		from, to := days.Add(e.at-time.Minute), days.Add(e.at+21*time.Minute)
		i := slices.IndexFunc(r.Incidents, func(x diagnose.Incident) bool {
			return x.Kind == diagnose.Stalled && !x.From.Before(from) && !x.To.After(to)
		})
		if i < 0 {
			t.Errorf("no incident of %s, where %s is to be found", from.Format("02 15:04"), e.cause)
			continue
		}

		first := causes(r.Incidents[i])
		if !slices.Contains(first, e.cause) {
			t.Errorf("incident %d, of %s, is by %v first, not by %s", i+1, from.Format("02 15:04"), first, e.cause)
		}

		if actions := r.Incidents[i].Actions; e.fix != "" && (len(actions) == 0 || actions[0].Remedy != e.fix) {
			t.Errorf("the first thing to do about incident %d, of %s, is not %s", i+1, from.Format("02 15:04"), e.fix)
		}

		for _, o := range events {
			if o.cause != e.cause && slices.Contains(first, o.cause) {
				t.Errorf("incident %d, of %s, is by %s, which was at another time", i+1, from.Format("02 15:04"), o.cause)
			}
		}
	}
}

// causes returns the rules of the causes that the headline names.
func causes(x diagnose.Incident) (out []string) {
	for _, f := range x.Findings {
		if f.Kind == diagnose.Cause && f.Severity != diagnose.Info && len(out) < 3 {
			out = append(out, f.Rule)
		}
	}
	return out
}
