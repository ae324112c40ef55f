package text

import (
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"plimsoll/internal/present/document"
)

// lined is a timeline of 40 s with one series.
func lined(title, unit string, values ...float64) *document.Timeline {
	return &document.Timeline{ToS: 40, From: "15:00:00", To: "15:00:40",
		Charts: []document.Chart{
			{
				Title:  title,
				Unit:   unit,
				StepS:  40 / float64(len(values)),
				Series: []document.Series{{Values: values}},
			},
		}}
}

// A row is a series from zero to its maximum. A slot without a measurement is blank; a zero is not.
func TestPlot(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		name  string
		t     *document.Timeline
		width int
		ascii bool
		want  string
	}{
		{"ramp", lined("latency", "seconds", 0, 1, 2, 3, 4, 5, 6, 7), 57, false, `

  latency  ▁▁▁▂▂▂▂▃▃▃▄▄▄▄▅▅▅▆▆▆▆▇▇▇████  max 7.00 s
           15:00:00            15:00:40  1.43 s/column
`},
		{"ramp in ASCII", lined("latency", "seconds", 0, 1, 2, 3, 4, 5, 6, 7), 57, true, `

  latency  ___....:::----===++++***####  max 7.00 s
           15:00:00            15:00:40  1.43 s/column
`},
		{"holes", lined("latency", "seconds", nan, 0, inf, 7), 57, false, `

  latency         ▁▁▁▁▁▁▁       ███████  max 7.00 s
           15:00:00            15:00:40  1.43 s/column
`},
		{"nothing measured", lined("latency", "seconds", nan, nan), 57, false, `

  latency                                not measured
           15:00:00            15:00:40  1.43 s/column
`},
		{"only zero", lined("writes", "1/s", 0, 0, 0), 57, false, `

  writes  ▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁  max 0/s
          15:00:00             15:00:40  1.38 s/column
`},
		{"below zero", lined("drift", "seconds", -1, -2, -0.5), 57, false, `

  drift  ▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁  max -500 ms
         15:00:00              15:00:40  1.33 s/column
`},
		// A share above a half is drawn against the whole, a smaller one against its maximum.
		{"high share", lined("busy", "ratio", 0.6, 0.3), 57, false, `

  busy  ▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃  max 60 %
        15:00:00               15:00:40  1.29 s/column
`},
		{"low share", lined("busy", "ratio", 0.2, 0.1), 57, false, `

  busy  ████████████████▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅  max 20 %
        15:00:00               15:00:40  1.29 s/column
`},
		{"flag", lined("checkpoint", "", 0, 1, 0, nan), 57, false, `

  checkpoint  ▁▁▁▁▁▁███████▁▁▁▁▁▁
              15:00:00         15:00:40  1.60 s/column
`},
		{"count", lined("waiting", "", 0, 2, 0), 57, false, `

  waiting  ▁▁▁▁▁▁▁▁▁██████████▁▁▁▁▁▁▁▁▁  max 2.00
           15:00:00            15:00:40  1.43 s/column
`},
		{"long name", lined("time in the longest fdatasync of the log", "seconds", 1, 2), 70, false, `

  time in the longest fdat…  ▅▅▅▅▅▅▅▅▅▅▅████████████  max 2.00 s
                             15:00:00       15:00:40  1.74 s/column
`},
	} {
		t.Run(c.name, func(t *testing.T) {
			draws(t, page{width: c.width, ascii: c.ascii}, func(p *page) { p.timeline(c.t) }, c.want)
		})
	}
}

// Without room for ten slots, or without time, there is no plot: a shape would be invented.
func TestPlotNeedsRoom(t *testing.T) {
	name := strings.Repeat("n", nameColumns)
	for width, drawn := range map[int]bool{
		2 + nameColumns + 2 + 9 + 2 + mostColumns:  false,
		2 + nameColumns + 2 + 10 + 2 + mostColumns: true,
	} {
		p := page{width: width}
		p.timeline(lined(name, "seconds", 1))
		if got := p.out.Len() > 0; got != drawn {
			t.Errorf("%d columns: drawn is %v", width, got)
		}
	}
	for _, to := range []float64{0, -1, math.NaN()} {
		line := lined("a", "seconds", 1)
		line.ToS = to
		p := page{width: 80}
		if p.timeline(line); p.out.Len() > 0 {
			t.Errorf("a timeline from 0 to %v:\n%s", to, p.out.String())
		}
	}
}

