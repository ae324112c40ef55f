package promjson_test

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/record/promjson"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
)

func read(t testing.TB, text string, opt source.Options) (*recording.Memory, source.Source, error) {
	t.Helper()
	src := promjson.New(source.File{Path: "response.json", Bytes: int64(len(text)), Open: func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader([]byte(text))), nil
	}})
	m := recording.NewMemory(recording.MemoryOptions{})
	return m, src, src.Read(t.Context(), m, opt)
}

const matrix = `{"status":"success","data":{"resultType":"matrix","result":[
{"metric":{"__name__":"node_disk_io_time_seconds_total","device":"sda"},"values":[[1763712213,"0.06"],[1763712228.5,"10"],[1763712243,"NaN"]]},
{"metric":{"__name__":"node_disk_io_time_seconds_total","device":"sdb"},"values":[[1763712213,"1"],[1763712228.5,"2"],[1763712243,"3"]]},
{"metric":{"__name__":"up"},"values":[[1763712228.5,"1"]]}%s]}}`

// all returns the samples of a metric, one line per series.
func all(t *testing.T, m *recording.Memory, metric string) string {
	t.Helper()
	series, err := m.Samples(t.Context(), recording.MustSelector(metric), time.UnixMilli(0), time.UnixMilli(1<<45))
	if err != nil {
		t.Fatal(err)
	}

	var out []string
	for _, s := range series {
		line := s.Labels.Get("device")
		for _, p := range s.Points {
			line += fmt.Sprintf(" %d:%v", p.T, p.F)
		}
		out = append(out, line)
	}

	slices.Sort(out)
	return strings.Join(out, "\n")
}

// TestMatrix: each series keeps its times and values.
func TestMatrix(t *testing.T) {
	m, src, err := read(t, fmt.Sprintf(matrix, ""), source.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := all(t, m, "node_disk_io_time_seconds_total"); got != "sda 1763712213000:0.06 1763712228500:10\nsdb 1763712213000:1 1763712228500:2 1763712243000:3" {
		t.Errorf("samples:\n%s", got)
	}
	if got := all(t, m, "up"); got != " 1763712228500:1" {
		t.Errorf("up: %s", got)
	}
	if d := src.Describe(); d.Samples != 7 || d.Period != 14500*time.Millisecond || d.To.Unix() != 1763712243 {
		t.Errorf("%+v", d)
	}
}

// TestWindow: a window keeps the samples inside it, unchanged.
func TestWindow(t *testing.T) {
	opt := source.Options{From: time.Unix(1763712220, 0), To: time.Unix(1763712240, 0), Want: func(m string) bool { return m != "up" }}
	m, _, err := read(t, fmt.Sprintf(matrix, ""), opt)
	if err != nil {
		t.Fatal(err)
	}
	if got := all(t, m, "node_disk_io_time_seconds_total"); got != "sda 1763712228500:10\nsdb 1763712228500:2" {
		t.Errorf("samples:\n%s", got)
	}
	if got := all(t, m, "up"); got != "" {
		t.Errorf("up, which is not wanted: %s", got)
	}
}

// TestVector: the response of an instant query has one sample per series.
func TestVector(t *testing.T) {
	m, _, err := read(t, `{"status":"success","data":{"resultType":"vector","result":[{"metric":{"__name__":"up"},"value":[1763712213.1,"1"]}]}}`, source.Options{})
	if got := all(t, m, "up"); err != nil || got != " 1763712213100:1" {
		t.Errorf("%v: %s", err, got)
	}
}

// TestUnnamed: the result of an expression is an error, and a part of one is noted.
func TestUnnamed(t *testing.T) {
	m, _, err := read(t, fmt.Sprintf(matrix, `,{"metric":{"device":"sda"},"values":[[1763712213,"5"]]}`), source.Options{})
	if err != nil || len(m.Notes()) != 1 || !strings.Contains(m.Notes()[0].Text, "1 of 4 series have no metric name") {
		t.Errorf("%v: %+v", err, m.Notes())
	}
}

// TestErrors: errors say what is wrong and what to do.
func TestErrors(t *testing.T) {
	for text, want := range map[string]string{
		`{"status":"error","errorType":"bad_data","error":"parse error"}`:                                                       "parse error",
		`{"status":"success","data":{"resultType":"scalar","result":[1,"1"]}}`:                                                  "want a matrix",
		`{"status":"success","data":{"resultType":"matrix","result":[]}}`:                                                       "no series",
		`{"status":"success","data":{"resultType":"matrix","result":[{"metric":{},"values":[[1,"1"]]}]}}`:                       "query the metrics themselves",
		`{"status":"success","data":{"resultType":"matrix","result":[{"metric":{"__name__":"a"},"values":[[2,"1"],[1,"1"]]}]}}`: "not in ascending order",
		fmt.Sprintf(matrix, "")[:300]: "the JSON ends in the middle",
	} {
		if !promjson.Sniff("", []byte(text)) {
			t.Errorf("%.60s is not recognised", text)
		}
		if _, _, err := read(t, text, source.Options{}); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "response.json") {
			t.Errorf("%.80s: %v, want %q", text, err, want)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(fmt.Sprintf(matrix, ""))
	f.Add(`{"status":"success","data":{"resultType":"vector","result":[{"metric":{"__name__":"up"},"value":[1,"1"]}]}}`)
	f.Fuzz(func(t *testing.T, text string) {
		_, _, _ = read(t, text, source.Options{}) // it returns without a panic
	})
}
