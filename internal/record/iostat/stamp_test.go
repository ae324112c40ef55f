package iostat

import (
	"math"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
)

// xlog returns a log: a banner, then a report for each list of rows.
func xlog(banner string, times []string, rows ...string) []byte {
	var b strings.Builder
	b.WriteString(banner)
	for i, r := range rows {
		if i < len(times) {
			b.WriteString(times[i] + "\n")
		}
		b.WriteString("Device            r/s     rkB/s     w/s     wkB/s w_await  aqu-sz  %util\n")
		b.WriteString(r)
		b.WriteString("\n\n")
	}
	return []byte(b.String())
}

const sda = "sda 0.00 0.00 100.00 400.00 1.00 0.10 50.00\n"

func clockOf(t *testing.T, text []byte, loc *time.Location) (from, to time.Time, notes []recording.Note) {
	t.Helper()
	m, src, err := read(t, "t.log", text, source.Options{Location: loc})
	if err != nil {
		t.Fatal(err)
	}
	d := src.Describe()
	return d.From, d.To, m.Notes()
}

func TestDates(t *testing.T) {
	for name, tt := range map[string]struct {
		banner string
		times  []string
		loc    *time.Location
		to     string
		note   string
	}{
		"US":             {"11/21/2026", []string{"11/21/2026 02:15:01 AM", "11/21/2026 02:15:02 PM"}, nil, "2026-11-21T14:15:02Z", ""},
		"noon":           {"11/21/2026", []string{"11/21/2026 11:59:59 AM", "11/21/2026 12:00:00 PM"}, nil, "2026-11-21T12:00:00Z", ""},
		"C":              {"11/21/26", []string{"11/21/26 02:15:01", "11/21/26 02:15:02"}, nil, "2026-11-21T02:15:02Z", ""},
		"British":        {"21/11/26", []string{"21/11/26 02:15:01", "21/11/26 02:15:02"}, nil, "2026-11-21T02:15:02Z", ""},
		"German":         {"03.04.2026", []string{"03.04.2026 02:15:01", "03.04.2026 02:15:02"}, nil, "2026-04-03T02:15:02Z", ""},
		"Dutch":          {"03-04-26", []string{"03-04-26 02:15:01", "03-04-26 02:15:02"}, nil, "2026-04-03T02:15:02Z", ""},
		"ISO":            {"2026-04-03", []string{"2026-04-03T02:15:01+0200", "2026-04-03T02:15:02+0200"}, nil, "2026-04-03T00:15:02Z", ""},
		"ISO, India":     {"2026-04-03", []string{"2026-04-03T02:15:01+05:30", "2026-04-03T02:15:02+05:30"}, nil, "2026-04-02T20:45:02Z", ""},
		"UTC":            {"2026-04-03", []string{"2026-04-03T02:15:01Z", "2026-04-03T02:15:02Z"}, berlin, "2026-04-03T02:15:02Z", ""},
		"Japanese":       {"2026年04月03日", []string{"2026年04月03日 02時15分01秒", "2026年04月03日 02時15分02秒"}, nil, "2026-04-03T02:15:02Z", ""},
		"local":          {"2026-07-03", []string{"2026-07-03 02:15:01", "2026-07-03 02:15:02"}, berlin, "2026-07-03T00:15:02Z", ""},
		"12-hour":        {"05/04/2026", []string{"05/04/2026 02:15:01 AM", "05/04/2026 02:15:02 AM"}, nil, "2026-05-04T02:15:02Z", ""},
		"midnight tells": {"05/04/26", []string{"05/04/26 23:59:59", "06/04/26 00:00:00"}, nil, "2026-04-06T00:00:00Z", ""},
		"file date":      {"11/12/26", []string{"11/12/26 02:15:01", "11/12/26 02:15:02"}, nil, "2026-11-12T02:15:02Z", "distinguishes month and day"},
		"future is none": {"11/12/25", []string{"11/12/25 02:15:01", "11/12/25 02:15:02"}, nil, "2025-11-12T02:15:02Z", "distinguishes month and day"},
		"two digits":     {"05/04/26", []string{"05/04/26 02:15:01", "05/04/26 02:15:02"}, nil, "2026-05-04T02:15:02Z", "distinguishes month and day"},
		"same either":    {"05/05/26", []string{"05/05/26 02:15:01", "05/05/26 02:15:02"}, nil, "2026-05-05T02:15:02Z", ""},
		"sysstat 9":      {"11/21/26", []string{"Time: 11:59:59 PM", "Time: 12:00:01 AM"}, nil, "2026-11-22T00:00:01Z", ""},
		"autumn":         {"10/25/26", []string{"10/25/26 02:59:59", "10/25/26 02:00:00"}, berlin, "2026-10-25T01:00:00Z", ""},
	} {
		t.Run(name, func(t *testing.T) {
			text := xlog("Linux 6.1.0 (db1) \t"+tt.banner+" \t_x86_64_\t(2 CPU)\n\n", tt.times, sda, sda)
			_, to, notes := clockOf(t, text, tt.loc)
			if got := to.Format(time.RFC3339); got != tt.to {
				t.Errorf("last report at %s, want %s", got, tt.to)
			}
			if tt.note == "" && len(notes) > 0 || tt.note != "" && (len(notes) != 1 || !strings.Contains(notes[0].Text, tt.note)) {
				t.Errorf("notes %v, want %q", notes, tt.note)
			}
		})
	}
}

