package iostat

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/record/source"
)

// prefixedLog returns a log without times in which each line has a prefix, and the same log with times.
func prefixedLog(prefix func(at time.Time) string) (prefixed, plain string) {
	begin := time.Date(2026, 12, 31, 23, 59, 58, 0, time.UTC)
	head := "Linux 6.1.0 (db1) \t12/31/2026 \t_x86_64_\t(2 CPU)\n\n"
	plain = head

	for _, line := range strings.SplitAfter(head, "\n") {
		if line != "" {
			prefixed += prefix(begin) + line
		}
	}

	for i := range 5 {
		at := begin.Add(time.Duration(i) * time.Second)
		table := fmt.Sprintf("Device            r/s     w/s     wkB/s w_await  %%util\nsda 0.00 %d.00 40.00 1.00 5.00\n\n", 10+i)
		plain += at.Format("2006-01-02T15:04:05Z") + "\n" + table
		for _, line := range strings.SplitAfter(table, "\n") {
			if line != "" {
				prefixed += prefix(at) + line
			}
		}
	}

	return prefixed, plain
}

// TestPrefixIsTheTime: prefixes from a pipeline give the same samples at the same times as iostat
// -t.
func TestPrefixIsTheTime(t *testing.T) {
	opt := source.Options{Location: time.UTC}
	for name, layout := range map[string]string{
		"kubectl logs --timestamps": "2006-01-02T15:04:05.000000000Z ",
		"ts":                        "Jan 02 15:04:05 ",
		"journalctl":                "Jan 02 15:04:05 db iostat[812]: ",
		"a script":                  "2006-01-02 15:04:05.000000\t",
		"a separator":               "2006-01-02 15:04:05 | ",
		"slashes":                   "2006/01/02 15:04:05 ",
		"the month first":           "01/02/2006 15:04:05: ",
		"the day first":             "02.01.2006 15:04:05 ",
		"date":                      "Mon Jan 02 15:04:05 UTC 2006 ",
		"date with a 12-hour clock": "Mon 02 Jan 2006 03:04:05 PM UTC ",
		"syslog of RFC 5424":        "<14>1 2006-01-02T15:04:05.000000+00:00 db iostat 812 - - ",
		"docker compose logs -t":    "iostat-1  | 2006-01-02T15:04:05.000000000Z ",
		"a time of day":             "[15:04:05] ",
	} {
		prefixed, plain := prefixedLog(func(at time.Time) string { return at.Format(layout) })
		got, _, err := read(t, "p.log", []byte(prefixed), opt)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}

		want, _, err := read(t, "q.log", []byte(plain), opt)
		if err != nil {
			t.Fatal(err)
		}

		a, b := irates(t, got, "node_disk_writes_completed_total"), irates(t, want, "node_disk_writes_completed_total")
		if len(b) != 4 || !maps.Equal(a, b) {
			t.Errorf("%s: %v, want %v", name, a, b)
		}
	}
}

// TestPrefixWithoutTime: names at the beginning of each line are removed.
func TestPrefixWithoutTime(t *testing.T) {
	for _, prefix := range []string{"db1: ", "db-0 iostat ", "[pod/db-0/iostat] ", "iostat-1  | "} {
		prefixed, plain := prefixedLog(func(time.Time) string { return prefix })
		got, _, err := read(t, "p.log", []byte(prefixed), source.Options{Location: time.UTC})
		if err != nil {
			t.Errorf("%s: %v", prefix, err)
			continue
		}

		want, _, err := read(t, "q.log", []byte(plain), source.Options{Location: time.UTC})
		if err != nil {
			t.Fatal(err)
		}

		// Without times the samples have other times, but the rates are the same.
		a, b := irates(t, got, "node_disk_writes_completed_total"), irates(t, want, "node_disk_writes_completed_total")
		values := func(m map[int64]float64) []float64 { return slices.Sorted(maps.Values(m)) }
		if len(b) != 4 || !slices.Equal(values(a), values(b)) {
			t.Errorf("%q: %v, want %v", prefix, a, b)
		}
	}
}

