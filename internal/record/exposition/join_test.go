package exposition

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
)

// saved returns a file with one page.
func saved(name, text string, at time.Time) source.Source {
	return New(source.File{
		Path: name, Bytes: int64(len(text)), Modified: at,
		Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil },
	}, exporters)
}

// pageAt returns a page of a server after a number of requests.
func pageAt(began, requests int, rest string) string {
	return fmt.Sprintf("process_start_time_seconds %d\nrequests_total %d\nwaits_count %d\nwaits_bucket{le=\"1\"} %d\n%s", began, requests, 2*requests, requests, rest)
}

// Files with one page each from the same server are joined, in the order of its counters. Other files
// are unchanged.
func TestJoined(t *testing.T) {
	minute := func(i int) time.Time { return modified.Add(time.Duration(i) * time.Minute) }
	busy := func(s float64) string {
		return fmt.Sprintf("node_disk_io_time_seconds_total{device=\"sda\"} %g\n", s)
	}
	for name, c := range map[string]struct {
		all    []source.Source
		left   int
		points string // of requests_total, in the first source that remains
	}{
		"saved a minute apart": {[]source.Source{saved("1", pageAt(5, 100, ""), minute(0)), saved("2", pageAt(5, 200, ""), minute(1)), saved("3", pageAt(5, 300, ""), minute(2))}, 1, "2610:100 2670:200 2730:300"},
		"named in no order":    {[]source.Source{saved("10", pageAt(5, 300, ""), minute(2)), saved("1", pageAt(5, 100, ""), minute(0))}, 1, "2610:100 2730:300"},
		"copied":               {[]source.Source{saved("1", pageAt(5, 100, ""), modified), saved("2", pageAt(5, 200, ""), modified)}, 1, "2609:100 2610:200"},
		"copied, with a clock": {[]source.Source{saved("1", pageAt(5, 100, busy(10)), modified), saved("2", pageAt(5, 200, busy(25)), modified)}, 1, "2595:100 2610:200"},
		"with dates":           {[]source.Source{saved("1", "# scraped 1795226400\n"+pageAt(5, 100, ""), modified), saved("2", "# scraped 1795226415\n"+pageAt(5, 200, ""), modified)}, 1, "0:100 15:200"},
		"another process":      {[]source.Source{saved("1", pageAt(5, 100, ""), minute(0)), saved("2", pageAt(6, 200, ""), minute(1))}, 2, "2610:100"},
		"two hosts":            {[]source.Source{saved("1", pageAt(5, 100, "node_uname_info{nodename=\"a\"} 1\n"), minute(0)), saved("2", pageAt(5, 200, "node_uname_info{nodename=\"b\"} 1\n"), minute(1))}, 2, "2610:100"},
		"weeks apart":          {[]source.Source{saved("1", pageAt(5, 100, busy(10)), minute(0)), saved("2", pageAt(5, 200, busy(1e6)), minute(1))}, 2, "2610:100"},
		"two servers":          {[]source.Source{saved("1", pageAt(5, 100, "x_total 7\n"), minute(0)), saved("2", pageAt(5, 200, "x_total 6\n"), minute(1))}, 2, "2610:100"},
		"the same page twice":  {[]source.Source{saved("1", pageAt(5, 100, ""), minute(0)), saved("2", pageAt(5, 100, ""), minute(1))}, 2, "2610:100"},
		"two pages in one":     {[]source.Source{saved("1", pageAt(5, 100, "")+pageAt(5, 150, ""), minute(0)), saved("2", pageAt(5, 200, ""), minute(1))}, 2, "2609:100 2610:150"},
	} {
		Joined(c.all)
		var left []source.Source
		for _, s := range c.all {
			if s != nil {
				left = append(left, s)
			}
		}

		if len(left) != c.left {
			t.Errorf("%s: %d sources are left, want %d", name, len(left), c.left)
			continue
		}

		m := recording.NewMemory(recording.MemoryOptions{})
		if err := left[0].Read(t.Context(), m, source.Options{Location: time.UTC}); err != nil {
			t.Errorf("%s: %v", name, err)
		}

		if got := points(t, m, "requests_total"); got != c.points {
			t.Errorf("%s: %s, want %s", name, got, c.points)
		}
	}
}
