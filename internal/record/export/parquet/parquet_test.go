package parquet_test

import (
	"bytes"
	"errors"
	"maps"
	"math"
	"slices"
	"testing"

	reader "github.com/parquet-go/parquet-go"
	"pgregory.net/rapid"

	"plimsoll/internal/record/export/parquet"
)

type row struct {
	Time   int64             `parquet:"time,timestamp(millisecond)"`
	Name   string            `parquet:"name"`
	Labels map[string]string `parquet:"labels"`
	Value  float64           `parquet:"value"`
}

// rows draws rows so that runs, packed numbers and wide differences alternate.
func rows(t *rapid.T) (out []row) {
	text := rapid.OneOf(rapid.SampledFrom([]string{"", "a", "b", "µ"}), rapid.String())
	for range rapid.IntRange(0, 12).Draw(t, "stretches") {
		r := row{rapid.Int64().Draw(t, "time"), text.Draw(t, "name"), rapid.MapOfN(text, text, 0, 3).Draw(t, "labels"), rapid.Float64().Draw(t, "value")}
		step := rapid.SampledFrom([]int64{0, 1, 1_000, 1 << 40}).Draw(t, "step")
		for i := range rapid.IntRange(1, 300).Draw(t, "long") {
			r.Time += step + int64(i%3)
			out = append(out, r)
		}
	}
	return out
}

// write writes a file, with a new group after each batch of rows.
func write(t rapid.TB, all []row, group int) []byte {
	t.Helper()
	times, names, labels, values := parquet.NewTimes("time"), parquet.NewTexts("name"), parquet.NewMaps("labels"), parquet.NewDoubles("value")
	var b bytes.Buffer

	w, err := parquet.New(&b, times, names, labels, values)
	if err != nil {
		t.Fatal(err)
	}

	for i, r := range all {
		times.Add(r.Time)
		names.Add(r.Name)

		var pairs []string
		for _, k := range slices.Sorted(maps.Keys(r.Labels)) {
			pairs = append(pairs, k, r.Labels[k])
		}

		labels.Add(pairs...)
		values.Add(r.Value)
		if (i+1)%group == 0 {
			if err := w.Group(); err != nil {
				t.Fatal(err)
			}
		}
	}

	if err := w.Close(); err != nil {
		t.Fatal(err)
	}

	return b.Bytes()
}

// An independent reader finds the rows unchanged.
func TestRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rows(t)
		data := write(t, want, rapid.IntRange(1, 2_000).Draw(t, "group"))
		got, err := reader.Read[row](bytes.NewReader(data), int64(len(data)))
		if err != nil {
			t.Fatal(err)
		}

		if len(got) != len(want) {
			t.Fatalf("%d rows, want %d", len(got), len(want))
		}

		for i, g := range got {
			w := want[i]
			if g.Time != w.Time || g.Name != w.Name || math.Float64bits(g.Value) != math.Float64bits(w.Value) || !maps.Equal(g.Labels, w.Labels) {
				t.Fatalf("row %d is %+v, want %+v", i, g, w)
			}
		}
	})
}

// A group's bounds let a reader skip it.
func TestBounds(t *testing.T) {
	data := write(t, []row{{Time: 5, Name: "b"}, {Time: -3, Name: "c"}, {Time: 9, Name: "a"}, {Time: 8, Name: "a"}}, 2)
	f, err := reader.OpenFile(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}

	var got []string
	for _, g := range f.Metadata().RowGroups {
		for _, c := range []int{0, 1} {
			s := g.Columns[c].MetaData.Statistics
			got = append(got, string(s.MinValue), string(s.MaxValue))
		}
	}

	least, most := "\xfd\xff\xff\xff\xff\xff\xff\xff", "\x05\x00\x00\x00\x00\x00\x00\x00"
	want := []string{least, most, "b", "c", "\x08\x00\x00\x00\x00\x00\x00\x00", "\x09\x00\x00\x00\x00\x00\x00\x00", "a", "a"}
	if !slices.Equal(got, want) {
		t.Errorf("bounds %q, want %q", got, want)
	}
}

func TestErrors(t *testing.T) {
	if _, err := parquet.New(nil); err == nil {
		t.Error("a file without columns was begun")
	}

	times, values := parquet.NewTimes("time"), parquet.NewDoubles("value")
	w, err := parquet.New(failing{}, times, values)
	if err != nil {
		t.Fatal(err)
	}

	times.Add(1)
	if err := w.Close(); err == nil || errors.Is(err, errFull) {
		t.Errorf("columns of different lengths: %v", err)
	}

	values.Add(1)
	if err := w.Close(); !errors.Is(err, errFull) {
		t.Errorf("%v, want the writer's error", err)
	}
}

var errFull = errors.New("no room")

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errFull }
