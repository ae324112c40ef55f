package ftdc

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"pgregory.net/rapid"

	"plimsoll/internal/engine/mongodb/ftdctest"
	"plimsoll/internal/record/source"
)

// extremes are values whose differences wrap around.
var extremes = []int64{0, 1, -1, 127, 128, 1 << 14, math.MaxInt32, math.MinInt32, 1<<56 - 1, 1 << 56, 1 << 62, math.MaxInt64, math.MinInt64}

// drawShape draws a document whose values are all zero: int64, bool, Date, Timestamp, nested.
func drawShape(t *rapid.T, depth int) ftdctest.Doc {
	n := rapid.IntRange(0, 6).Draw(t, "fields")
	doc := make(ftdctest.Doc, 0, n)
	for i := range n {
		key := rapid.SampledFrom([]string{"a", "b", "c d", "e.f", "g-h", "g_h", "(usecs)", "disks", "", fmt.Sprint("k", i)}).Draw(t, "key")
		var v any
		switch k := rapid.IntRange(0, 11).Draw(t, "kind"); {
		case k < 5:
			v = int64(0)
		case k == 5:
			v = false
		case k == 6:
			v = ftdctest.Date(0)
		case k == 7:
			v = ftdctest.Timestamp{}
		case k == 8:
			v = "text is no metric"
		case k == 9:
			v = nil
		case depth < 4 && k == 10:
			v = ftdctest.Array{drawShape(t, depth+1), int64(0)}
		case depth < 4:
			v = drawShape(t, depth+1)
		}

		doc = append(doc, ftdctest.Field{Key: key, Value: v})
	}

	return doc
}

// A walk changes the values of a document from sample to sample. Some stay constant for long, so
// that runs of zeros cross the boundaries between metrics.
type walk struct {
	t     *rapid.T
	quiet int // how many out of ten values do not change
}

func (w walk) int64(v int64) int64 {
	if rapid.IntRange(0, 9).Draw(w.t, "change") < w.quiet {
		return v
	}
	switch rapid.IntRange(0, 3).Draw(w.t, "how") {
	case 0:
		return v + rapid.Int64Range(-3, 200).Draw(w.t, "step")
	case 1:
		return rapid.SampledFrom(extremes).Draw(w.t, "extreme")
	case 2:
		return v + rapid.Int64Range(-1<<40, 1<<40).Draw(w.t, "leap")
	}
	return rapid.Int64().Draw(w.t, "any")
}

func (w walk) value(v any) any {
	switch v := v.(type) {
	case int64:
		return w.int64(v)
	case bool:
		return rapid.Bool().Draw(w.t, "bool")
	case ftdctest.Date:
		return ftdctest.Date(w.int64(int64(v)))
	case ftdctest.Timestamp:
		return ftdctest.Timestamp{T: uint32(w.int64(int64(v.T))), I: uint32(w.int64(int64(v.I)))}
	case ftdctest.Doc:
		return w.doc(v)
	case ftdctest.Array:
		out := make(ftdctest.Array, len(v))
		for i, x := range v {
			out[i] = w.value(x)
		}
		return out
	}
	return v
}

func (w walk) doc(d ftdctest.Doc) ftdctest.Doc {
	out := make(ftdctest.Doc, len(d))
	for i, f := range d {
		out[i] = ftdctest.Field{Key: f.Key, Value: w.value(f.Value)}
	}
	return out
}

// drawSamples draws the samples of one schema, one second apart.
func drawSamples(t *rapid.T, from int64) []ftdctest.Doc {
	shape := drawShape(t, 0)
	w := walk{t, rapid.IntRange(0, 10).Draw(t, "quiet")}
	var samples []ftdctest.Doc
	for i := range rapid.IntRange(1, 40).Draw(t, "samples") {
		shape = w.doc(shape)
		start := ftdctest.Field{Key: "start", Value: ftdctest.Date(from + int64(i)*1000)}
		samples = append(samples, append(ftdctest.Doc{start}, shape...))
	}
	return samples
}

