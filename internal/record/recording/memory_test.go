package recording

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"pgregory.net/rapid"
)

// Every value is restored to the last bit, whatever its encoding.
func TestSegmentLossless(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, segmentMax).Draw(t, "n")
		base := rapid.OneOf(
			rapid.Float64Range(-1e16, 1e16),
			rapid.Map(rapid.Int64Range(-1<<54, 1<<54), func(i int64) float64 { return float64(i) }),
			rapid.SampledFrom([]float64{0, math.Copysign(0, -1), math.Inf(1), math.Inf(-1), math.MaxFloat64, 5e-324, 1 << 53}),
		).Draw(t, "base")

		reach := rapid.SampledFrom([]int64{0, 1, 100, 254, 255, 256, 65534, 65535, 65536, 1<<32 - 2, 1<<32 - 1, 1 << 32, 1 << 52}).Draw(t, "reach")
		shape := rapid.SampledFrom([]func(float64) float64{
			func(v float64) float64 { return v },
			func(v float64) float64 { return v / 1e3 },
			func(v float64) float64 { return v * 1e-3 },
			func(v float64) float64 { return v / 1e6 },
			func(v float64) float64 { return v * 1e-6 },
			math.Sqrt,
		}).Draw(t, "shape")

		holes := rapid.Bool().Draw(t, "holes")
		values := make([]float64, n)
		for i := range values {
			values[i] = shape(math.Trunc(base) + float64(rapid.Int64Range(0, reach).Draw(t, "offset")))
			if holes && i > 0 && rapid.IntRange(0, 4).Draw(t, "hole") == 0 {
				values[i] = math.NaN()
			}
		}

		times := make([]int64, n)
		g := newSegment(&run{times: times}, values)
		got := g.decode(nil)
		if len(got) != n {
			t.Fatalf("%d values of %d", len(got), n)
		}

		for i := range values {
			if values[i] != values[i] && got[i] != got[i] {
				continue
			}
			if math.Float64bits(got[i]) != math.Float64bits(values[i]) {
				t.Fatalf("value %d: %x (%g) for %x (%g), width %d scale %d", i,
					math.Float64bits(got[i]), got[i], math.Float64bits(values[i]), values[i], g.width, g.scale)
			}
		}
	})
}

func TestSegmentWidths(t *testing.T) {
	for _, c := range []struct {
		name   string
		values []float64
		width  width
		scale  scale
	}{
		{"constant", []float64{7, 7, 7}, constant, unscaled},
		{"gauge", []float64{7, 8, 200}, bits8, unscaled},
		{"counter", []float64{1e12, 1e12 + 300}, bits16, unscaled},
		{"bytes", []float64{1e12, 1e12 + 1e8}, bits32, unscaled},
		{"seconds of milliseconds", []float64{1234.567, 1234.9}, bits16, div1e3},
		{"seconds of microseconds", []float64{1234.567891, 1234.567899}, bits8, div1e6},
		{"any", []float64{math.Pi, math.E}, raw, unscaled},
		{"negative zero", []float64{math.Copysign(0, -1), 1}, raw, unscaled},
		{"with a hole", []float64{7, math.NaN(), 7}, bits8, unscaled},
	} {
		g := newSegment(&run{times: make([]int64, len(c.values))}, c.values)
		if g.width != c.width || g.scale != c.scale {
			t.Errorf("%s: width %d scale %d, want %d %d", c.name, g.width, g.scale, c.width, c.scale)
		}
	}
}

func TestBatchRefused(t *testing.T) {
	up := labels.FromStrings(labels.MetricName, "up")
	for _, c := range []struct {
		batch Batch
		want  string
	}{
		{Batch{[]int64{1, 1}, []Column{{up, []float64{1}}}}, "not after"},
		{Batch{[]int64{1, 2, 3}, []Column{{up, []float64{1, 2}}}}, "2 values for 3 times"},
		{Batch{[]int64{1}, []Column{{labels.FromStrings("a", "b"), []float64{1}}}}, "no metric name"},
	} {
		m := NewMemory(MemoryOptions{})
		err := m.Append(t.Context(), &c.batch)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: error %v, want one with %q", c.batch, err, c.want)
		}
	}
}

func TestMemoryBounds(t *testing.T) {
	m := NewMemory(MemoryOptions{MaxSeries: 2})
	for _, name := range []string{"a", "b", "c"} {
		b := Batch{[]int64{1000, 2000}, []Column{{labels.FromStrings(labels.MetricName, name), []float64{1, 2}}}}
		if err := m.Append(t.Context(), &b); err != nil {
			t.Fatal(err)
		}
	}

	if metrics, err := m.Metrics(t.Context()); err != nil || len(metrics) != 2 {
		t.Errorf("%d metrics, error %v, want 2", len(metrics), err)
	}

	notes := m.Notes()
	if len(notes) != 1 || notes[0].Kind != NoteDropped || !strings.Contains(notes[0].Text, "first in c") {
		t.Errorf("notes %+v, want one about c", notes)
	}

	if !notes[0].From.Equal(time.UnixMilli(1000)) || !notes[0].To.Equal(time.UnixMilli(2000)) {
		t.Errorf("note spans %s to %s", notes[0].From, notes[0].To)
	}
}

// Samples that arrive one at a time end up as compact as batches, and the series of one source share
// their times.
func TestTailsShareTimes(t *testing.T) {
	m := NewMemory(MemoryOptions{})
	const series, samples = 20, 2000

	b := Batch{TimesMs: []int64{0}}
	for i := range series {
		b.Columns = append(b.Columns, Column{labels.FromStrings(labels.MetricName, "m", "i", string(rune('a'+i))), []float64{0}})
	}

	for k := range samples {
		b.TimesMs[0] = int64(k) * 1000
		for i := range b.Columns {
			b.Columns[i].Values[0] = float64(k * i)
		}
		if err := m.Append(t.Context(), &b); err != nil {
			t.Fatal(err)
		}
	}

	s := m.byName["m"]
	if len(s) != series || len(s[3].segments) == 0 {
		t.Fatalf("%d series, %d segments", len(s), len(s[3].segments))
	}

	for i := range s[3].segments {
		if s[3].segments[i].run != s[4].segments[i].run {
			t.Errorf("segment %d: times are not shared", i)
		}
	}

	if max := int64(series * samples * 10); m.Bytes() > max {
		t.Errorf("%d bytes for %d samples", m.Bytes(), series*samples)
	}
}
