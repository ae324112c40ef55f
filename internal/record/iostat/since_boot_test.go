package iostat

import (
	"strings"
	"testing"
	"time"

	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
)

// TestSinceBootOnly: iostat without an interval gives one sample, whose mean latency is the printed
// one.
func TestSinceBootOnly(t *testing.T) {
	text := "Linux 6.1.0 (db1) \t01/15/2026 \t_x86_64_\t(2 CPU)\n\nDevice            r/s     w/s     wkB/s w_await  %util\nsda 0.00 20.00 40.00 3.00 5.00\n\n"
	m, src, err := read(t, "once.log", []byte(text), source.Options{Location: time.UTC})
	if err != nil {
		t.Fatal(err)
	}

	d := src.Describe()
	if d.Samples != 1 {
		t.Errorf("%d samples, want 1", d.Samples)
	}
	value := func(metric string) float64 {
		got, err := m.Samples(t.Context(), recording.MustSelector(metric), d.From, d.To)
		if err != nil || len(got) != 1 || len(got[0].Points) != 1 {
			t.Fatal(metric, got, err)
		}
		return got[0].Points[0].F
	}
	writes, waited := value("node_disk_writes_completed_total"), value("node_disk_write_time_seconds_total")
	if mean := waited / writes; mean < 0.002999 || mean > 0.003001 {
		t.Errorf("mean %v, want 3 ms", mean)
	}
	if notes := m.Notes(); len(notes) == 0 || !strings.Contains(notes[0].Text, "only the average since boot") {
		t.Error(notes)
	}
}