// TestDateLines: lines printed by date give the times of the reports after them.
func TestDateLines(t *testing.T) {
	begin := time.Date(2026, 1, 15, 10, 0, 0, 0, time.UTC)
	for _, format := range []func(time.Time) string{
		func(at time.Time) string { return at.Format("Mon Jan _2 15:04:05 UTC 2006") },
		func(at time.Time) string { return at.Format("Mon Jan _2 03:04:05 PM UTC 2006") },
		func(at time.Time) string { return fmt.Sprint(at.Unix()) },
		func(at time.Time) string { return at.Format("2006-01-02T15:04:05Z") },
	} {
		text := ""
		for i := range 3 {
			text += format(begin.Add(time.Duration(i)*time.Minute)) + "\nLinux 6.1.0 (db1) \t01/15/2026 \t_x86_64_\t(2 CPU)\n\n"
			for _, writes := range []int{7, 100} { // the first is the average since boot
				text += fmt.Sprintf("Device            r/s     w/s     wkB/s w_await  %%util\nsda 0.00 %d.00 40.00 1.00 5.00\n\n", writes)
			}
		}

		m, _, err := read(t, "d.log", []byte(text), source.Options{Location: time.UTC})
		if err != nil {
			t.Error(err)
			continue
		}

		got := irates(t, m, "node_disk_writes_completed_total")
		for i := range 3 {
			at := begin.Add(time.Duration(i)*time.Minute + time.Second).UnixMilli()
			if r := got[at]; r < 99 || r > 101 {
				t.Errorf("%q: %v writes a second at %d: %v", format(begin), r, at, got)
			}
		}
	}
}

// TestBannersDateIsNotTheStamps: the banner has the locale's date format even if the times are ISO
// 8601.
func TestBannersDateIsNotTheStamps(t *testing.T) {
	text := "Linux 6.1.0 (db1) \t01/15/2026 \t_x86_64_\t(2 CPU)\n\n\n"
	for i := range 3 {
		text += fmt.Sprintf("2026-01-15T10:00:0%d+00:00\nDevice            r/s     w/s     wkB/s w_await  %%util\nsda 0.00 9.00 40.00 1.00 5.00\n\n", i)
	}
	m, _, err := read(t, "us.log", []byte(text), source.Options{})
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 1, 15, 10, 0, 2, 0, time.UTC).UnixMilli()
	if got := irates(t, m, "node_disk_writes_completed_total"); got[at] != 9 {
		t.Errorf("%v, want 9 at %d", got, at)
	}
}

// TestHuman: numbers printed with --human have their own units.
func TestHuman(t *testing.T) {
	text := banner + "\n"
	for i := range 3 {
		text += stamps[i] + `
avg-cpu:  %user   %nice %system %iowait  %steal   %idle
           1.5%   39.9%    1.7%    0.9%    0.0%   56.0%

Device            r/s     w/s     rkB/s     wMB/s  %wrqm w_await aqu-sz  %util
sda              8.00   12.00    222.1k      1.5M   8.3%    2.40   0.04   3.2%

`
	}

	m, _, err := read(t, "human.log", []byte(text), source.Options{})
	if err != nil {
		t.Fatal(err)
	}

	for metric, want := range map[string]float64{
		"node_disk_read_bytes_total": 222.1 * 1024, "node_disk_written_bytes_total": 1.5 * 1024 * 1024,
		"node_disk_io_time_seconds_total": 0.032, `node_cpu_seconds_total{mode="nice"}`: 0.798,
	} {
		got := irates(t, m, metric)
		if len(got) == 0 {
			t.Errorf("%s: %v", metric, got)
		}
		for _, v := range got {
			if v < want*0.999 || v > want*1.001 {
				t.Errorf("%s: %v, want %v", metric, v, want)
			}
		}
	}

	notes := ""
	for _, n := range m.Notes() {
		notes += n.Text
	}

	if !strings.Contains(notes, "rounded") {
		t.Errorf("no note that the figures are rounded: %s", notes)
	}
}

// TestFieldPrefixes reads logs from public threads.
func TestFieldPrefixes(t *testing.T) {
	const folder = "../../../../shared/data/field/"
	for name, want := range map[string]string{
		"prefix/input-prefix.log": "2026-01-05T10:00:02Z", "prefix/v2_ts.log": "2026-01-15T10:02:00Z", "prefix/v3_journal.log": "2026-01-15T10:02:00Z",
		"clock/v5_us_banner_iso_stamps.log": "2026-01-15T10:02:00Z", "clock/v1_date_loop.log": "2026-01-15T", "dialects/input-x-human.txt": "",
	} {
		text, err := os.ReadFile(folder + name)
		if os.IsNotExist(err) {
			t.Skip("no " + folder + ": the logs from public threads are not part of the project")
		}

		if err != nil {
			t.Fatal(err)
		}

		_, src, err := read(t, name, text, source.Options{Location: time.UTC})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}

		if to := src.Describe().To.UTC().Format(time.RFC3339); !strings.HasPrefix(to, want) {
			t.Errorf("%s ends at %s, want %s", name, to, want)
		}
	}
}
