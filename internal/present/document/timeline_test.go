package document

import (
	"math"
	"strings"
	"testing"
	"time"
)

func unix(text string) float64 {
	at, err := time.Parse(time.DateTime, text)
	if err != nil {
		panic(err)
	}
	return float64(at.Unix())
}

// Clock times are of the report's zone, also across a change to summer time.
func TestClockSeconds(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	for in, want := range map[string]string{
		"2026-03-29T00:59:59Z": "01:59:59", "2026-03-29T01:00:00Z": "03:00:00", "2026-07-20T22:00:00Z": "00:00:00", "2026-10-25T01:00:00Z": "02:00:00",
	} {
		at, err := time.Parse(time.RFC3339, in)
		if err != nil {
			t.Fatal(err)
		}
		line := &Timeline{ToS: 3600}
		if got := line.Clock(ClockSeconds(at, berlin)); got != want {
			t.Errorf("%s is at %s, want %s", in, got, want)
		}
	}
	if got := ClockSeconds(time.UnixMilli(1500), time.UTC); got != 1.5 {
		t.Errorf("a second and a half is %v", got)
	}
}

// How a moment is named depends on what is needed to find it: the time, the day, or the year.
func TestClock(t *testing.T) {
	from := unix("2026-12-31 23:00:00")
	for _, c := range []struct {
		name string
		line Timeline
		at   float64
		want string
	}{
		{"an hour", Timeline{FromS: from, ToS: from + 3600}, from + 61, "23:01:01"},
		{"rounded", Timeline{FromS: from, ToS: from + 3600}, from + 59.9996, "23:01:00"},
		{"over midnight", Timeline{FromS: from, ToS: from + 7200}, from + 3600, "00:00:00"},
		{"just below a day", Timeline{FromS: from, ToS: from + 86399}, from, "23:00:00"},
		{"a day", Timeline{FromS: from, ToS: from + 86400}, from + 3600, "01-01 00:00"},
		{"gaps", Timeline{FromS: from, ToS: from + 60, Cuts: []Cut{{from + 10, 86400}, {from + 30, 86400}}}, from + 9, "2026-12-31 23:00"},
		{"behind a gap", Timeline{FromS: from, ToS: from + 60, Cuts: []Cut{{from + 10, 86400}, {from + 30, 86400}}}, from + 10, "2027-01-01 23:00"},
		{"behind two gaps", Timeline{FromS: from, ToS: from + 60, Cuts: []Cut{{from + 10, 86400}, {from + 30, 86400}}}, from + 60, "2027-01-02 23:01"},
		{"start of a run", Timeline{Elapsed: true}, 0, "0:00"},
		{"rounded up", Timeline{Elapsed: true}, 59.6, "1:00"},
		{"below an hour", Timeline{Elapsed: true}, 3599, "59:59"},
		{"an hour of a run", Timeline{Elapsed: true}, 3600, "1:00:00"},
		{"a day of a run", Timeline{Elapsed: true}, 90061, "25:01:01"},
	} {
		if got := c.line.Clock(c.at); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// The ends of a chart's axis ignore what was not measured, and the lower one ignores zero, because the axis
// is logarithmic.
func TestChartExtent(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		values    []float64
		low, high float64
		most      string
	}{
		{nil, 0, 0, "max 0 s"}, {[]float64{nan, inf}, 0, 0, "max 0 s"}, {[]float64{0, 0.002, nan, 7.6, inf}, 0.002, 7.6, "max 7.60 s"}, {[]float64{-3}, 0, 0, "max 0 s"},
	} {
		chart := Chart{Unit: "seconds", Series: []Series{{}, {Values: c.values}}}
		if chart.Low() != c.low || chart.High() != c.high || chart.Most() != c.most {
			t.Errorf("%v: from %v to %v, %s", c.values, chart.Low(), chart.High(), chart.Most())
		}
	}
}

// rowsOf are a table's rows as text, except those without figures.
func rowsOf(tab *Table) string {
	var b strings.Builder
	for _, c := range tab.Columns {
		b.WriteString(c.Text + " | ")
	}
	for _, row := range tab.Rows {
		text, some := "", false
		for i, c := range row {
			text += c.Text + " | "
			some = some || i > 0 && c.Text != "–"
		}
		if some {
			b.WriteString("\n" + text)
		}
	}
	return b.String()
}

// The table of a timeline has the maximum of each of 48 stretches, and the operations of those with counts.
func TestTabulateTimeline(t *testing.T) {
	nan := math.NaN()
	line := &Timeline{ToS: 480, Elapsed: true, Charts: []Chart{
		{
			Title:  "write p99",
			Unit:   "seconds",
			StepS:  4,
			Series: []Series{{Values: []float64{0.1, 0.3, 0.2, nan, 0.004}}},
			Counts: []float64{10, 20, nan, 40, 5},
		},
		{
			Title: "IO/s",
			FromS: 470,
			StepS: 5,
			Series: []Series{
				{Name: "data", Values: []float64{1, 2, 3}},
				{Name: "wal", Values: []float64{nan, 0}},
			},
		}}}
	const want = `from | write p99 | operations | IO/s data | IO/s wal | ` + `
0:00 | 300 ms | 30 | – | – | ` + `
0:10 | 4.00 ms | 45 | – | – | ` + `
7:50 | – | – | 2.00 | 0 | `
	tab := line.Tabulate()
	if got := rowsOf(tab); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	if len(tab.Rows) != tableRows || *tab.Rows[47][0].Zoom != (Window{470, 480}) {
		t.Errorf("%d rows, of which the last shows %v", len(tab.Rows), tab.Rows[47][0].Zoom)
	}

	for _, to := range []float64{0, -1, nan} {
		line.ToS = to
		if got := line.Tabulate(); got != nil {
			t.Errorf("a table of a timeline from 0 to %v: %v", to, got)
		}
	}
}
