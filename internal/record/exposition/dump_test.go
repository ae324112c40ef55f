package exposition

import (
	"fmt"
	"strings"
	"testing"

	"plimsoll/internal/record/source"
)

// A dump has one series after another. It gives the same samples as the pages that it was made from.
// Times are in milliseconds (promtool tsdb dump) or seconds (dump-openmetrics), and no TYPE line says
// which.
func TestDump(t *testing.T) {
	const s = 1795226400 // 2026-11-21 02:00:00 UTC
	names := map[string]string{`writes{device="sda"}`: `{__name__="writes", device="sda"}`, `dirty`: `{__name__="dirty"}`, `http.time`: `{__name__="http.time"}`}

	var open, own strings.Builder
	for _, name := range []string{`writes{device="sda"}`, `dirty`, `http.time`} {
		plain := name
		if name == "http.time" {
			plain = `{"http.time"}`
		}
		for i := range 4 {
			fmt.Fprintf(&open, "%s %d %d.25\n", plain, 100*i+7, s+10*i)
			fmt.Fprintf(&own, "%s %d %d250\n", names[name], 100*i+7, s+10*i)
		}
	}

	for kind, text := range map[string]string{"dump-openmetrics": open.String() + "# EOF\n", "without an end": open.String(), "dump": own.String()} {
		m, d, err := readText(t, text, source.Options{})
		if err != nil {
			t.Errorf("%s: %v", kind, err)
			continue
		}

		for _, name := range []string{`writes{device="sda"}`, `dirty`, `{"http.time"}`} {
			if got, want := points(t, m, name), "0.25:7 10.25:107 20.25:207 30.25:307"; got != want {
				t.Errorf("%s: %s is %s, want %s", kind, name, got, want)
			}
		}

		if d.Samples != 4 || d.Period.Seconds() != 10 {
			t.Errorf("%s: %d samples %s apart, want 4 every 10s", kind, d.Samples, d.Period)
		}

		if n := m.Notes(); len(n) != 0 {
			t.Errorf("%s: notes %v", kind, n)
		}
	}
}

// A dump is read in pieces, and no sample is lost between them.
func TestLongDump(t *testing.T) {
	var text strings.Builder
	const samples = 60_000
	for i := range samples {
		fmt.Fprintf(&text, "node_memory_Dirty_bytes{instance=\"db-1:9100\"} %d %d\n", i, 1795226400+i)
	}

	if text.Len() < 3*dumpPageBytes {
		t.Fatal("the dump is too short to be cut")
	}

	m, _, err := readText(t, text.String(), source.Options{})
	if err != nil {
		t.Fatal(err)
	}

	if got := strings.Count(points(t, m, "node_memory_Dirty_bytes"), ":"); got != samples {
		t.Errorf("%d of %d samples", got, samples)
	}
}

// Pages from files that were joined in the wrong order are read in order of time. Pages that overlap in
// time are from several servers, and keep their order.
func TestPagesInAnotherOrder(t *testing.T) {
	pages := func(server string, seconds ...int) string {
		var text strings.Builder
		for _, s := range seconds {
			fmt.Fprintf(&text, "# scraped %d\nwrites_total{server=%q} %d\n", 1795226400+s, server, s)
		}
		return text.String()
	}
	for name, c := range map[string]struct{ text, a, b string }{
		"in order":         {pages("a", 1, 2, 3, 4), "1:1 2:2 3:3 4:4", ""},
		"second half last": {pages("a", 3, 4, 5, 1, 2), "1:1 2:2 3:3 4:4 5:5", ""},
		"three parts":      {pages("a", 5, 6, 1, 2, 3, 4), "1:1 2:2 3:3 4:4 5:5 6:6", ""},
		"two servers":      {pages("a", 1, 2, 3) + pages("b", 1, 2, 3), "1:1 2:2 3:3", "1:1 2:2 3:3"},
	} {
		m, _, err := readText(t, c.text, source.Options{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if a, b := points(t, m, `writes_total{server="a"}`), points(t, m, `writes_total{server="b"}`); a != c.a || b != c.b {
			t.Errorf("%s: a is %s, b is %s", name, a, b)
		}
		if n := m.Notes(); len(n) != 0 {
			t.Errorf("%s: notes %v", name, n)
		}
	}
}