// Bands are drawn above the series, except stalls, which the series show. However short a band is, it has a
// mark; the part of a band outside the time is not drawn.
func TestBands(t *testing.T) {
	line := lined("latency", "seconds", 1, 2, 3, 4)
	line.Bands = []document.Band{{Kind: "stall", Name: "stalled", Spans: [][2]float64{{0, 40}}},
		{
			Kind:  "checkpoint",
			Name:  "checkpoint",
			Spans: [][2]float64{{4, 8}, {20.001, 20.002}, {39.9999, 60}},
		}}
	draws(t, page{width: 70}, func(p *page) { p.timeline(line) }, `

  checkpoint     ━━━━━           ━                 ━
  latency     ▃▃▃▃▃▃▃▃▃▅▅▅▅▅▅▅▅▅▅▆▆▆▆▆▆▆▆▆██████████  max 4.00 s
              15:00:00                      15:00:40  1.05 s/column
`)
	draws(t, page{width: 70, ascii: true}, func(p *page) { p.timeline(line) }, `

  checkpoint     =====           =                 =
  latency     :::::::::==========+++++++++##########  max 4.00 s
              15:00:00                      15:00:40  1.05 s/column
`)
}

// A series of latencies is drawn on a logarithmic axis. Only the first is, because a terminal has few rows.
func TestTallPlot(t *testing.T) {
	line := lined("write p99", "seconds", 0.001, 0.01, 0.1, 1, math.NaN(), 0, 0.003, 0.05)
	line.Charts[0].Log = true
	line.Charts = append(line.Charts, line.Charts[0])
	line.Charts[1].Title = "slowest write"
	draws(t, page{width: 57}, func(p *page) { p.timeline(line) }, `

  write p99    1 s         ███           max 1.00 s
            100 ms         ███
                        ▆▆▆███
                        ██████      ███
             10 ms    ▃▃██████      ███
                      ████████    ▁▁███
              1 ms  ▁▁████████    █████
  slowest write     ▁▁▁▁▂▂▂███ ▁▁▁▁▁▁▁▁  max 1.00 s
                    15:00:00   15:00:40  2.11 s/column
`)

	same := lined("write p99", "seconds", 0.01, 0.01)
	same.Charts[0].Log = true
	draws(t, page{width: 57, ascii: true}, func(p *page) { p.timeline(same) }, `

  write p99 100 ms                       max 10.0 ms





             10 ms  ...................
                    15:00:00   15:00:40  2.11 s/column
`)

	none := lined("write p99", "seconds", 0, math.NaN())
	none.Charts[0].Log = true
	draws(t, page{width: 57}, func(p *page) { p.timeline(none) }, `

  write p99         ▁▁▁▁▁▁▁▁▁▁           max 0 s
                    15:00:00   15:00:40  2.11 s/column
`)
}

// Nine series are drawn; the others are for a verbose page.
func TestManySeries(t *testing.T) {
	line := lined("volume", "ratio", 1)
	for _, name := range []string{"b", "c", "d", "e", "f", "g", "h", "i", "j"} {
		line.Charts[0].Series = append(line.Charts[0].Series, document.Series{Name: name, Values: []float64{0.5}})
	}
	for verbose, want := range map[bool]int{false: rowsMax, true: 10} {
		p := page{width: 80, verbose: verbose}
		p.timeline(line)
		if got := strings.Count(p.out.String(), "volume, "); got != want || p.shortened == verbose {
			t.Errorf("verbose %v: %d rows, shortened %v", verbose, got, p.shortened)
		}
	}
}

// A moment of change at either end, or outside the time, is a mark in the first or last slot.
func TestMarksAtTheEnds(t *testing.T) {
	line := lined("latency", "seconds", 1, 2, 3, 4)
	line.Marks = []document.Mark{
		{AtS: -5, Clock: "14:59:55", Text: "before"},
		{AtS: 20, Clock: "15:00:20", Text: "IOPS raised to 6,000 for the volume of the data"},
		{AtS: 40, Clock: "15:00:40", Text: "end"},
	}
	draws(t, page{width: 60, ascii: true}, func(p *page) { p.timeline(line) }, `

  latency       ::::::=======++++++#######  max 4.00 s
  changed here  ^            ^           ^
                14:59:55 before
                15:00:20 IOPS raised to 6~
                15:00:40 end
                15:00:00          15:00:40  1.54 s/column
`)
}

// Every row of a plot has as many slots as the page has room for, whatever the values and bands are.
func TestPlotFits(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		line := lined(
			"latency",
			rapid.SampledFrom([]string{"seconds", "bytes", "ratio", ""}).Draw(r, "unit"),
			rapid.SliceOfN(rapid.Float64(), 1, 50).Draw(r, "values")...)
		line.Charts[0].Log = rapid.Bool().Draw(r, "log")
		line.Bands = []document.Band{
			{
				Name:  "checkpoint",
				Spans: [][2]float64{{rapid.Float64().Draw(r, "from"), rapid.Float64().Draw(r, "to")}},
			},
		}
		line.Marks = []document.Mark{{AtS: rapid.Float64().Draw(r, "mark")}}
		width := rapid.IntRange(40, 200).Draw(r, "width")
		p := &page{width: width}
		p.timeline(line)
		for l := range strings.Lines(p.out.String()) {
			if got := utf8.RuneCountInString(strings.TrimSuffix(l, "\n")); got > width {
				r.Fatalf("a line of %d characters on a page of %d: %q", got, width, l)
			}
		}
	})
}