// TestDateNearModification: a file modified on 11 December decides what 11/12 means.
func TestDateNearModification(t *testing.T) {
	s := &survey{dates: []stamp{{date: [3]int{11, 12, 26}, digits: [3]int{2, 2, 2}, slash: true, hasDate: true}}}
	for day, want := range map[string]dateOrder{"2026-12-11": dayMonthYear, "2026-11-12": monthDayYear} {
		mod, _ := time.Parse(time.DateOnly, day)
		if got, guess := s.dateOrder(time.UTC, mod); got != want || guess != "" {
			t.Errorf("written on %s: order %v (%s), want %v", day, got, guess, want)
		}
	}
}

func TestNoTimes(t *testing.T) {
	rows := []string{sda, sda, sda}

	// Written on the banner's day: the last report is at the file's modification time.
	text := xlog("Linux 6.1.0 (db1) \t11/21/26 \t_x86_64_\t(2 CPU)\n\n", nil, rows...)
	from, to, notes := clockOf(t, text, nil)
	if !to.Equal(modified) || to.Sub(from) != 2*time.Second || len(notes) != 1 || !strings.Contains(notes[0].Text, "without -t") {
		t.Errorf("%v to %v, notes %v", from, to, notes)
	}

	// A copied file: only the banner's date is reliable.
	text = xlog("Linux 6.1.0 (db1) \t11/01/26 \t_x86_64_\t(2 CPU)\n\n", nil, rows...)
	from, _, notes = clockOf(t, text, nil)
	if want := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC); !from.Equal(want) || len(notes) != 1 || !strings.Contains(notes[0].Text, "midnight") {
		t.Errorf("from %v, want %v; notes %v", from, want, notes)
	}

	// A period other than one second.
	m, src, err := read(t, "t.log", text, source.Options{Period: 5 * time.Second})
	if err != nil {
		t.Fatal(err)
	}

	if d := src.Describe(); d.Period != 5*time.Second || d.To.Sub(d.From) != 10*time.Second {
		t.Errorf("period %v, %v to %v", d.Period, d.From, d.To)
	}

	for ms, r := range irates(t, m, "node_disk_writes_completed_total") {
		if math.Abs(r-100) > 1e-9 {
			t.Errorf("%d: %v writes/s, want 100", ms, r)
		}
	}
}