// TestExact checks that decoding returns what was encoded, to the last bit, for all kinds of values
// and any number of samples in a chunk.
func TestExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var file bytes.Buffer
		enc := ftdctest.NewEncoder(&file, rapid.IntRange(1, 50).Draw(t, "samples a chunk"))
		var want [][]int64

		from := int64(1_700_000_000_000)
		for range rapid.IntRange(1, 3).Draw(t, "schemas") {
			for _, s := range drawSamples(t, from) {
				values, _ := s.Metrics()
				want = append(want, values)
				if err := enc.Add(s); err != nil {
					t.Fatal(err)
				}
				from += 1000
			}
		}

		if err := enc.Flush(); err != nil {
			t.Fatal(err)
		}

		got := decodeAll(t, file.Bytes())
		if !slices.EqualFunc(got, want, slices.Equal) {
			t.Fatalf("decoded %v, encoded %v", got, want)
		}
	})
}

// decodeAll returns the values of each sample.
func decodeAll(t interface{ Fatal(...any) }, file []byte) (samples [][]int64) {
	s := NewScanner("test", bytes.NewReader(file))
	for {
		c, err := s.Next()
		if errors.Is(err, io.EOF) {
			return samples
		}

		if err != nil {
			t.Fatal(err)
		}

		first := len(samples)
		for range c.Samples() {
			samples = append(samples, make([]int64, 0, c.Schema.Len()))
		}

		for i := range c.Schema.Len() {
			col, err := c.Column(i)
			if err != nil {
				t.Fatal(err)
			}
			for k := first; k < len(samples); k++ {
				samples[k] = append(samples[k], col[min(k-first, len(col)-1)])
			}
		}
	}
}

// Skipping metrics does not change the others: for any set of names, the source gives the same
// series as when all are requested.
func TestWanted(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		var file bytes.Buffer
		enc := ftdctest.NewEncoder(&file, rapid.IntRange(1, 50).Draw(t, "samples a chunk"))
		for _, s := range drawSamples(t, 1_700_000_000_000) {
			if err := enc.Add(s); err != nil {
				t.Fatal(err)
			}
		}

		if err := enc.Flush(); err != nil {
			t.Fatal(err)
		}

		path := filepath.Join(dir, "metrics.x")
		if err := os.WriteFile(path, file.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}

		all := read(t, path, source.Options{})
		mask := rapid.Uint64().Draw(t, "wanted")
		wanted := func(name string) bool { return mask>>(hash(name)%64)&1 != 0 }

		some := read(t, path, source.Options{Want: wanted, Parallel: 2})
		for key, col := range all.series {
			name := all.names[key]
			if got := some.series[key]; wanted(name) && !slices.Equal(got, col) {
				t.Fatalf("%s: %v when some are requested, %v when all are", key, got, col)
			} else if !wanted(name) && got != nil {
				t.Fatalf("%s was not requested", key)
			}
		}

		if len(some.series) > len(all.series) {
			t.Fatal("more series than when all are requested")
		}
	})
}

func hash(s string) (h uint64) {
	for _, c := range []byte(s) {
		h = h*31 + uint64(c)
	}
	return h
}

