package csvtable

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
)

func read(t *testing.T, text string) (*recording.Memory, recording.Source, error) {
	t.Helper()
	src := New(source.File{Path: "t.csv", Bytes: int64(len(text)),
		Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil }})
	m := recording.NewMemory(recording.MemoryOptions{})
	err := src.Read(t.Context(), m, source.Options{Location: time.UTC})
	return m, src.Describe(), err
}

// TestForms: the forms of Grafana's export give the same series.
func TestForms(t *testing.T) {
	const series = `node_disk_io_time_seconds_total{device=""sda"", instance=""db:9100""}`
	for name, text := range map[string]string{
		"a column per series": `"Time","` + series + `","write latency"` + "\n2026-01-05 10:00:00,130.5,2 ms\n2026-01-05 10:00:15,140,3 ms\n",
		"milliseconds":        "sep=,\n\"Time\",\"" + series + "\"\n1767607200000,130.5\n1767607215000,140\n",
		"a line per value":    `"Series";"Time";"Value"` + "\n\"" + series + "\";\"2026-01-05T10:00:00+00:00\";130.5\n\"" + series + "\";\"2026-01-05T10:00:15+00:00\";140\n",
		"__name__":            `Time,"{__name__=""node_disk_io_time_seconds_total"", device=""sda"", instance=""db:9100""}"` + "\n1767607200,130.5\n1767607215,140\n",
	} {
		t.Run(name, func(t *testing.T) {
			if !Sniff([]byte(text)) {
				t.Fatal("not recognised")
			}
			m, d, err := read(t, text)
			if err != nil {
				t.Fatal(err)
			}
			got, err := m.Samples(t.Context(), recording.MustSelector(`node_disk_io_time_seconds_total{device="sda",instance="db:9100"}`),
				time.Unix(1767607200, 0), time.Unix(1767607300, 0))
			if err != nil || len(got) != 1 || len(got[0].Points) != 2 || got[0].Points[0].F != 130.5 ||
				got[0].Points[1].T-got[0].Points[0].T != 15_000 {
				t.Errorf("%v %v", got, err)
			}
			if d.Period != 15*time.Second || d.Samples != 2 {
				t.Errorf("%+v", d)
			}
		})
	}
}

// TestLegends: columns with a legend get their names from it, without guessing.
func TestLegends(t *testing.T) {
	const legends = "Time,write latency,cpu\n1767607200,1 ms,2\n"
	if Sniff([]byte(legends)) {
		t.Error("legends are not metrics")
	}
	_, _, err := read(t, legends)
	if err == nil || !strings.Contains(err.Error(), `"write latency", "cpu"`) {
		t.Error(err)
	}
	m, _, err := read(t, "timestamp,cpu,node_disk_io_time_seconds_total\n1763712213,1,2\n")
	if err != nil || len(m.Notes()) != 1 || !strings.Contains(m.Notes()[0].Text, `"cpu"`) {
		t.Error(m.Notes(), err)
	}

	// In the older format, each line has a legend.
	const older = "Series;Time;Value\na_b;1767607200;1\nwrite latency;1767607200;2\nwrite latency;1767607215;3\n"
	m, _, err = read(t, older)
	if err != nil || len(m.Notes()) != 1 || !strings.Contains(m.Notes()[0].Text, `1 series that are not named after a metric: "write latency"`) {
		t.Error(m.Notes(), err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte("Time,a_b\n1767607200,1\n"))
	f.Add([]byte("\"Series\";\"Time\";\"Value\"\na_b;1767607200000;\"1\n"))
	f.Add([]byte("sep=;\nTime;{__name__=\"a\"}\n2026-01-05 10:00:00;NaN\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		src := New(source.File{Path: "t.csv", Open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(text)), nil }})
		m := recording.NewMemory(recording.MemoryOptions{})
		_ = src.Read(t.Context(), m, source.Options{Location: time.UTC})
	})
}
