package iostat

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/prometheus/model/labels"
	"pgregory.net/rapid"

	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
)

var update = flag.Bool("update", false, "write the golden files anew")

// modified stands for the files' modification time, which a checkout does not keep.
var modified = time.Date(2026, 11, 21, 2, 43, 30, 0, time.UTC)

var berlin = func() *time.Location {
	l, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		panic(err)
	}
	return l
}()

// read reads a log into memory. loc nil means UTC.
func read(t testing.TB, path string, text []byte, opt source.Options) (*recording.Memory, source.Source, error) {
	t.Helper()
	if opt.Location == nil {
		opt.Location = time.UTC
	}
	src, err := New(path, Options{
		Open:     func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(text)), nil },
		Bytes:    int64(len(text)),
		Modified: modified,
	})
	if err != nil {
		return nil, nil, err
	}
	m := recording.NewMemory(recording.MemoryOptions{})
	return m, src, src.Read(context.Background(), m, opt)
}

// irates are the rates between consecutive samples of the selected series, one line a time.
func irates(t testing.TB, m *recording.Memory, selector string) map[int64]float64 {
	t.Helper()
	series, err := m.Samples(context.Background(), selector, time.UnixMilli(0), time.UnixMilli(1<<45))
	if err != nil {
		t.Fatal(err)
	}
	out := map[int64]float64{}
	for _, s := range series {
		for i := 1; i < len(s.Points); i++ {
			a, b := s.Points[i-1], s.Points[i]
			if b.F >= a.F { // not a new run
				out[b.T] = (b.F - a.F) / (float64(b.T-a.T) / 1000)
			}
		}
	}
	return out
}

