package diagnosis

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/check/golden"
	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/present/document"
)

// A clock has the date only if the span has several, in the report's zone, and the year only if it has
// several.
func TestClockOfSpan(t *testing.T) {
	utc := func(text string) time.Time {
		at, err := time.Parse("2006-01-02 15:04:05", text)
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}

	for _, c := range []struct {
		from, to    string
		zone        *time.Location
		at, window  string
		wholeReport string
	}{
		{"2026-07-20 12:00:00", "2026-07-20 13:00:00", nil, "12:00:10", "12:00:10-12:00:20", "2026-07-20 12:00:00 to 13:00:00 UTC"},
		{"2026-07-20 21:30:00", "2026-07-20 22:30:00", berlin, "07-20 23:30:10", "07-20 23:30:10-23:30:20", "2026-07-20 23:30:00 to 2026-07-21 00:30:00 CEST"},
		{"2026-07-20 22:30:00", "2026-07-21 21:30:00", berlin, "00:30:10", "00:30:10-00:30:20", "2026-07-21 00:30:00 to 23:30:00 CEST"},
		{"2026-12-31 23:59:55", "2027-01-01 00:00:30", nil, "2027-01-01 00:00:05", "2027-01-01 00:00:05-00:00:15", "2026-12-31 23:59:55 to 2027-01-01 00:00:30 UTC"},
		// The same day of another year is another day.
		{"2026-07-20 12:00:00", "2027-07-20 12:00:00", nil, "2026-07-20 12:00:10", "2026-07-20 12:00:10-12:00:20", "2026-07-20 12:00:00 to 2027-07-20 12:00:00 UTC"},
	} {
		s := diagnose.Span{From: utc(c.from), To: utc(c.to)}
		clock, at := NewClock(s, c.zone), s.From.Add(10*time.Second)
		if got := clock.At(at); got != c.at {
			t.Errorf("%s: at %s, want %s", c.from, got, c.at)
		}
		if got := clock.Window(at, at.Add(10*time.Second)); got != c.window {
			t.Errorf("%s: window %s, want %s", c.from, got, c.window)
		}
		if got := clock.Whole(s); got != c.wholeReport {
			t.Errorf("%s: %s, want %s", c.from, got, c.wholeReport)
		}
	}
}

