package fleet_test

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/model/simulate"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/testkit"
)

// scrape is the time between samples of the test's fleet: the usual scrape interval.
const scrape = 15 * time.Second

// kinds are the scenarios of a synthetic fleet's clusters, in rotation.
var kinds = []struct {
	file string
	sets []string
}{
	{"telemetry.yaml", nil},
	{"telemetry.yaml", []string{"volumes.journal={type: gp3, size: 10GiB}"}},
	{"postgres.yaml", nil},
}

// bulk is a volume that stays at gp3's 3,000 IOPS for two minutes of every twelve, next to a database
// that reports nothing about its clients.
func bulk() []line {
	const steps, loaded = 48, 8
	at := func(calm, busy float64) (values []float64, grows float64) {
		for k := range steps {
			values = append(values, grows)
			if k < loaded {
				grows += busy
			} else {
				grows += calm
			}
		}
		return values, grows
	}

	var out []line
	for name, rate := range map[string][2]float64{
		"node_disk_io_time_seconds_total": {3, 15}, "node_disk_io_time_weighted_seconds_total": {3, 480},
		"node_disk_writes_completed_total": {4500, 45000}, "node_disk_reads_completed_total": {0, 0},
		"node_disk_written_bytes_total": {18432000, 184320000}, "node_disk_read_bytes_total": {0, 0},
		"node_disk_write_time_seconds_total": {3, 480},
	} {
		l := line{labels: labels.FromStrings("__name__", name, "device", "nvme1n1")}
		l.values, l.grows = at(rate[0], rate[1])
		out = append(out, l)
	}

	cache := line{labels: labels.FromStrings("__name__", "mongodb_ss_wt_cache_maximum_bytes_configured"), values: slices.Repeat([]float64{5e9}, steps)}
	out = append(out, cache)
	slices.SortFunc(out, func(a, b line) int { return labels.Compare(a.labels, b.labels) })

	return out
}

// A line is one series of a simulated hour (or less) at the scrape interval. grows is a counter's
// increase over one repetition.
type line struct {
	labels labels.Labels
	values []float64
	grows  float64
}

// simulated runs each kind of scenario once.
func simulated(t testing.TB, length time.Duration) [][]line {
	t.Helper()
	out := make([][]line, len(kinds), len(kinds)+1)
	for i, k := range kinds {
		sets := append(slices.Clone(k.sets), fmt.Sprintf("run.duration=%dm", int(length.Minutes())))
		sc, err := language.Load(filepath.Join("..", "..", "..", "examples", "scenarios", k.file), sets)
		if err != nil {
			t.Fatal(err)
		}
		mem := recording.NewMemory(recording.MemoryOptions{})
		if _, err := simulate.Run(context.Background(), sc, simulate.Options{Record: mem}); err != nil {
			t.Fatal(err)
		}
		out[i] = lines(t, mem)
	}

	return append(out, bulk())
}

// lines reduces a recording to the scrape interval and to the metrics that a diagnosis reads.
func lines(t testing.TB, mem *recording.Memory) []line {
	t.Helper()
	ctx := context.Background()
	metrics, err := mem.Metrics(ctx)
	if err != nil {
		t.Fatal(err)
	}

	var out []line
	want := diagnose.Wants(testkit.Pack())
	for _, m := range metrics {
		if !want(m.Name) || strings.HasPrefix(m.Name, "plimsoll_") { // not available from any exporter
			continue
		}

		series, err := mem.Samples(ctx, recording.MetricSelector(m.Name), m.From, m.To)
		if err != nil {
			t.Fatal(err)
		}

		for _, s := range series {
			l := line{labels: s.Labels}
			every := int(scrape / time.Second)
			for i := 0; i < len(s.Points); i += every {
				l.values = append(l.values, s.Points[i].F)
			}

			// The last sample is the first of the next repetition, so that a counter continues.
			first, last := l.values[0], l.values[len(l.values)-1]
			l.values = l.values[:len(l.values)-1]
			if len(l.values) > 0 && slices.IsSorted(l.values) {
				l.grows = last - first
			}

			if len(l.values) > 0 {
				out = append(out, l)
			}
		}
	}

	return out
}

// A synthetic fleet has clusters of the given kinds, each starting at a different point of the repeated
// hour.
type synthetic struct {
	from     time.Time
	steps    int
	clusters map[string][]line
	phase    map[string]int
}

func newSynthetic(bases [][]line, clusters int, from time.Time, span time.Duration) *synthetic {
	f := &synthetic{from: from, steps: int(span / scrape), clusters: map[string][]line{}, phase: map[string]int{}}
	for i := range clusters {
		name := fmt.Sprintf("prod-%03d", i)
		f.clusters[name] = bases[i%len(bases)]
		f.phase[name] = 37 * i
	}
	return f
}

func (f *synthetic) names() []string { return slices.Sorted(maps.Keys(f.clusters)) }

// named gives a cluster's series the labels that a server would add.
func named(cluster string, l labels.Labels) labels.Labels {
	port, job := "9216", "db"
	if strings.HasPrefix(l.Get("__name__"), "node_") || strings.HasPrefix(l.Get("__name__"), "aws_") {
		port, job = "9100", "node"
	}
	b := labels.NewBuilder(l)
	b.Set("cluster", cluster)
	b.Set("instance", cluster+":"+port)
	b.Set("job", job)
	return b.Labels()
}

// write writes one cluster's samples for a range of steps.
func (f *synthetic) write(t testing.TB, w recording.Writer, cluster string, first, last int) {
	t.Helper()
	times := make([]int64, last-first)
	for k := range times {
		times[k] = f.from.Add(time.Duration(first+k) * scrape).UnixMilli()
	}

	b := &recording.Batch{TimesMs: times}
	for _, l := range f.clusters[cluster] {
		values := make([]float64, len(times))
		for k := range values {
			at := f.phase[cluster] + first + k
			values[k] = l.values[at%len(l.values)] + float64(at/len(l.values))*l.grows
		}
		b.Columns = append(b.Columns, recording.Column{Labels: named(cluster, l.labels), Values: values})
	}

	if err := w.Append(context.Background(), b); err != nil {
		t.Fatal(err)
	}
}

// push pushes the fleet in time order.
func (f *synthetic) push(t testing.TB, url string) {
	t.Helper()
	p, err := recording.NewPusher(context.Background(), url, recording.PushOptions{Samples: 20_000})
	if err != nil {
		t.Fatal(err)
	}

	const stretch = 40 // ten minutes
	for first := 0; first < f.steps; first += stretch {
		for _, c := range f.names() {
			f.write(t, p, c, first, min(first+stretch, f.steps))
		}
	}

	if err := p.Close(); err != nil {
		t.Fatal(err)
	}

	if want := f.samples(); p.Sent() != want {
		t.Fatalf("%d samples were sent, want %d", p.Sent(), want)
	}
}

func (f *synthetic) samples() (n int64) {
	for _, l := range f.clusters {
		n += int64(len(l)) * int64(f.steps)
	}
	return n
}

// embedded returns the embedded engine's diagnosis of a cluster's samples.
func (f *synthetic) embedded(t testing.TB, cluster string) *diagnose.Report {
	t.Helper()
	mem := recording.NewMemory(recording.MemoryOptions{})
	f.write(t, mem, cluster, 0, f.steps)
	r, err := diagnose.Run(context.Background(), []recording.Reader{mem}, diagnose.Options{Pack: testkit.Pack()})
	if err != nil {
		t.Fatal(err)
	}
	return r
}
