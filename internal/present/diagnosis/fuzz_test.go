package diagnosis

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/present/text"
)

// For any report, the text fits its lines and contains no control characters, and the JSON is unchanged
// after being read back.
func FuzzReport(f *testing.F) {
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) == 0 {
		f.Fatalf("no seeds: %v", err)
	}

	for _, file := range files {
		out, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(out, 80, false)
		f.Add(out, 45, true)
	}

	f.Add([]byte(`{"span":{"from":"0001-01-01T00:00:00Z","to":"9999-12-31T23:59:59Z"},"timeline":[{"step_seconds":1e300,"from":"2026-01-01T00:00:00Z","values":[1e308,-1e308,null]}]}`), 0, false)
	f.Fuzz(func(t *testing.T, data []byte, width int, other bool) {
		var r diagnose.Report
		if json.Unmarshal(data, &r) != nil {
			return
		}

		points := 0
		for _, tr := range r.Timeline {
			points += len(tr.Values)
		}

		if points > 10_000 || width > 1000 {
			return
		}

		opt := text.Options{Width: width, ASCII: other, Color: other, Verbose: other}
		out := render(t, &r, opt)
		checkCharacters(t, "fuzzed", out, opt)

		for line := range strings.Lines(out) {
			limit := max(width, 40)
			if width == 0 {
				limit = 80
			}
			if n := columns(strings.TrimSuffix(line, "\n")); n > limit {
				t.Errorf("a line of %d columns on a page of %d: %q", n, limit, line)
			}
		}

		first := renderJSON(t, &r)
		var back diagnose.Report
		if err := json.Unmarshal([]byte(first), &back); err != nil {
			t.Fatal(err)
		}

		if second := renderJSON(t, &back); second != first {
			t.Errorf("read back it is written differently:\n%s\n%s", first, second)
		}
	})
}
