package simulate_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"hash/fnv"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"plimsoll/internal/base/latency"
	"plimsoll/internal/engine"
	"plimsoll/internal/model/scenario"
	"plimsoll/internal/model/simulate"
	"plimsoll/internal/record/recording"
)

var language = scenario.NewLanguage(engine.All().Models(), nil)

var update = flag.Bool("update", false, "rewrite golden files")

func load(t testing.TB, name string, sets ...string) *scenario.Scenario {
	t.Helper()
	sc, err := language.Load(filepath.Join("../../../examples/scenarios", name+".yaml"), sets)
	if err != nil {
		t.Fatal(err)
	}
	return sc
}

func parse(t testing.TB, text string, sets ...string) *scenario.Scenario {
	t.Helper()
	sc, err := language.Parse("test.yaml", []byte(text), sets)
	if err != nil {
		t.Fatal(err)
	}
	return sc
}

func run(t testing.TB, sc *scenario.Scenario, opt simulate.Options) *simulate.Result {
	t.Helper()
	r, err := simulate.Run(context.Background(), sc, opt)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

var examples = []string{"telemetry", "wiredtiger-lab", "etcd", "postgres", "iris"}

// appends is a workload of one client that appends and syncs, on a volume whose write takes 1 ms. Its
// figures can be computed by hand.
const appends = `
plimsoll: 1
name: appends
run: {duration: 20s, warmup: 2s}
host: {cores: 2, memory: 4GiB}
volumes:
  wal: {type: custom, size: 10GiB, iops: 3000, latency: {write: {p50: 1ms}}}
engine: {streams: {cpu: 0s}}
workload:
  arrivals: {clients: 1}
  mix: {insert: 100%}
  document: {size: 2300B}
objective: {write_p99: 5ms, write_max: 500us}
`

func TestAppendsByHand(t *testing.T) {
	r := run(t, parse(t, appends), simulate.Options{})
	near := func(name string, got, want float64) {
		t.Helper()
		if !(math.Abs(got-want) <= 0.02*want) {
			t.Errorf("%s is %g, want %g", name, got, want)
		}
	}

	near("done", r.DonePerSec, 1000)
	near("p50", *r.Writes.All.P50Seconds, 1e-3)
	near("max", *r.Writes.All.MaxSeconds, 1e-3)
	near("IOPS", r.Volumes[0].IOPS, 1000)
	near("busy", r.Volumes[0].Busy, 1)
	near("await", *r.Volumes[0].AwaitSeconds, 1e-3)

	if r.OpenLoop || r.Checkpoints.Count != 0 || r.Reads.All.Operations != 0 || r.MonthlyUSD != nil {
		t.Errorf("%+v", r)
	}

	if o := r.Objectives; len(o) != 2 || !o[0].Met || o[1].Met {
		t.Errorf("objectives %+v", o)
	}
}

// TestQueueForConnections: two operations arrive per millisecond. Each of two connections serves one
// per millisecond behind one fdatasync. Latency counts from the intended start, including the time in
// the queue.
func TestQueueForConnections(t *testing.T) {
	sc := parse(t, strings.Replace(appends, "{clients: 1}", "{constant: 1500/s}", 1)+"", "workload.connections=1", "run.warmup=0s")
	r := run(t, sc, simulate.Options{})

	// 1,500/s arrive and 1,000/s are served. After 20 s, 10,000 wait, and the last one served arrived
	// 2/3 s * 10 ago.
	if r.Unanswered < 9_500 || r.Unanswered > 10_500 || math.Abs(r.DonePerSec-1000) > 20 {
		t.Errorf("%d unanswered, %g/s done", r.Unanswered, r.DonePerSec)
	}

	if last := *r.Writes.All.MaxSeconds; math.Abs(last-20.0/3) > 0.2 {
		t.Errorf("the last waited %g s", last)
	}

	if w := r.Waits[0]; w.Name != "connection" || w.SlowShare < 0.99 || w.SlowCauseShare > 0.02 {
		t.Errorf("%+v", r.Waits)
	}

	for _, w := range r.Waits {
		if w.Name == "log: latency" && w.SlowCauseShare < 0.9 {
			t.Errorf("the wait for a connection is not attributed to the volume's latency: %+v", w)
		}
	}
}

// digest hashes a run: its result, and its recording sample by sample.
func digest(t testing.TB, sc *scenario.Scenario) (result []byte, record uint64) {
	t.Helper()
	m := recording.NewMemory(recording.MemoryOptions{})
	r := run(t, sc, simulate.Options{Record: m, Series: true})

	if err := m.Close(); err != nil {
		t.Fatal(err)
	}

	b, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}

	h := fnv.New64a()
	metrics, err := m.Metrics(context.Background())
	if err != nil {
		t.Fatal(err)
	}

	for _, x := range metrics {
		series, err := m.Samples(context.Background(), recording.MetricSelector(x.Name), x.From, x.To)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range series {
			fmt.Fprint(h, s.Labels)
			for _, p := range s.Points {
				fmt.Fprint(h, p.T, math.Float64bits(p.F))
			}
		}
	}

	if len(metrics) < 20 {
		t.Errorf("only %d metrics are recorded", len(metrics))
	}

	fmt.Fprint(h, m.Sources())
	return b, h.Sum64()
}