// A window may have one end, none, or be shorter than a second.
func TestWindow(t *testing.T) {
	clock := NewClock(span(0, 3*86400), nil)
	for _, c := range []struct {
		from, to time.Time
		want     string
	}{
		{time.Time{}, time.Time{}, ""}, {time.Time{}, at(5), "until 07-20 15:55:05"}, {at(5), time.Time{}, "from 07-20 15:55:05"}, {at(5), at(5.4), "07-20 15:55:05"},
		{at(5), at(65), "07-20 15:55:05-15:56:05"}, {at(5), at(86405), "07-20 15:55:05 - 07-21 15:55:05"},
	} {
		if got := clock.Window(c.from, c.to); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// The axis leaves out the time between runs, so that a recorded hour is visible next to months without one.
func TestAxisWithoutGaps(t *testing.T) {
	d := &diagnosed{
		Report: &diagnose.Report{
			Span: span(0, 10_060),
			Runs: []diagnose.Span{span(0, 60), span(10_000, 10_060)},
		},
		Options: Options{Location: time.UTC},
	}
	zero := d.seconds(at(0))
	for s, want := range map[float64]float64{0: 0, 59: 59, 60: 60, 5000: 60, 10_000: 60, 10_060: 120} {
		if got := d.seconds(at(s)) - zero; got != want {
			t.Errorf("%v s: %v on the axis, want %v", s, got, want)
		}
	}
	cuts := d.cuts()
	if len(cuts) != 1 || cuts[0].AtS-zero != 60 || cuts[0].SkippedS != 9940 {
		t.Errorf("%+v", cuts)
	}
}

// Tracks of the same name in several runs are one series. Where two have a value for one point, the higher one
// is shown.
func TestSeriesOverRuns(t *testing.T) {
	track := func(from float64, values ...float64) diagnose.Track {
		out := diagnose.Track{Name: "writes", From: at(from), StepS: 10}
		for i := range values {
			out.Values = append(out.Values, &values[i])
		}
		return out
	}
	d := &diagnosed{
		Report:  &diagnose.Report{Span: span(0, 1040), Runs: []diagnose.Span{span(0, 40), span(1000, 1040)}},
		Options: Options{Location: time.UTC},
	}
	c := document.Chart{FromS: d.seconds(at(0)), StepS: 10}
	other := track(0, 9, 9)
	other.StepS = 5 // from another grid
	d.series(&c, []diagnose.Track{track(0, 1, 2, 3, 4, 5), track(1000, 6, 7), other}, c.FromS+80)
	if len(c.Series) != 1 {
		t.Fatalf("%d series", len(c.Series))
	}
	var got []string
	for _, v := range c.Series[0].Values {
		got = append(got, strings.Replace(fmt.Sprint(v), "NaN", "-", 1))
	}
	if want := "1 2 3 4 6 7 - - -"; strings.Join(got, " ") != want {
		t.Errorf("%s, want %s", strings.Join(got, " "), want)
	}

	// Without runs, equal names are concurrent series.
	d.Runs = nil
	c.Series = nil
	d.series(&c, []diagnose.Track{track(0, 1, 2), track(0, 3), track(20, 9)}, c.FromS+80)
	if len(c.Series) != 2 || c.Series[0].Style == c.Series[1].Style || len(c.Series[1].Values) != 1 {
		t.Errorf("%+v", c.Series)
	}
}

// Hours and days are those of UTC and say so, in whichever zone the report's other times are.
func TestPeriods(t *testing.T) {
	worst, day := 7.6, 24*time.Hour
	midnight := time.Date(2026, 7, 20, 0, 0, 0, 0, time.UTC)
	of := func(length time.Duration) *diagnosed {
		r := &diagnose.Report{
			Periods: []diagnose.Period{
				{
					From:       midnight,
					To:         midnight.Add(length),
					WatchedS:   length.Seconds(),
					StalledS:   length.Seconds() / 4,
					Operations: 1234,
					WorstS:     &worst,
				},
				{From: midnight.Add(length), To: midnight.Add(2 * length), WatchedS: 60},
			},
			WorstMinutes: []diagnose.Minute{
				{From: midnight, Signal: "MongoDB writes", WaitedS: 90, WorstS: &worst},
				{From: midnight.Add(time.Hour), Signal: "MongoDB reads"},
			},
		}
		zone := time.FixedZone("EST", -5*3600)
		return &diagnosed{
			Report:  r,
			Options: Options{Location: zone},
			clock:   NewClock(diagnose.Span{From: midnight, To: midnight.Add(2 * length)}, zone),
		}
	}
	golden.Inline(t, rowsOf(of(day).periods()...), `
By the day: in UTC; worst is the highest mean of an interval
2026-07-20 | 24h | 6h | 25 % | 7.60 s | 1,234
2026-07-21 | 60.0 s | – |  | – | –
Worst minutes: 
07-19 19:00:00-19:01:00 | MongoDB writes | 90.0 s | 7.60 s
07-19 20:00:00-20:01:00 | MongoDB reads | 0 s | –
`)
	golden.Inline(t, rowsOf(of(time.Hour).periods()[:1]...), `
By the hour: in UTC; worst is the highest mean of an interval
07-20 00:00 | 1h | 15m | 25 % | 7.60 s | 1,234
07-20 01:00 | 60.0 s | – |  | – | –
`)
}

// rowsOf are the rows of the tables of some sections as text.
func rowsOf(sections ...document.Section) string {
	var b strings.Builder
	for _, s := range sections {
		fmt.Fprintf(&b, "%s: %s\n", s.Title, s.Aside)
		for _, p := range s.Parts {
			if p.Table == nil {
				continue
			}
			for _, row := range p.Table.Rows {
				var cells []string
				for _, c := range row {
					cells = append(cells, c.Text)
				}
				b.WriteString(strings.Join(cells, " | ") + "\n")
			}
			for _, n := range p.Table.Notes {
				b.WriteString(n + "\n")
			}
		}
	}
	return b.String()
}

// A chart of percentiles says how many operations are behind a point, if it is known.
func TestPercentileChart(t *testing.T) {
	few, many := 10.4, 1234.0
	p := diagnose.Plot{Operations: &diagnose.Track{StepS: 60, Values: []*float64{&few, nil, &many}}}
	c := document.Chart{StepS: 60}
	percentiles(&c, p)
	if !c.Log || c.About != "one point per 60.0 s, median 1,234 operations" || c.Counts[0] != 10 ||
		!math.IsNaN(c.Counts[1]) {
		t.Errorf("%+v", c)
	}
	c = document.Chart{StepS: 30}
	percentiles(&c, p)
	if c.About != "one point per 30.0 s" || c.Counts != nil {
		t.Errorf("of another step: %+v", c)
	}
}
