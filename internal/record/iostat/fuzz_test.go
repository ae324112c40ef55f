package iostat

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
)

// fuzz reads arbitrary input: no panic, no endless loop, and counters that never fall within a run.
func fuzz(t *testing.T, text []byte) {
	m, _, err := read(t, "fuzz.log", text, source.Options{})
	if err != nil {
		return
	}

	series, err := m.Samples(context.Background(), recording.MustSelector(`{__name__=~"(node|sysstat)_.+"}`), time.UnixMilli(math.MinInt32), time.UnixMilli(1<<45))
	if err != nil {
		t.Fatal(err)
	}

	for _, s := range series {
		for i, p := range s.Points {
			if p.F < 0 || math.IsInf(p.F, 0) {
				t.Fatalf("%s sample %d is %v", s.Labels, i, p.F)
			}
		}
	}
}

func seeds(f *testing.F, pattern string) {
	paths, err := filepath.Glob(pattern)
	if err != nil || len(paths) == 0 {
		f.Fatalf("no seeds %s: %v", pattern, err)
	}
	for _, p := range paths {
		text, err := os.ReadFile(p)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
		f.Add(text[:len(text)*2/3])
	}
}

func FuzzText(f *testing.F) {
	seeds(f, "testdata/*.log")
	seeds(f, "testdata/sar/*")
	f.Add([]byte(old))
	f.Add(xlog(banner, stamps, sda, sda+sdb, sdb))
	f.Fuzz(func(t *testing.T, text []byte) {
		if !isJSON(text) {
			fuzz(t, text)
		}
	})
}

func FuzzJSON(f *testing.F) {
	seeds(f, "testdata/*.json")
	f.Add([]byte(`{"sysstat":{"hosts":[{"statistics":[{"disk":[{"disk_device":"a","w/s":1e300}]},{"disk":[{"disk_device":"a","w/s":1,"w_await":-1}]}]}]}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if isJSON(text) {
			fuzz(t, text)
		}
	})
}
