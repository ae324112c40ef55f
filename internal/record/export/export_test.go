package export_test

import (
	"bytes"
	"encoding/csv"
	"errors"
	"io"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"
	"pgregory.net/rapid"

	"plimsoll/internal/record/export"
	"plimsoll/internal/record/recording"
)

// A sample is the data that every format must contain.
type sample struct {
	series string // as labels.Labels prints it
	ms     int64
	value  float64
}

// odd are texts that need quoting in every format.
var odd = rapid.SampledFrom([]string{"sda", "", "a b", `back\slash`, `quo"te`, "new\nline", "tab\t", "comma,", "µ", `{}=`, "# EOF"})

// samples draws series of some metrics, among them one whose name needs quotes, and a counter whose
// family name is another metric's name.
func samples(t *rapid.T) []sample {
	var out []sample
	seen := map[string]bool{}
	for range rapid.IntRange(1, 6).Draw(t, "series") {
		b := labels.NewScratchBuilder(3)
		b.Add(labels.MetricName, rapid.SampledFrom([]string{"up", "bytes_total", "reads", "reads_total", "name.with dots"}).Draw(t, "name"))
		if v := odd.Draw(t, "device"); v != "" {
			b.Add("device", v)
		}

		if v := odd.Draw(t, "instance"); v != "" {
			b.Add("instance", v)
		}

		b.Sort()
		l := b.Labels()
		if seen[l.String()] {
			continue
		}

		seen[l.String()] = true
		at := int64(1_700_000_000_000)
		for range rapid.IntRange(1, 5).Draw(t, "points") {
			at += rapid.Int64Range(1, 90_000).Draw(t, "ms")
			v := rapid.Float64().Draw(t, "value")
			out = append(out, sample{l.String(), at, v})
		}
	}

	return out
}

