package recording

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
)

const daySeconds = 86_400

var dayStart = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)

// benchDay returns a day of one-second samples in chunks of 300, as in FTDC. Of every ten series, four
// are constant, two change slowly, and four are counters or noise.
func benchDay(series int, emit func(*Batch)) {
	rng := rand.New(rand.NewPCG(1, 2))
	const chunk = 300
	b := &Batch{TimesMs: make([]int64, chunk)}
	values := make([][]float64, series)
	total := make([]float64, series)

	for i := range series {
		values[i] = make([]float64, chunk)
		b.Columns = append(b.Columns, Column{Labels: labels.FromStrings(labels.MetricName, fmt.Sprintf("metric_%d_total", i), "device", "d0")})
	}

	for at := 0; at < daySeconds; at += chunk {
		for k := range chunk {
			b.TimesMs[k] = dayStart.UnixMilli() + int64(at+k)*1000
		}

		for i := range series {
			v := values[i]
			for k := range v {
				switch i % 10 {
				case 4, 5:
					total[i] += float64(rng.IntN(20) / 19)
				case 6, 7:
					total[i] += float64(rng.IntN(5000))
				case 8:
					total[i] += float64(rng.IntN(1 << 28))
				case 9:
					v[k] = rng.Float64()
					continue
				}
				v[k] = total[i]
			}

			b.Columns[i].Values = v
			if i%10 < 4 {
				b.Columns[i].Values = v[:1]
			}
		}

		emit(b)
	}
}

// benchBatches caches the output of benchDay, for ingest benchmarks that must not time its
// generation.
func benchBatches(series int) []*Batch {
	var out []*Batch
	benchDay(series, func(b *Batch) {
		c := &Batch{TimesMs: append([]int64(nil), b.TimesMs...)}
		for _, col := range b.Columns {
			c.Columns = append(c.Columns, Column{col.Labels, append([]float64(nil), col.Values...)})
		}
		out = append(out, c)
	})
	return out
}

func BenchmarkMemoryIngestDay150(b *testing.B) {
	batches := benchBatches(150)
	b.ReportAllocs()
	for b.Loop() {
		m := NewMemory(MemoryOptions{})
		for _, batch := range batches {
			if err := m.Append(b.Context(), batch); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(m.Bytes())/1e6, "MB")
	}
	b.ReportMetric(150*daySeconds*float64(b.N)/b.Elapsed().Seconds()/1e6, "Msamples/s")
}

func benchMemory(b *testing.B, series int) *Memory {
	m := NewMemory(MemoryOptions{})
	benchDay(series, func(batch *Batch) {
		if err := m.Append(b.Context(), batch); err != nil {
			b.Fatal(err)
		}
	})
	return m
}

// benchQueries have the shapes that diagnose uses.
var benchQueries = []struct{ name, expr string }{
	{"irate", `irate(metric_6_total[4s])`},
	{"gauge", `metric_9_total`},
	{"ratio", `irate(metric_6_total[4s]) / irate(metric_7_total[4s])`},
	{"sum4", `sum(irate(metric_6_total[4s]) or irate(metric_16_total[4s]) or irate(metric_7_total[4s]) or irate(metric_17_total[4s]))`},
	{"max_over_time", `max_over_time(metric_9_total[60s])`},
}

func benchRange(b *testing.B, r Reader) {
	for _, q := range benchQueries {
		b.Run(q.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				out, err := r.Range(b.Context(), q.expr, dayStart, dayStart.Add((daySeconds-1)*time.Second), time.Second, 2500*time.Millisecond)
				if err != nil {
					b.Fatal(err)
				}
				if len(out) == 0 {
					b.Fatal("no answer")
				}
			}
		})
	}
}

func BenchmarkMemoryRangeDay(b *testing.B) { benchRange(b, benchMemory(b, 150)) }

func BenchmarkDiskIngestDay150(b *testing.B) {
	batches := benchBatches(150)
	b.ReportAllocs()

	var closing time.Duration
	for b.Loop() {
		d := mustCreate(b, b.TempDir(), DiskOptions{})
		for _, batch := range batches {
			if err := d.Append(b.Context(), batch); err != nil {
				b.Fatal(err)
			}
		}
		start := time.Now()
		mustClose(b, d)
		closing += time.Since(start)
	}

	b.ReportMetric(150*daySeconds*float64(b.N)/b.Elapsed().Seconds()/1e6, "Msamples/s")
	b.ReportMetric(closing.Seconds()/float64(b.N), "s-closing")
}

// benchFolder is a day on disk.
func benchFolder(b *testing.B, closed bool) string {
	dir := b.TempDir()
	d := mustCreate(b, dir, DiskOptions{})
	benchDay(150, func(batch *Batch) {
		if err := d.Append(b.Context(), batch); err != nil {
			b.Fatal(err)
		}
	})
	if closed {
		mustClose(b, d)
	} else {
		b.Cleanup(func() { mustClose(b, d) })
	}
	return dir
}

func folderBytes(b *testing.B, dir string) (size int64) {
	err := filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if !e.IsDir() {
			size += info.Size()
		}
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	return size
}

func BenchmarkOpenDay150(b *testing.B) {
	for _, c := range []struct {
		name   string
		closed bool
	}{{"closed", true}, {"log", false}} {
		b.Run(c.name, func(b *testing.B) {
			dir := benchFolder(b, c.closed)
			for b.Loop() {
				r := mustOpen(b, dir)
				if _, err := r.Metrics(b.Context()); err != nil {
					b.Fatal(err)
				}
				mustClose(b, r)
			}
			b.ReportMetric(float64(folderBytes(b, dir))/1e6, "MB-on-disk")
		})
	}
}

func BenchmarkFolderRangeDay(b *testing.B) {
	r := mustOpen(b, benchFolder(b, true))
	defer mustClose(b, r)
	benchRange(b, r)
}

func BenchmarkSamplesDay(b *testing.B) {
	m := benchMemory(b, 10)
	b.ReportAllocs()
	for b.Loop() {
		out, err := m.Samples(b.Context(), MetricSelector("metric_6_total"), dayStart, dayStart.Add(24*time.Hour))
		if err != nil || len(out) != 1 || len(out[0].Points) != daySeconds {
			b.Fatal(len(out), err)
		}
	}
}

// BenchmarkDiskAppendRow measures the cost of a live source: 150 series at one time.
func BenchmarkDiskAppendRow(b *testing.B) {
	d := mustCreate(b, b.TempDir(), DiskOptions{})
	defer mustClose(b, d)

	row := Batch{TimesMs: []int64{0}}
	for i := range 150 {
		row.Columns = append(row.Columns, Column{named(fmt.Sprintf("metric_%d", i)), []float64{0}})
	}

	for k := 0; b.Loop(); k++ {
		row.TimesMs[0] = int64(k) * 1000
		for i := range row.Columns {
			row.Columns[i].Values[0] = float64(k * i)
		}
		if err := d.Append(b.Context(), &row); err != nil {
			b.Fatal(err)
		}
	}
}