// TestRecordedHistogram: the recording's buckets give the same percentiles as the result, within their
// resolution. There is no warm-up, so both cover the same operations except those answered after the
// end.
func TestRecordedHistogram(t *testing.T) {
	m := recording.NewMemory(recording.MemoryOptions{})
	sc := parse(t, appends, "run.warmup=0s", "run.duration=60s", "workload.arrivals={poisson: 900/s}", "workload.mix={insert: 70%, read: 30%}",
		"volumes.wal.latency={read: {min: 200us, p50: 500us, max: 3ms}, write: {min: 300us, p50: 700us, p99: 2ms, max: 9ms}}")

	r := run(t, sc, simulate.Options{Record: m})
	for kind, want := range map[string]*simulate.Latency{"read": &r.Reads.All, "write": &r.Writes.All} {
		series, err := m.Samples(context.Background(), recording.MustSelector(simulate.ClientLatency+`_bucket{kind="`+kind+`"}`), time.UnixMilli(0), time.Now())
		if err != nil || len(series) != latency.BucketCount {
			t.Fatalf("%s: %d buckets, %v", kind, len(series), err)
		}

		upTo := map[string]float64{}
		for _, s := range series {
			upTo[s.Labels.Get("le")] = s.Points[len(s.Points)-1].F
		}

		if upTo["+Inf"] != float64(want.Operations) || want.Operations < 10_000 {
			t.Errorf("%s: %g in all buckets, %d in the result", kind, upTo["+Inf"], want.Operations)
		}

		for _, q := range []struct{ share, seconds float64 }{{0.5, *want.P50Seconds}, {0.99, *want.P99Seconds}, {0.999, *want.P999Seconds}} {
			below := 0.0
			for _, le := range latency.BucketEdges() {
				edge, _ := strconv.ParseFloat(le, 64)
				if upTo[le] >= q.share*upTo["+Inf"] {
					if q.seconds < 0.99*below || q.seconds > 1.01*edge { // the result's are within 1 %
						t.Errorf("%s: %g of them within %g to %g s, the result has %g s", kind, q.share, below, edge, q.seconds)
					}
					break
				}
				below = edge
			}
		}
	}
}

// TestSameSeedSameBytes: the same seed gives the same bytes, another seed different ones.
func TestSameSeedSameBytes(t *testing.T) {
	for _, name := range examples {
		sets := []string{"run.duration=70s", "run.warmup=15s"}
		a, recordA := digest(t, load(t, name, sets...))
		b, recordB := digest(t, load(t, name, sets...))
		if !bytes.Equal(a, b) || recordA != recordB {
			t.Errorf("%s: two runs differ: %016x and %016x", name, recordA, recordB)
		}
		c, recordC := digest(t, load(t, name, append(sets, "seed=2")...))
		if bytes.Equal(a, c) || recordA == recordC {
			t.Errorf("%s: another seed gives the same run", name)
		}
	}
}

// TestGoldenBytes: the bytes are the same on every machine and stay the same over time. The streams
// engine on a fully described volume is free of any calibration.
func TestGoldenBytes(t *testing.T) {
	sc := parse(t, appends, "workload.arrivals={poisson: 700/s}", "workload.mix={insert: 50%, read: 50%}",
		"volumes.wal.latency={read: {min: 200us, p50: 500us, max: 3ms}, write: {min: 300us, p50: 700us, p99: 2ms, max: 9ms}}")
	result, record := digest(t, sc)
	var out bytes.Buffer

	if err := json.Indent(&out, result, "", " "); err != nil {
		t.Fatal(err)
	}

	fmt.Fprintf(&out, "\nrecording %016x\n", record)
	const file = "testdata/streams.json"
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}

	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}

	if !bytes.Equal(want, out.Bytes()) {
		t.Errorf("the run is not the one in %s: if a model was changed on purpose, go test ./internal/model/simulate -run GoldenBytes -update", file)
	}
}