func record(t testing.TB, all []sample) *recording.Memory {
	t.Helper()
	m := recording.NewMemory(recording.MemoryOptions{})
	for _, s := range all {
		l, err := labelsOf(s.series)
		if err != nil {
			t.Fatal(err)
		}
		if err := m.Append(t.Context(), &recording.Batch{TimesMs: []int64{s.ms}, Columns: []recording.Column{{Labels: l, Values: []float64{s.value}}}}); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

// labelsOf parses labels in the format of labels.Labels: {a="b", c="d"}.
func labelsOf(text string) (labels.Labels, error) {
	b := labels.NewScratchBuilder(3)
	for text = strings.Trim(text, "{}"); text != ""; text = strings.TrimLeft(text, ", ") {
		name, rest, _ := strings.Cut(text, "=")
		quoted, err := strconv.QuotedPrefix(rest)
		if err != nil {
			return labels.EmptyLabels(), err
		}
		value, err := strconv.Unquote(quoted)
		if err != nil {
			return labels.EmptyLabels(), err
		}
		b.Add(name, value)
		text = rest[len(quoted):]
	}

	b.Sort()
	return b.Labels(), nil
}

// readers read each format with an independent reader.
var readers = map[export.Format]func(data []byte) ([]sample, error){
	export.CSV: readCSV, export.OpenMetrics: readOpenMetrics, export.Parquet: readParquet,
}

func readCSV(data []byte) (out []sample, err error) {
	lines, err := csv.NewReader(bytes.NewReader(data)).ReadAll()
	if err != nil {
		return nil, err
	}

	for _, line := range lines[1:] {
		at, err := time.Parse(time.RFC3339Nano, line[0])
		if err != nil {
			return nil, err
		}

		v, err := strconv.ParseFloat(line[3], 64)
		if err != nil {
			return nil, err
		}

		l, err := labelsOf(line[2])
		if err != nil {
			return nil, err
		}

		out = append(out, sample{withName(l, line[1]), at.UnixMilli(), v})
	}

	return out, nil
}

func withName(l labels.Labels, name string) string {
	return labels.NewBuilder(l).Set(labels.MetricName, name).Labels().String()
}

func readOpenMetrics(data []byte) (out []sample, err error) {
	p := textparse.NewOpenMetricsParser(data, labels.NewSymbolTable())
	for {
		e, err := p.Next()
		if errors.Is(err, io.EOF) {
			return out, nil
		}

		if err != nil {
			return nil, err
		}

		if e == textparse.EntrySeries {
			_, at, v := p.Series()
			var l labels.Labels
			p.Labels(&l)
			out = append(out, sample{l.String(), *at, v})
		}
	}
}

func readParquet(data []byte) (out []sample, err error) {
	type row struct {
		Time   time.Time         `parquet:"time,timestamp(millisecond)"`
		Metric string            `parquet:"metric"`
		Labels map[string]string `parquet:"labels"`
		Value  float64           `parquet:"value"`
	}
	rows, err := parquet.Read[row](bytes.NewReader(data), int64(len(data)))
	for _, r := range rows {
		out = append(out, sample{withName(labels.FromMap(r.Labels), r.Metric), r.Time.UnixMilli(), r.Value})
	}
	return out, err
}

// Exported samples read back unchanged, in every format.
func TestRoundTrip(t *testing.T) {
	for format, read := range readers {
		t.Run(string(format), rapid.MakeCheck(func(rt *rapid.T) {
			want := samples(rt)
			var b bytes.Buffer
			sum, err := export.Write(t.Context(), &b, record(t, want), format, export.Options{})
			if err != nil {
				rt.Fatal(err)
			}

			if sum.Samples != int64(len(want)) {
				rt.Errorf("%d samples reported, want %d", sum.Samples, len(want))
			}

			got, err := read(b.Bytes())
			if err != nil {
				rt.Fatalf("%v\n%s", err, b.String())
			}

			equal(rt, got, want)
		}))
	}
}

// equal compares samples, regardless of their order.
func equal(t *rapid.T, got, want []sample) {
	t.Helper()
	type key struct {
		series string
		ms     int64
	}

	values := map[key]float64{}
	for _, s := range want {
		values[key{s.series, s.ms}] = s.value
	}

	if len(got) != len(want) {
		t.Errorf("%d samples, want %d", len(got), len(want))
	}

	for _, s := range got {
		v, ok := values[key{s.series, s.ms}]
		if !ok || math.Float64bits(v) != math.Float64bits(s.value) && v != s.value {
			t.Errorf("%s at %d is %v, want %v (there: %v)", s.series, s.ms, s.value, v, ok)
		}
	}
}

func choose(t *testing.T, match ...string) export.Selection {
	t.Helper()
	sel, err := export.Select(match)
	if err != nil {
		t.Fatal(err)
	}
	return sel
}

func TestMatchAndTime(t *testing.T) {
	all := []sample{
		{`{__name__="reads_total", device="sda"}`, 1_000, 1}, {`{__name__="reads_total", device="sda"}`, 2_000, 2},
		{`{__name__="reads_total", device="sdb"}`, 1_000, 3}, {`{__name__="up"}`, 1_000, 1},
	}
	for name, c := range map[string]struct {
		opt  export.Options
		want []string
	}{
		"a label":    {export.Options{Select: choose(t, `{device="sdb"}`)}, []string{"3"}},
		"either":     {export.Options{Select: choose(t, `{device="sdb"}`, "up")}, []string{"3", "1"}},
		"everything": {export.Options{}, []string{"1", "2", "3", "1"}},
		"from":       {export.Options{From: time.UnixMilli(1_500)}, []string{"2"}},
		"to":         {export.Options{To: time.UnixMilli(1_500), Select: choose(t, `{device="sda"}`)}, []string{"1"}},
	} {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			if _, err := export.Write(t.Context(), &b, record(t, all), export.CSV, c.opt); err != nil {
				t.Fatal(err)
			}

			var got []string
			for line := range strings.Lines(b.String()) {
				if v := line[strings.LastIndexByte(line, ',')+1:]; v != "value\n" {
					got = append(got, strings.TrimSpace(v))
				}
			}

			if strings.Join(got, " ") != strings.Join(c.want, " ") {
				t.Errorf("values %v, want %v", got, c.want)
			}
		})
	}
}

func TestNothing(t *testing.T) {
	m := record(t, []sample{{`{__name__="up"}`, 1_000, 1}})
	for name, opt := range map[string]export.Options{"no such series": {Select: choose(t, "down")}, "no such time": {From: time.UnixMilli(5_000)}} {
		var b bytes.Buffer
		if _, err := export.Write(t.Context(), &b, m, export.OpenMetrics, opt); !errors.Is(err, export.ErrNothing) || b.Len() > 0 {
			t.Errorf("%s: %v, and %d bytes written; want ErrNothing and none", name, err, b.Len())
		}
	}
	if _, err := export.Select([]string{"up{"}); err == nil {
		t.Error("a torn selector was accepted")
	}
}
