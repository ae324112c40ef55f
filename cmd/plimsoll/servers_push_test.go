package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/klauspost/compress/s2"
	"github.com/prometheus/prometheus/prompb"
)

// Two servers whose pages have the same series are pushed as two. A receiver that gets one series twice
// keeps neither completely.
func TestPushedServersAreToldApart(t *testing.T) {
	var mu sync.Mutex
	seen := map[string]map[int64]int{} // instance, time: samples
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		raw, err := s2.Decode(nil, body)
		var m prompb.WriteRequest

		if err == nil {
			err = m.Unmarshal(raw)
		}

		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}

		mu.Lock()
		defer mu.Unlock()

		for _, ts := range m.Timeseries {
			of := ""
			for _, l := range ts.Labels {
				if l.Name == "instance" {
					of = l.Value
				}
			}

			if seen[of] == nil {
				seen[of] = map[int64]int{}
			}

			for _, s := range ts.Samples {
				seen[of][s.Timestamp]++
			}
		}
	}))

	defer receiver.Close()

	dir := t.TempDir()
	var args []string
	for i, name := range []string{"a.prom", "b.prom"} {
		var page strings.Builder
		for k := range 60 {
			fmt.Fprintf(&page, "pg_stat_database_xact_commit{datname=\"shop\"} %d %d\n", 1000*i+k*(100+i), 1_790_000_000_000+int64(k)*1000)
		}
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte("# TYPE pg_stat_database_xact_commit counter\n"+page.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, file)
	}

	for _, order := range [][]string{args, {args[1], args[0]}} {
		clear(seen)
		a, _, stderr := testApp(append([]string{"record", "--remote-write", receiver.URL}, order...)...)
		if code := a.run(t.Context()); code != exitFine {
			t.Fatalf("exit code %d: %s", code, stderr)
		}

		var names []string
		for name, at := range seen {
			names = append(names, name)
			for ms, n := range at {
				if n != 1 {
					t.Errorf("%q has %d samples at %d", name, n, ms)
				}
			}
			if len(at) != 60 {
				t.Errorf("%q has samples of %d moments", name, len(at))
			}
		}

		slices.Sort(names)
		if !slices.Equal(names, []string{"a.prom", "b.prom"}) {
			t.Errorf("pushed as %q", names)
		}
	}
}