// TestMetricValue checks the server's conversion of values that are not integers.
func TestMetricValue(t *testing.T) {
	for _, tt := range []struct {
		value any
		want  int64
	}{
		{1.9, 1},
		{-1.9, -1},
		{300.0, 300},
		{math.Inf(1), math.MinInt64},
		{math.NaN(), math.MinInt64},
		{9.3e18, math.MinInt64},
		{-9223372036854775808.0, math.MinInt64},
		{9223372036854774784.0, 9223372036854774784},
		{int32(-5), -5},
		{true, 1},
		{ftdctest.Date(-7), -7},
		{ftdctest.Timestamp{T: 5, I: 9}, 5},
		{bson.NewDecimal128(0x3040<<48, 42), 42},           // 42E0
		{bson.NewDecimal128(0x303E<<48, 425), 42},          // 42.5: the tie goes to even
		{bson.NewDecimal128(0x303E<<48, 435), 44},          // 43.5
		{bson.NewDecimal128(0x303C<<48, 4251), 43},         // 42.51
		{bson.NewDecimal128(0x3044<<48, 42), 4200},         // 42E2
		{bson.NewDecimal128(0xB040<<48, 42), -42},          // sign
		{bson.NewDecimal128(0x3068<<48, 1), math.MinInt64}, // 1E20
		{bson.NewDecimal128(0x7800<<48, 0), math.MinInt64}, // infinity
		{bson.NewDecimal128(0x7C00<<48, 0), math.MinInt64}, // not a number
		{bson.NewDecimal128(0, 5), 0},                      // 5E-6176
	} {
		doc := ftdctest.Doc{{Key: "v", Value: tt.value}}.Marshal()
		e, ok := lookup(doc, "v")
		if !ok || e.integer() != tt.want {
			t.Errorf("%T %v is %d, want %d", tt.value, tt.value, e.integer(), tt.want)
		}
	}
}

// Short and long numbers are read alike by the fast path and the plain one.
func TestUvarint(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.Uint64().Draw(t, "v") >> rapid.IntRange(0, 63).Draw(t, "shift")
		b := appendUvarint(nil, v)
		n := len(b)
		b = append(b, bytes.Repeat([]byte{rapid.Byte().Draw(t, "after")}, deltaPad)...)
		if got, size := uvarint(b); got != v || size != n {
			t.Fatalf("uvarint(%x) = %d, %d; want %d, %d", b, got, size, v, n)
		}
		if n > 1 {
			if got, size := longVarint(b); got != v || size != n {
				t.Fatalf("longVarint(%x) = %d, %d; want %d, %d", b, got, size, v, n)
			}
		}
	})
}

func appendUvarint(b []byte, v uint64) []byte {
	for ; v >= 0x80; v >>= 7 {
		b = append(b, byte(v)|0x80)
	}
	return append(b, byte(v))
}

// TestServerMix checks that the synthetic server's values change as often as a real server's.
func TestServerMix(t *testing.T) {
	var b bytes.Buffer
	server := ftdctest.NewServer(1)
	for range 2 {
		if err := server.Chunk(&b); err != nil {
			t.Fatal(err)
		}
	}

	var columns, constant, deltas, zeros, decreases, gauges, one, two, three, others int
	s := NewScanner("server", &b)
	for {
		c, err := s.Next()
		if errors.Is(err, io.EOF) {
			break
		}

		if err != nil {
			t.Fatal(err)
		}

		for i := range c.Schema.Len() {
			col, err := c.Column(i)
			if err != nil {
				t.Fatal(err)
			}

			if columns++; len(col) == 1 {
				constant++
				continue
			}

			gauge := 0
			for k := 1; k < len(col); k++ {
				deltas++
				switch d := col[k] - col[k-1]; {
				case d == 0:
					zeros++
				case d < 0:
					decreases++
					gauge = 1
				case d < 1<<7:
					one++
				case d < 1<<14:
					two++
				case d < 1<<21:
					three++
				default:
					others++
				}
			}

			gauges += gauge
		}
	}

	changes := deltas - zeros
	for _, m := range []struct {
		what      string
		part, all int
		real      float64 // of the capture the mix was measured on
	}{
		{"constant columns", constant, columns, 0.79},
		{"gauges of the others", gauges, columns - constant, 0.18},
		{"zeros", zeros, deltas, 0.41},
		{"decreases", decreases, changes, 0.07},
		{"deltas of one byte", one, changes, 0.31},
		{"deltas of two bytes", two, changes, 0.37},
		{"deltas of three bytes", three, changes, 0.14},
		{"longer increases", others, changes, 0.10},
	} {
		if got := float64(m.part) / float64(m.all); math.Abs(got-m.real) > 0.05 {
			t.Errorf("%s: %.3f, want %.2f as in a real server", m.what, got, m.real)
		}
	}
}
