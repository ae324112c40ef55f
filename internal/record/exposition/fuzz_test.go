package exposition

import (
	"context"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
)

// TestWhateverIsWrittenIsRead: pages written by a loop read back value for value.
func TestWhateverIsWrittenIsRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfNDistinct(rapid.StringMatching(`[a-z]{2,6}_[a-z]{1,8}`), 1, 6, rapid.ID[string]).Draw(t, "names")
		n := rapid.IntRange(1, 8).Draw(t, "pages")
		var text strings.Builder

		want := make([][]float64, len(names))
		for i := range n {
			fmt.Fprintf(&text, "# scraped %d\n", 1795226400+i)
			for k, name := range names {
				v := rapid.Float64().Draw(t, "v")
				fmt.Fprintf(&text, "%s{k=\"a \\\"} b\"} %v\n", name, v)
				want[k] = append(want[k], v)
			}
			if i%2 == 1 {
				text.WriteString("# EOF\n")
			}
		}

		src := New(source.File{Path: "x", Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text.String())), nil }}, nil)
		m := recording.NewMemory(recording.MemoryOptions{})
		if err := src.Read(context.Background(), m, source.Options{Location: time.UTC}); err != nil {
			t.Fatalf("%v in\n%s", err, text.String())
		}

		for k, name := range names {
			series, err := m.Samples(context.Background(), recording.MustSelector(name), time.Unix(0, 0), time.Unix(1<<33, 0))
			if err != nil || len(series) != 1 || len(series[0].Points) != n {
				t.Fatalf("%s: %v, error %v; want %d samples of\n%s", name, series, err, n, text.String())
			}
			for i, p := range series[0].Points {
				if p.T != int64(1795226400+i)*1000 || math.Float64bits(p.F) != math.Float64bits(want[k][i]) {
					t.Fatalf("%s sample %d: %v, want %v", name, i, p, want[k][i])
				}
			}
		}
	})
}

// FuzzFile reads arbitrary input: no panic, no endless loop, and only values that are in the file.
func FuzzFile(f *testing.F) {
	f.Add(page1(7) + page1(8))
	f.Add("# scraped 1795226405\n" + page1(7) + "# EOF\n# scraped 1795226406\n" + page1(8) + "# EOF\n")
	f.Add("a 1 1795226405000\na 2 1795226406000\nb{x=\"y\"} NaN\n")
	f.Add("# TYPE a histogram\na_bucket{le=\"1\"} 1 # {id=\"x\"} 0.5\na_count 1\n# EOF\n")
	f.Add("a{b=\"\\")
	f.Add("Sat Nov 21 02:00:05 UTC 2026\n\xff\xfe\n{\"a b\",c=\"d\"} 1\n")
	f.Fuzz(func(t *testing.T, text string) {
		m, d, err := readText(t, text, source.Options{})
		if err != nil {
			return
		}
		if _, err := m.Metrics(context.Background()); err != nil {
			t.Fatal(err)
		}
		if d.Samples < 0 || d.To.Before(d.From) {
			t.Fatalf("described as %+v", d)
		}
	})
}

// FuzzPage reads an arbitrary response of an exporter, with any content type: no panic, and each value
// once.
func FuzzPage(f *testing.F) {
	for _, kind := range []string{"", "text/plain", openMetricsType, "application/json", "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited", "\x00"} {
		f.Add(page1(7), kind)
		f.Add("a 1 9223372036854775807\na 2 -9223372036854775808\na 3\n# EOF\n", kind)
	}
	f.Fuzz(func(t *testing.T, text, kind string) {
		p := newParser(nil, nil)
		for range 2 {
			samples, _ := p.parse([]byte(text), kind)
			n := 0
			for _, b := range batches(samples, 1) {
				n += len(b.Columns)
			}
			if n != len(samples) {
				t.Fatalf("%d samples are %d values", len(samples), n)
			}
		}
	})
}