// check asserts what holds for every result.
func check(t interface {
	Helper()
	Errorf(format string, args ...any)
}, r *simulate.Result,
) {
	t.Helper()
	share, slow, cause := 0.0, 0.0, 0.0
	for _, w := range r.Waits {
		share += w.Share
		slow += w.SlowShare
		cause += w.SlowCauseShare
		if w.Share < -1e-9 || w.SlowShare < -1e-9 || w.CauseShare < -1e-9 {
			t.Errorf("a wait of less than nothing: %+v", w)
		}
	}

	if len(r.Waits) > 0 && (math.Abs(share-1) > 1e-6 || math.Abs(slow-1) > 1e-6 || math.Abs(cause-1) > 1e-6) {
		t.Errorf("the shares of waits sum to %g, %g, %g, want 1", share, slow, cause)
	}

	counted := r.Writes.All.Operations + r.Reads.All.Operations // and some of the unanswered, with their age
	if asked := int64(math.Round(r.AskedPerSec * r.Seconds)); r.OpenLoop && (asked < counted || asked > counted+r.Unanswered) {
		t.Errorf("%d arrived, %d have a latency and %d are unanswered", asked, counted, r.Unanswered)
	}

	for _, c := range []simulate.Class{r.Writes, r.Reads} {
		if c.DuringCheckpoint.Operations+c.OutsideCheckpoint.Operations != c.All.Operations {
			t.Errorf("phases have %d and %d operations of %d", c.DuringCheckpoint.Operations, c.OutsideCheckpoint.Operations, c.All.Operations)
		}

		if c.All.Operations == 0 {
			continue
		}

		q := []float64{*c.All.P50Seconds, *c.All.P95Seconds, *c.All.P99Seconds, *c.All.P999Seconds, *c.All.MaxSeconds}
		for i := 1; i < len(q); i++ {
			if q[i] < q[i-1] {
				t.Errorf("percentiles fall: %v", q)
			}
		}
	}

	for _, v := range r.Volumes {
		if v.Busy < 0 || v.Busy > 1 || v.BusyMax > 1+1e-9 || v.IOPSMax+1e-9 < v.IOPS || v.BytesPerSecMax+1e-6 < v.BytesPerSec {
			t.Errorf("%+v", v)
		}
	}
}

func TestExamples(t *testing.T) {
	for _, name := range examples {
		r := run(t, load(t, name, "run.warmup=30s", "run.duration=150s"), simulate.Options{Series: true})
		check(t, r)
		if r.Writes.All.Operations < 1000 || len(r.Series.WriteP99) == 0 || r.ModelError == "" {
			t.Errorf("%s: %+v", name, r)
		}
		if name != "postgres" && r.Checkpoints.Count == 0 { // its checkpoints are 5 min apart
			t.Errorf("%s: no checkpoint in 150 s", name)
		}
	}
}

// TestProperties: at any load, every operation is accounted for and the waits add up to the latency.
func TestProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		arrivals := rapid.SampledFrom([]string{"{poisson: 300/s}", "{constant: 2000/s}", "{clients: 7}", "{clients: 3, think: 2ms}", "{steps: [{rate: 100/s, for: 1s}, {rate: 3000/s, for: 2s}]}"}).Draw(t, "arrivals")
		mix := rapid.SampledFrom([]string{"{insert: 100%}", "{read: 100%}", "{read: 30%, update: 70%}"}).Draw(t, "mix")
		engine := rapid.SampledFrom([]string{"streams: {}", "postgres: {shared_buffers: 16MiB, rows: 200000, checkpoint_timeout: 30s}", "iris: {database: 256MiB, buffers: 64MiB, cycle: 2s}", "etcd: {}", "mongodb: {cache: 64MB, checkpoint: 3s}"}).Draw(t, "engine")

		sc, err := language.Parse("test.yaml", []byte(`
plimsoll: 1
run: {duration: 5s, warmup: 1s}
host: {cores: 2, memory: 4GiB}
volumes:
  data: {type: custom, size: 100GiB, iops: 800, throughput: 20MB/s, latency: {read: {p50: 300us}, write: {p50: 700us, max: 3ms}}}
engine: {`+engine+`}
workload: {mix: `+mix+`, arrivals: `+arrivals+`, document: {size: 1kB}, keys: {count: 100k}}
`), []string{
			fmt.Sprintf("seed=%d", rapid.Uint64Max(1000).Draw(t, "seed")),
			fmt.Sprintf("workload.connections=%d", rapid.IntRange(1, 50).Draw(t, "connections")),
		})
		if err != nil {
			t.Fatal(err)
		}

		r, err := simulate.Run(context.Background(), sc, simulate.Options{})
		if err != nil {
			t.Fatal(err)
		}

		check(t, r)
	})
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	sc := parse(t, appends)
	_, err := simulate.Run(ctx, sc, simulate.Options{Progress: func(done, total time.Duration) {
		if total != 22*time.Second {
			t.Errorf("a run of 22 s takes %v", total)
		}
		if done >= 10*time.Second {
			cancel()
		}
	}})
	if err == nil || ctx.Err() == nil || !strings.Contains(err.Error(), "canceled") {
		t.Errorf("%v", err)
	}
}

// BenchmarkTelemetry runs ten minutes of the telemetry platform after two minutes of warm-up.
func BenchmarkTelemetry(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		run(b, load(b, "telemetry"), simulate.Options{})
	}
}
