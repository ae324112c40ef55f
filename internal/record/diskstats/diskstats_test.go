package diskstats_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/record/diskstats"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
)

func read(t testing.TB, text string) (*recording.Memory, source.Source, error) {
	t.Helper()
	src := diskstats.New(source.File{Path: "diskstats.txt", Bytes: int64(len(text)), Open: func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader([]byte(text))), nil
	}})
	m := recording.NewMemory(recording.MemoryOptions{})
	return m, src, src.Read(t.Context(), m, source.Options{Location: time.UTC})
}

// last returns the last value of each series of a metric, by device.
func last(t *testing.T, m *recording.Memory, metric string) map[string]float64 {
	t.Helper()
	series, err := m.Samples(t.Context(), recording.MustSelector(metric), time.UnixMilli(0), time.UnixMilli(1<<45))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]float64{}
	for _, s := range series {
		out[s.Labels.Get("device")] = s.Points[len(s.Points)-1].F
	}
	return out
}

func sample(at string, writes int) string {
	return fmt.Sprintf(`%s
   7       0 loop0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
 259       0 nvme0n1 10 1 80 5 %d 2 1600 400 3 200 420 1 0 8 2 7 9
 259       1 nvme0n1p1 10 1 80 5 %d 2 1600 400 3 200 420 1 0 8 2 7 9
   8       3 sda3 4 0 8 1 5 0 8 1 0 2 3
`, at, writes, writes)
}

// Each format of a sample's time gives node_exporter's counters. A partition whose disk is present is
// skipped, and so is an unused device.
func TestRead(t *testing.T) {
	for _, times := range [][2]string{
		{"TS 1767607200.073935000", "TS 1767607201.088149000 2026-01-05 10:00:01"},
		{"1767607200.5", "1767607201.5"}, {"1767607200", "1767607201"},
		{"2026-01-05T10:00:00Z", "2026-01-05T10:00:01Z"}, {"Mon Jan  5 10:00:00 UTC 2026", "Mon Jan  5 10:00:01 UTC 2026"},
	} {
		text := sample(times[0], 100) + sample(times[1], 150)
		if !diskstats.Sniff("", []byte(text)) {
			t.Errorf("%q is not recognised", times[0])
		}

		m, src, err := read(t, text)
		if err != nil {
			t.Errorf("%q: %v", times[0], err)
			continue
		}

		if got := fmt.Sprint(last(t, m, "node_disk_writes_completed_total")); got != "map[nvme0n1:150 sda3:5]" {
			t.Errorf("%q: writes %v", times[0], got)
		}

		if got := fmt.Sprint(last(t, m, "node_disk_written_bytes_total")); got != "map[nvme0n1:819200 sda3:4096]" {
			t.Errorf("%q: bytes %v", times[0], got)
		}

		if got := fmt.Sprint(last(t, m, "node_disk_flush_requests_total")); got != "map[nvme0n1:7]" {
			t.Errorf("%q: flushes %v", times[0], got)
		}

		if d := src.Describe(); d.Period != time.Second || d.To.Format(time.TimeOnly) != "10:00:01" {
			t.Errorf("%q: %+v", times[0], d)
		}
	}
}

// Damage is noted with its line, and everything else is kept.
func TestDamage(t *testing.T) {
	text := sample("1767607200", 100) + "  8 0 sdb 1 2 three 4 5 6 7 8 9 10 11\n" + sample("1767607201", 150) + sample("1767607200", 1)
	text = strings.TrimSuffix(text, "\n")
	m, _, err := read(t, text)
	if err != nil {
		t.Fatal(err)
	}

	notes := ""
	for _, n := range m.Notes() {
		notes += n.Text + "\n"
	}

	if !strings.Contains(notes, "line 6") || !strings.Contains(notes, `"three"`) || !strings.Contains(notes, "skipped") {
		t.Errorf("notes: %s", notes)
	}

	if _, _, err := read(t, sample("1767607200", 1)); err == nil || !strings.Contains(err.Error(), "want at least two") {
		t.Errorf("one sample: %v", err)
	}
}

// Only a time followed by a device's row is recognised.
func TestSniff(t *testing.T) {
	for _, text := range []string{"", "TS 1298130003.07\n", sample("", 1), "hello\n8 0 sda 1\n", "1767607200 5\n"} {
		if diskstats.Sniff("", []byte(text)) {
			t.Errorf("%q is recognised", text)
		}
	}
}

// TestField reads pt-diskstats' own sample.
func TestField(t *testing.T) {
	const path = "../../../../shared/data/field/dialects/pt-diskstats.txt"
	text, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		t.Skip("no " + path + ": the files from public threads are not part of the project")
	}
	if err != nil {
		t.Fatal(err)
	}
	m, _, err := read(t, string(text))
	if err != nil || len(last(t, m, "node_disk_reads_completed_total")) != 2 {
		t.Error(err, last(t, m, "node_disk_reads_completed_total"))
	}
}

// TestWithoutTimes: each sample begins with the same device, and samples are a period apart. A single
// sample is a sum.
func TestWithoutTimes(t *testing.T) {
	text := strings.Repeat(strings.TrimPrefix(sample("x", 100), "x\n"), 2) + strings.TrimPrefix(sample("x", 150), "x\n")
	if !diskstats.Sniff("", []byte(text)) {
		t.Error("not recognised")
	}
	m, src, err := read(t, text)
	if err != nil {
		t.Fatal(err)
	}

	d := src.Describe()
	if got := last(t, m, "node_disk_writes_completed_total")["nvme0n1"]; got != 150 || d.Samples != 3 || d.Period != time.Second {
		t.Errorf("%v %+v", got, d)
	}

	m, src, err = read(t, strings.TrimPrefix(sample("x", 100), "x\n"))
	if got := last(t, m, "node_disk_writes_completed_total")["nvme0n1"]; err != nil || got != 100 || src.Describe().Samples != 1 {
		t.Errorf("%v %v", got, err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add(strings.TrimPrefix(sample("x", 1), "x\n") + strings.TrimPrefix(sample("x", 2), "x\n"))
	f.Add(sample("TS 1767607200.07", 1) + sample("1767607201", 2))
	f.Add(sample("Mon Jan  5 10:00:00 UTC 2026", 1)[:150])
	f.Fuzz(func(t *testing.T, text string) {
		diskstats.Sniff("", []byte(text))
		_, _, _ = read(t, text) // it returns without a panic
	})
}
