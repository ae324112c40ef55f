package workload

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// testFile opens the files that specifications in tests name.
func testFile(name string) (io.ReadCloser, error) {
	return os.Open(filepath.Join("testdata", filepath.FromSlash(name)))
}

func TestRecorded(t *testing.T) {
	const text = "time,rate\n# a comment\n\n1700000000, 10\n1700000060,0\n1700000120.5,20.25\n"
	got, err := readRecorded(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}

	want := []piece{{60 * time.Second, 10}, {120500 * time.Millisecond, 0}, {181 * time.Second, 20.25}}
	if len(got) != len(want) {
		t.Fatalf("%v", got)
	}

	for i := range want {
		if got[i] != want[i] {
			t.Errorf("piece %d: %v, want %v", i, got[i], want[i])
		}
	}

	for _, tt := range []struct{ text, want string }{
		{"", "0 rates"},
		{"seconds,rate\n0,5\n", "1 rates"},
		{"0,5\n1\n", "line 2: \"1\" is not seconds,rate"},
		{"0,5\nx,6\n", "line 2: \"x\" is not a time"},
		{"0,5\n1,-6\n", "line 2: \"-6\" is not a rate"},
		{"0,5\n1,2e7\n", "line 2: \"2e7\" is not a rate"},
		{"0,5\n1,NaN\n", "line 2: \"NaN\" is not a rate"},
		{"0,5\n0,6\n", "line 2: 0 s comes after 0 s"},
		{"0,5\n1e11,6\n", "a century"},
		{"0,0\n1,0\n", "all rates are 0"},
		{"a,b\nc,d\n0,1\n1,1\n", "line 2: \"c\" is not a time"},
		{"0,5\n" + strings.Repeat("1", 5000), "line 2: longer than"},
	} {
		if _, err := readRecorded(strings.NewReader(tt.text)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%.30q: %v, want %s", tt.text, err, tt.want)
		}
	}
}

// Any file yields an error or rates that can be run.
func FuzzRecorded(f *testing.F) {
	for _, seed := range []string{
		"seconds,rate\n0,100\n60,200\n", "0,1\n0.000000001,1e7\n0.000000002,0\n", "-5,1\n5,2", "1e12,5\n1e12,6", "0,5\n1,nan\n", "#\n,\n", "0x1p4,1\n17,2\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		pieces, err := readRecorded(bytes.NewReader(b))
		if err != nil {
			return
		}

		before := time.Duration(-1)
		for i, p := range pieces {
			if p.until < before || p.until < 0 || !(p.rate >= 0 && p.rate <= RateMax) {
				t.Fatalf("piece %d of %d: %v after %v", i, len(pieces), p, before)
			}
			before = p.until
		}

		when := newArrivals(schedule{pieces: pieces, poisson: len(b)%2 == 0}, 1)
		for range 1000 {
			if _, ok := when.next(); !ok {
				break
			}
		}
	})
}
