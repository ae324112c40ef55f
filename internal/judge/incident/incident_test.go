package incident

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"plimsoll/internal/record/timeline"
)

// A script draws detectors line by line, the leading one first: # is a stalled cell, ~ one that is
// still slow, . a calm one. Lines that begin with ? are conditions. The result draws each group on a
// separate line.
func TestGroups(t *testing.T) {
	datadriven.RunTest(t, "testdata/groups", func(t *testing.T, d *datadriven.TestData) string {
		o := Options{Gap: 1, Slow: 3, Near: 20, Substantial: 8}
		d.MaybeScanArgs(t, "near", &o.Near)
		var sources []Source
		var conditions []timeline.Mask

		long := 0
		for line := range strings.Lines(d.Input) {
			long = max(long, len(strings.TrimSpace(line)))
		}

		for line := range strings.Lines(d.Input) {
			line = strings.TrimSpace(line) + strings.Repeat(".", long)
			line = line[:long]
			if rest, ok := strings.CutPrefix(line, "?."); ok {
				conditions = append(conditions, drawn(rest+"..", "#"))
				continue
			}
			s := Source{Stalled: drawn(line, "#"), Slow: drawn(line, "#~"), Harm: make([]float64, len(line))}
			for k := range s.Harm {
				s.Harm[k] = 1
			}
			sources = append(sources, s)
		}

		events := Events(sources, o)
		Measure(events, conditions, nil)

		var b strings.Builder
		for i, g := range Groups(events, o) {
			fmt.Fprintf(&b, "%d: led by %d, %d events", i+1, g.Lead()+1, len(g.Events))
			if g.Period > 0 {
				fmt.Fprintf(&b, ", every %.0f", g.Period)
			}
			b.WriteByte('\n')
			for _, k := range g.Sources() {
				fmt.Fprintf(&b, "   %s\n", picture(g.Cells(k, sources[k].Stalled)))
			}
		}

		return b.String()
	})
}

func drawn(line, marks string) timeline.Mask {
	m := make(timeline.Mask, len(line))
	for i := range line {
		m[i] = strings.IndexByte(marks, line[i]) >= 0
	}
	return m
}

func picture(m timeline.Mask) string {
	b := []byte(strings.Repeat(".", len(m)))
	for i, on := range m {
		if on {
			b[i] = '#'
		}
	}
	return string(b)
}

// Devices that saturate at very different rates are not reported as one.
func TestLevelsApart(t *testing.T) {
	stalled := drawn("####......####......####......####", "#")
	level := make([]float64, len(stalled))
	for k := range level {
		level[k] = 3000
		if k > 15 {
			level[k] = 200
		}
	}

	s := Source{Stalled: stalled, Harm: make([]float64, len(stalled))}
	o := Options{Gap: 1, Near: 20, Substantial: 8}
	events := Events([]Source{s}, o)
	Measure(events, []timeline.Mask{make(timeline.Mask, len(stalled))}, level)

	if got := Groups(events, o); len(got) != 2 {
		t.Errorf("%d groups, want 2: one at 3,000 requests a second, one at 200", len(got))
	}
}
