package iostat

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
)

var stamps = []string{"2026-11-21 02:15:00", "2026-11-21 02:15:01", "2026-11-21 02:15:02", "2026-11-21 02:15:03", "2026-11-21 02:15:04"}

const banner = "Linux 6.1.0 (db1) \t2026-11-21 \t_x86_64_\t(2 CPU)\n\n"

// TestSinceBoot: the first report is dropped, except after the second empty line of -y.
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

// TestMissingDevice: a missing device counts as idle if -z was evidently used, and as a gap otherwise.
func TestMissingDevice(t *testing.T) {
	at := func(i int) int64 {
		tm, err := time.Parse(time.DateTime, stamps[i])
		if err != nil {
			t.Fatal(err)
		}
		return tm.UnixMilli()
	}

	// There is no row of zeros, so -z was used: sdb was idle in report 2.
	m, _, err := read(t, "z.log", xlog(banner, stamps, sda+sdb, sda+sdb, sda, sda+sdb), source.Options{})
	if err != nil {
		t.Fatal(err)
	}

	got := irates(t, m, `node_disk_writes_completed_total{device="sdb"}`)
	if r, ok := got[at(2)]; !ok || r != 0 || math.Abs(got[at(3)]-10) > 1e-9 {
		t.Errorf("-z: rates %v, want 0 at %d and 10 after it", got, at(2))
	}

	// A row of zeros excludes -z: sdb was not present.
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

	// A device that was attached later starts at its first interval.
	m, _, err = read(t, "z.log", xlog(banner, stamps, zero, zero, sda+sdb), source.Options{})
	if err != nil {
		t.Fatal(err)
	}

	if got := irates(t, m, `node_disk_writes_completed_total{device="sdb"}`); len(got) != 1 || math.Abs(got[at(2)]-10) > 1e-9 {
		t.Errorf("new device: rates %v, want 10 at %d", got, at(2))
	}
}

// TestTwoRuns: concatenated logs are separate runs, with a gap between them.
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
	// The row of zeros excludes -z, so the absence of sdb at the end is a gap.
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

	// A truncated last line must not give a smaller number.
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

// TestUnusable: errors say what is wrong and what to do.
func TestUnusable(t *testing.T) {
	for name, tt := range map[string]struct{ text, want string }{
		"headings only": {banner + "Device            r/s     rkB/s\n", "since boot"},
		"not iostat":    {"hello\nworld\n", "not an iostat log"},
		"no rows":       {banner + "avg-cpu:  %user   %nice %system %iowait  %steal   %idle\nnonsense\n", "line 4"},
		"empty":         {"", "not an iostat log"},
		"other JSON":    {`{"a": 1}`, "not an iostat log"},
	} {
		_, _, err := read(t, "x.log", []byte(tt.text), source.Options{})
		if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "x.log") {
			t.Errorf("%s: error %v, want one with %q", name, err, tt.want)
		}
	}
}

// Logs that were concatenated in the wrong order are read in order of time.
func TestRunsInAnotherOrder(t *testing.T) {
	run := func(minute, writes int) string {
		text := "Linux 6.1.0 (db) \t2026-11-21 \t_x86_64_\t(2 CPU)\n\n"
		for s := range 3 {
			text += fmt.Sprintf("2026-11-21T02:%02d:%02d+0000\nDevice r/s rkB/s r_await w/s wkB/s w_await aqu-sz %%util\nsda 0.00 0.00 0.00 %d.00 4.00 1.00 0.01 1.00\n\n", minute, s, writes)
		}
		return text
	}

	m, _, err := read(t, "joined.log", []byte(run(30, 30)+run(10, 10)+run(20, 20)), source.Options{})
	if err != nil {
		t.Fatal(err)
	}

	if got := firstOf(t, m, "node_disk_writes_completed_total"); got != "0 10 20 0 20 40 0 30 60" {
		t.Errorf("writes are %s", got)
	}

	for _, n := range m.Notes() {
		if n.Lost > 0 || n.Kind == recording.NoteClock {
			t.Errorf("note %q", n.Text)
		}
	}
}