// TestGolden reads every log under testdata and compares what came of it. The
// logs were made with sysstat 12.6.1, in the locales their names tell, while
// a writer with O_DSYNC ran.
func TestGolden(t *testing.T) {
	logs, err := filepath.Glob("testdata/*.*")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, path := range logs {
		if ext := filepath.Ext(path); ext != ".log" && ext != ".json" {
			continue
		}
		n++
		t.Run(filepath.Base(path), func(t *testing.T) {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			golden := path + ".golden"
			got := dump(t, path, text)
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
	if n < 15 {
		t.Errorf("only %d logs under testdata", n)
	}
}

// dump tells source, notes and the rates between samples.
func dump(t *testing.T, path string, text []byte) string {
	var b strings.Builder
	m, src, err := read(t, filepath.Base(path), text, source.Options{})
	if err != nil {
		return "error: " + err.Error() + "\n"
	}
	d := src.Describe()
	fmt.Fprintf(&b, "%s host %q, %d samples every %v, %s to %s, %v\n", d.Kind, d.Host, d.Samples, d.Period,
		d.From.Format(time.RFC3339), d.To.Format(time.RFC3339), d.Facts)
	for _, n := range m.Notes() {
		fmt.Fprintf(&b, "%s: %s\n", n.Kind, n.Text)
	}
	metrics, err := m.Metrics(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for _, metric := range metrics {
		series, err := m.Samples(context.Background(), metric.Name, time.UnixMilli(0), time.UnixMilli(1<<45))
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range series {
			fmt.Fprintf(&b, "%s", s.Labels)
			for i := 1; i < len(s.Points); i++ {
				p, q := s.Points[i-1], s.Points[i]
				fmt.Fprintf(&b, " %.8g", (q.F-p.F)/(float64(q.T-p.T)/1000))
			}
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// TestRatesAreTheLogs reads a log's columns by themselves, as a person would, and holds the
// series' rates to them.
func TestRatesAreTheLogs(t *testing.T) {
	for path, loc := range map[string]*time.Location{"testdata/xmt_c.log": time.UTC, "testdata/xkt_de_de.log": berlin} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		m, _, err := read(t, path, text, source.Options{Location: loc})
		if err != nil {
			t.Fatal(err)
		}
		for heading, want := range map[string]struct {
			metric string
			factor float64
			times  string // another column to multiply with
		}{
			"w/s":     {"node_disk_writes_completed_total", 1, ""},
			"wMB/s":   {"node_disk_written_bytes_total", 1 << 20, ""},
			"wkB/s":   {"node_disk_written_bytes_total", 1 << 10, ""},
			"w_await": {"node_disk_write_time_seconds_total", 1e-3, "w/s"},
			"f_await": {"node_disk_flush_requests_time_seconds_total", 1e-3, "f/s"},
			"%util":   {"node_disk_io_time_seconds_total", 1e-2, ""},
			"aqu-sz":  {"node_disk_io_time_weighted_seconds_total", 1, ""},
		} {
			values := columnByHand(string(text), heading)
			if values == nil {
				continue
			}
			got := irates(t, m, want.metric+`{device="vda"}`)
			if len(got) != len(values)-1 {
				t.Fatalf("%s %s: %d intervals for %d reports", path, heading, len(got), len(values))
			}
			times := slices.Sorted(mapKeys(got))
			for i, ms := range times {
				expect := values[i+1] * want.factor
				if want.times != "" {
					expect *= columnByHand(string(text), want.times)[i+1]
				}
				if math.Abs(got[ms]-expect) > 1e-6*math.Max(1, expect) {
					t.Errorf("%s %s interval %d: rate %v, the log says %v", path, heading, i, got[ms], expect)
				}
			}
		}
	}
}

func mapKeys[V any](m map[int64]V) func(func(int64) bool) {
	return func(yield func(int64) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

func columnByHand(text, heading string) []float64 {
	var out []float64
	at := -1
	for _, line := range strings.Split(text, "\n") {
		f := strings.Fields(line)
		switch {
		case len(f) > 0 && f[0] == "Device":
			at = slices.Index(f, heading)
		case len(f) > 0 && f[0] == "vda" && at > 0:
			var v float64
			if _, err := fmt.Sscan(strings.ReplaceAll(f[at], ",", "."), &v); err != nil {
				panic(err)
			}
			out = append(out, v)
		}
	}
	return out
}

// old is how sysstat 10 printed: another heading, a colon, one await and two.
const old = `Linux 2.6.32-431.el6.x86_64 (db1) 	02/11/2014 	_x86_64_	(4 CPU)

02/11/2014 11:59:58 PM
avg-cpu:  %user   %nice %system %iowait  %steal   %idle
           5.00    0.00    1.00    2.00    0.00   92.00

Device:         rrqm/s   wrqm/s     r/s     w/s    rMB/s    wMB/s avgrq-sz avgqu-sz   await r_await w_await  svctm  %util
dm-0              0.00     0.00    1.00    1.00     0.01     0.01     8.00     0.10    1.00    1.00    1.00   0.10   0.10

02/11/2014 11:59:59 PM
avg-cpu:  %user   %nice %system %iowait  %steal   %idle
          10.00    0.00    5.00   35.00    0.00   50.00

Device:         rrqm/s   wrqm/s     r/s     w/s    rMB/s    wMB/s avgrq-sz avgqu-sz   await r_await w_await  svctm  %util
dm-0              0.00     2.00    0.00 3100.00     0.00    48.00    31.71    38.75   12.50    0.00   12.50   0.32  98.00

02/12/2014 12:00:00 AM
avg-cpu:  %user   %nice %system %iowait  %steal   %idle
          10.00    0.00    5.00   35.00    0.00   50.00

Device:         rrqm/s   wrqm/s     r/s     w/s    rMB/s    wMB/s avgrq-sz avgqu-sz   await r_await w_await  svctm  %util
dm-0              0.00     2.00    0.00 3000.00     0.00    48.00    31.71    38.75   12.50    0.00   12.50   0.32  99.00

`

func TestOldHeadings(t *testing.T) {
	m, src, err := read(t, "old.log", []byte(old), source.Options{})
	if err != nil {
		t.Fatal(err)
	}
	d := src.Describe()
	if d.Host != "db1" || d.Facts["cores"] != "4" || d.Period != time.Second || d.Samples != 3 {
		t.Errorf("described as %+v", d)
	}
	if want := time.Date(2014, 2, 12, 0, 0, 0, 0, time.UTC); !d.To.Equal(want) {
		t.Errorf("ends at %v, want %v", d.To, want)
	}
	at := time.Date(2014, 2, 11, 23, 59, 59, 0, time.UTC).UnixMilli()
	for selector, want := range map[string]float64{
		"node_disk_writes_completed_total":         3100,
		"node_disk_written_bytes_total":            48 << 20,
		"node_disk_write_time_seconds_total":       38.75, // 3,100 x 12.5 ms: Little's law gives avgqu-sz
		"node_disk_io_time_weighted_seconds_total": 38.75,
		"node_disk_io_time_seconds_total":          0.98,
		"node_disk_writes_merged_total":            2,
		`node_cpu_seconds_total{mode="iowait"}`:    1.4, // 35 % of 4 CPUs
	} {
		if got := irates(t, m, selector)[at]; math.Abs(got-want) > 1e-9*want {
			t.Errorf("irate of %s = %v, want %v", selector, got, want)
		}
	}
	if n := m.Notes(); len(n) != 0 {
		t.Errorf("notes %v, want none", n)
	}
}

// xlog makes a log: a banner, then a report for each row list.
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

// TestDateNearModification: a file written to on 11 December tells what 11/12 means.
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
	// Written to on the banner's day: the last report is the file's last second.
	text := xlog("Linux 6.1.0 (db1) \t11/21/26 \t_x86_64_\t(2 CPU)\n\n", nil, rows...)
	from, to, notes := clockOf(t, text, nil)
	if !to.Equal(modified) || to.Sub(from) != 2*time.Second || len(notes) != 1 || !strings.Contains(notes[0].Text, "without -t") {
		t.Errorf("%v to %v, notes %v", from, to, notes)
	}
	// A copied file: the banner's date is all there is.
	text = xlog("Linux 6.1.0 (db1) \t11/01/26 \t_x86_64_\t(2 CPU)\n\n", nil, rows...)
	from, _, notes = clockOf(t, text, nil)
	if want := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC); !from.Equal(want) || len(notes) != 1 || !strings.Contains(notes[0].Text, "midnight") {
		t.Errorf("from %v, want %v; notes %v", from, want, notes)
	}
	// Another period than a second.
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

var stamps = []string{"2026-11-21 02:15:00", "2026-11-21 02:15:01", "2026-11-21 02:15:02", "2026-11-21 02:15:03", "2026-11-21 02:15:04"}

const banner = "Linux 6.1.0 (db1) \t2026-11-21 \t_x86_64_\t(2 CPU)\n\n"

// TestSinceBoot: the first report is dropped, except after -y's second empty line.
func TestSinceBoot(t *testing.T) {
	boot := "sda 0.00 0.00 7.00 28.00 9.00 0.10 1.00\n"
	for name, tt := range map[string]struct {
		banner string
		want   int
	}{"default": {banner, 2}, "-y": {banner + "\n", 3}, "no banner": {"", 2}} {
		m, _, err := read(t, "t.log", xlog(tt.banner, stamps, boot, sda, sda), source.Options{})
		if err != nil {
			t.Fatal(err)
		}
		got := irates(t, m, "node_disk_writes_completed_total")
		seven := 0
		for _, r := range got {
			if math.Abs(r-7) < 1e-6 {
				seven++
			}
		}
		if len(got) != tt.want || seven != tt.want-2 {
			t.Errorf("%s: rates %v, want %d of them", name, got, tt.want)
		}
	}
}

const sdb = "sdb 0.00 0.00 10.00 40.00 1.00 0.10 5.00\n"

// TestMissingDevice: idle if -z is evident, a hole if it is not.
func TestMissingDevice(t *testing.T) {
	at := func(i int) int64 {
		tm, err := time.Parse(time.DateTime, stamps[i])
		if err != nil {
			t.Fatal(err)
		}
		return tm.UnixMilli()
	}
	// No zero row anywhere: -z. sdb did nothing in report 2.
	m, _, err := read(t, "z.log", xlog(banner, stamps, sda+sdb, sda+sdb, sda, sda+sdb), source.Options{})
	if err != nil {
		t.Fatal(err)
	}
	got := irates(t, m, `node_disk_writes_completed_total{device="sdb"}`)
	if r, ok := got[at(2)]; !ok || r != 0 || math.Abs(got[at(3)]-10) > 1e-9 {
		t.Errorf("-z: rates %v, want 0 at %d and 10 after it", got, at(2))
	}
	// A row of zeros rules -z out: sdb was not there.
	zero := "sda 0.00 0.00 0.00 0.00 0.00 0.00 0.00\n"
	m, _, err = read(t, "z.log", xlog(banner, stamps, sda+sdb, sda+sdb, zero, sda+sdb), source.Options{})
	if err != nil {
		t.Fatal(err)
	}
	got = irates(t, m, `node_disk_writes_completed_total{device="sdb"}`)
	if _, ok := got[at(2)]; ok {
		t.Errorf("without -z: a sample at the hole: %v", got)
	}
	if math.Abs(got[at(3)]-10) > 1e-9 {
		t.Errorf("without -z: rate %v after the hole, want 10", got[at(3)])
	}
	if n := m.Notes(); len(n) != 1 || n[0].Kind != recording.NoteLimit {
		t.Errorf("notes %v, want one about the hole", n)
	}
	// A device plugged in later starts where its first interval does.
	m, _, err = read(t, "z.log", xlog(banner, stamps, zero, zero, sda+sdb), source.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := irates(t, m, `node_disk_writes_completed_total{device="sdb"}`); len(got) != 1 || math.Abs(got[at(2)]-10) > 1e-9 {
		t.Errorf("new device: rates %v, want 10 at %d", got, at(2))
	}
}

// TestTwoRuns: appended logs are runs of their own; between them nothing is known.
func TestTwoRuns(t *testing.T) {
	text := xlog(banner, stamps, sda, sda, sda)
	text = append(text, xlog(banner, []string{"2026-11-21 05:00:00", "2026-11-21 05:00:01"}, sda, sda)...)
	m, src, err := read(t, "two.log", text, source.Options{})
	if err != nil {
		t.Fatal(err)
	}
	got := irates(t, m, "node_disk_writes_completed_total")
	if len(got) != 3 {
		t.Errorf("rates %v, want two of the first run and one of the second", got)
	}
	for ms, r := range got {
		if math.Abs(r-100) > 1e-9 {
			t.Errorf("%d: %v writes/s, want 100", ms, r)
		}
	}
	n := m.Notes()
	if len(n) != 1 || n[0].Kind != recording.NoteGap || n[0].From.Format(time.TimeOnly) != "02:15:02" || n[0].To.Format(time.TimeOnly) != "05:00:00" {
		t.Errorf("notes %+v, want one gap", n)
	}
	if d := src.Describe(); d.Samples != 5 || d.Period != time.Second {
		t.Errorf("%d samples every %v, want 5 every second", d.Samples, d.Period)
	}
}

func TestDamage(t *testing.T) {
	// The row of zeros rules out -z, so that sdb's absence at the end is a hole.
	whole := xlog(banner, stamps, sda, "sda 0.00 0.00 0.00 0.00 0.00 0.00 0.00\n", "sda 0.00 garbage\n"+sdb, sda)
	m, _, err := read(t, "d.log", whole, source.Options{})
	if err != nil {
		t.Fatal(err)
	}
	n := m.Notes()
	if len(n) < 1 || n[0].Kind != recording.NoteDamage || n[0].Offset == 0 || !strings.Contains(n[0].Text, "line 15") {
		t.Errorf("notes %+v, want damage in line 15", n)
	}
	if got := irates(t, m, `node_disk_writes_completed_total{device="sdb"}`); len(got) != 1 {
		t.Errorf("the row after the damaged one: %v", got)
	}
	// A torn last line is not a smaller number.
	torn := xlog(banner, stamps, sda, sda)
	torn = torn[:bytes.LastIndex(torn, []byte("50.00"))+1]
	m, _, err = read(t, "d.log", torn, source.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := irates(t, m, "node_disk_io_time_seconds_total"); len(got) != 0 {
		t.Errorf("torn row read as %v", got)
	}
	if n := m.Notes(); len(n) != 1 || !strings.Contains(n[0].Text, "middle of a line") {
		t.Errorf("notes %+v", n)
	}
}

// TestUnusable holds the errors to saying what is wrong and what to do.
func TestUnusable(t *testing.T) {
	human, err := os.ReadFile("testdata/h.log")
	if err != nil {
		t.Fatal(err)
	}
	devicesOnly := human[:bytes.Index(human, []byte("avg-cpu"))]
	devicesOnly = append(devicesOnly, human[bytes.Index(human, []byte("     r/s")):bytes.Index(human, []byte("11/21/26 02:28:03"))]...)
	for name, tt := range map[string]struct{ text, want string }{
		"since boot only": {string(xlog(banner, stamps, sda)), "only the average since boot"},
		"human":           {string(devicesOnly), "-h"},
		"headings only":   {banner + "Device            r/s     rkB/s\n", "since boot"},
		"not iostat":      {"hello\nworld\n", "not an iostat log"},
		"no rows":         {banner + "avg-cpu:  %user   %nice %system %iowait  %steal   %idle\nnonsense\n", "line 4"},
		"empty":           {"", "not an iostat log"},
		"other JSON":      {`{"a": 1}`, "not an iostat log"},
	} {
		_, _, err := read(t, "x.log", []byte(tt.text), source.Options{})
		if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "x.log") {
			t.Errorf("%s: error %v, want one with %q", name, err, tt.want)
		}
	}
}

func TestOptions(t *testing.T) {
	text := xlog(banner, stamps, sda, sda, sda, sda, sda)
	begin := time.Date(2026, 11, 21, 3, 15, 0, 0, time.UTC)
	m, src, err := read(t, "o.log", text, source.Options{
		ClockOffset: time.Hour,
		From:        begin.Add(2 * time.Second), To: begin.Add(3 * time.Second),
		Want: func(m string) bool { return m == "node_disk_io_time_seconds_total" },
	})
	if err != nil {
		t.Fatal(err)
	}
	metrics, err := m.Metrics(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if len(metrics) != 1 || metrics[0].Name != "node_disk_io_time_seconds_total" {
		t.Errorf("metrics %v, want the one asked for", metrics)
	}
	if d := src.Describe(); d.Samples != 2 || !d.From.Equal(begin.Add(2*time.Second)) || !d.To.Equal(begin.Add(3*time.Second)) {
		t.Errorf("described as %+v", d)
	}
	if got := irates(t, m, "node_disk_io_time_seconds_total"); len(got) != 1 || math.Abs(got[begin.Add(3*time.Second).UnixMilli()]-0.5) > 1e-9 {
		t.Errorf("rates %v, want 0.5 at the second sample", got)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := src.Read(ctx, m, source.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("error of a cancelled read: %v", err)
	}
}

// TestJSONSaysTheSame holds the JSON reader to the text reader's answer.
func TestJSONSaysTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 6).Draw(t, "reports")
		var text, js strings.Builder
		text.WriteString("Linux 6.1.0 (db1) \t2026-11-21 \t_x86_64_\t(2 CPU)\n\n")
		js.WriteString(`{"sysstat":{"hosts":[{"nodename":"db1","release":"6.1.0","number-of-cpus":2,"date":"2026-11-21","statistics":[`)
		var want []float64
		for i := range n {
			w := float64(rapid.IntRange(0, 9_999_999).Draw(t, "w")) / 100
			await := float64(rapid.IntRange(0, 99_999).Draw(t, "await")) / 100
			want = append(want, w, w*await/1000)
			fmt.Fprintf(&text, "2026-11-21 02:00:%02d\nDevice w/s w_await %%util\nsda %.2f %.2f 1.00\n\n\n", i, w, await)
			if i > 0 {
				js.WriteString(",")
			}
			fmt.Fprintf(&js, `{"timestamp":"2026-11-21 02:00:%02d","disk":[{"disk_device":"sda","w/s":%.2f,"w_await":%.2f,"util":1.00}]}`, i, w, await)
		}
		js.WriteString(`]}]}}`)
		for _, in := range []string{text.String(), js.String()} {
			src, err := New("x", Options{Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(in)), nil }, Modified: modified})
			if err != nil {
				t.Fatal(err)
			}
			m := recording.NewMemory(recording.MemoryOptions{})
			if err := src.Read(context.Background(), m, source.Options{Location: time.UTC}); err != nil {
				t.Fatal(err)
			}
			for k, metric := range []string{"node_disk_writes_completed_total", "node_disk_write_time_seconds_total"} {
				series, err := m.Samples(context.Background(), metric, time.UnixMilli(0), time.UnixMilli(1<<45))
				if err != nil || len(series) != 1 || len(series[0].Points) != n {
					t.Fatalf("%s: %v, error %v; want one series of %d points", metric, series, err, n)
				}
				p := series[0].Points
				for i := 1; i < n; i++ {
					got := (p[i].F - p[i-1].F) / (float64(p[i].T-p[i-1].T) / 1000)
					if w := want[2*i+k]; math.Abs(got-w) > 1e-9*math.Max(1, p[i].F) {
						t.Fatalf("%s interval %d: rate %v, the log says %v", metric, i, got, w)
					}
				}
			}
		}
	})
}

// endless is a log that continues: it shows that reading it takes hardly any memory.
type endless struct {
	report []byte
	left   int
	buf    []byte
}

func (e *endless) Read(p []byte) (int, error) {
	if len(e.buf) == 0 {
		if e.left == 0 {
			return 0, io.EOF
		}
		e.left--
		e.buf = e.report
	}
	n := copy(p, e.buf)
	e.buf = e.buf[n:]
	return n, nil
}

// sink is a writer that keeps nothing.
type sink struct{ batches, values, maxValues int }

func (s *sink) Append(_ context.Context, b *recording.Batch) error {
	s.batches++
	n := 0
	for _, c := range b.Columns {
		n += len(c.Values)
		if c.Labels.Get(labels.MetricName) == "" {
			return fmt.Errorf("a column without a name")
		}
	}
	s.values += n
	s.maxValues = max(s.maxValues, n)
	return nil
}
func (s *sink) Note(recording.Note)     {}
func (s *sink) Source(recording.Source) {}

func TestBatchesAreBounded(t *testing.T) {
	text, err := os.ReadFile("testdata/xy_no_times.log")
	if err != nil {
		t.Fatal(err)
	}
	report := text[bytes.Index(text, []byte("avg-cpu")):]
	src, err := New("big.log", Options{Modified: modified, Open: func() (io.ReadCloser, error) {
		return io.NopCloser(&endless{report: report, left: 4000}), nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	var s sink
	if err := src.Read(context.Background(), &s, source.Options{Location: time.UTC}); err != nil {
		t.Fatal(err)
	}
	if d := src.Describe(); d.Samples != 6*4000 {
		t.Errorf("%d samples, want %d", d.Samples, 6*4000)
	}
	if s.maxValues > 2*batchValuesMax || s.values < 6*4000*20 {
		t.Errorf("%d values, at most %d in one batch", s.values, s.maxValues)
	}
}

func BenchmarkRead(b *testing.B) {
	text, err := os.ReadFile("testdata/xy_no_times.log")
	if err != nil {
		b.Fatal(err)
	}
	report := text[bytes.Index(text, []byte("avg-cpu")):]
	const repeat = 2000
	src, err := New("big.log", Options{Modified: modified, Open: func() (io.ReadCloser, error) {
		return io.NopCloser(&endless{report: report, left: repeat}), nil
	}})
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(report)) * repeat)
	b.ReportAllocs()
	for b.Loop() {
		if err := src.Read(context.Background(), &sink{}, source.Options{Location: time.UTC}); err != nil {
			b.Fatal(err)
		}
	}
}

// fuzz reads anything: no panic, no endless loop, and counters that never fall within a run.
func fuzz(t *testing.T, text []byte) {
	m, _, err := read(t, "fuzz.log", text, source.Options{})
	if err != nil {
		return
	}
	series, err := m.Samples(context.Background(), `{__name__=~"node_.+"}`, time.UnixMilli(math.MinInt32), time.UnixMilli(1<<45))
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

// TestOpenFile goes by the name: size and modification time are the file's.
func TestOpenFile(t *testing.T) {
	src, err := Open("testdata/xkt_iso.log")
	if err != nil {
		t.Fatal(err)
	}
	var s sink
	var done, total int64
	err = src.Read(context.Background(), &s, source.Options{Progress: func(d, of int64) { done, total = d, of }})
	if err != nil || s.batches == 0 || total == 0 || done > total {
		t.Errorf("error %v, %d batches, progress %d of %d", err, s.batches, done, total)
	}
	var z bytes.Buffer
	gz := gzip.NewWriter(&z)
	io.WriteString(gz, old)
	gz.Close()
	if Sniff("x.gz", z.Bytes()) {
		t.Error("compressed bytes taken for a log")
	}
}
