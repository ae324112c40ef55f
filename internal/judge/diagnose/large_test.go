package diagnose_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/testkit"
)

// largeHost is an hour of a host with a busy disk and 16 CPUs, of which a query may hold only a few
// samples.
func largeHost(t *testing.T, maxSamples int) *recording.Memory {
	t.Helper()
	m := recording.NewMemory(recording.MemoryOptions{Query: recording.QueryOptions{MaxSamples: maxSamples}})
	start := time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)
	const seconds = 3600

	b := &recording.Batch{}
	for i := range seconds {
		b.TimesMs = append(b.TimesMs, start.Add(time.Duration(i)*time.Second).UnixMilli())
	}

	grow := func(perSecond func(i int) float64, pairs ...string) {
		c, sum := recording.Column{Labels: labels.FromStrings(pairs...)}, 0.0
		for i := range seconds {
			sum += perSecond(i)
			c.Values = append(c.Values, sum)
		}
		b.Columns = append(b.Columns, c)
	}

	stalled := func(i int) bool { return i%600 >= 400 && i%600 < 460 }
	for cpu := range 16 {
		for _, mode := range []string{"idle", "iowait", "user", "system"} {
			grow(func(i int) float64 {
				if mode == "iowait" && stalled(i) {
					return 0.5
				}
				return map[string]float64{"idle": 0.6, "user": 0.3, "system": 0.1}[mode]
			}, "__name__", "node_cpu_seconds_total", "cpu", fmt.Sprint(cpu), "mode", mode)
		}
	}

	const writes = 1000.0
	await := func(i int) float64 {
		if stalled(i) {
			return 0.2
		}
		return 0.0005 * (1 + 0.1*float64(i%7))
	}

	for name, rate := range map[string]func(i int) float64{
		"node_disk_writes_completed_total":         func(int) float64 { return writes },
		"node_disk_written_bytes_total":            func(int) float64 { return writes * 16384 },
		"node_disk_write_time_seconds_total":       func(i int) float64 { return writes * await(i) },
		"node_disk_io_time_seconds_total":          func(i int) float64 { return min(1, writes*await(i)) },
		"node_disk_io_time_weighted_seconds_total": func(i int) float64 { return writes * await(i) },
	} {
		grow(rate, "__name__", name, "device", "nvme1n1")
	}

	if err := m.Append(t.Context(), b); err != nil {
		t.Fatal(err)
	}

	return m
}

func reportOf(t *testing.T, r recording.Reader) (*diagnose.Report, string) {
	t.Helper()
	report, err := diagnose.Run(t.Context(), []recording.Reader{r}, diagnose.Options{Pack: testkit.Pack()})
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(report)
	if err != nil {
		t.Fatal(err)
	}
	return report, string(text)
}

// TestMoreSamplesThanAQueryHolds: 16 CPUs have more samples than a query may hold. They are read series
// by series, and the report is the same.
func TestMoreSamplesThanAQueryHolds(t *testing.T) {
	_, want := reportOf(t, largeHost(t, 0))
	if _, got := reportOf(t, largeHost(t, 5000)); got != want {
		t.Errorf("the report differs if a query may hold 5,000 samples:\n%s\nwant\n%s", got, want)
	}
}

// A refusing is a recording with one metric that does not fit into memory.
type refusing struct{ recording.Reader }

func (r refusing) Walk(ctx context.Context, selector recording.Selector, from, to time.Time, visit recording.Visit) error {
	if strings.Contains(selector.String(), "node_cpu_seconds_total") {
		return fmt.Errorf("selector %s: %w", selector, &recording.TooManyError{Max: 5000})
	}
	return r.Reader.Walk(ctx, selector, from, to, visit)
}

// TestATooLargeSignalIsAGap: the rest is diagnosed, and a note says what is unknown.
func TestATooLargeSignalIsAGap(t *testing.T) {
	report, text := reportOf(t, refusing{largeHost(t, 0)})
	if len(report.Incidents) == 0 {
		t.Errorf("nothing was found: %s", report.Verdict)
	}
	for _, want := range []string{"plimsoll:cpu_busy:ratio is unknown", "more than 5000 samples", "--from and --to"} {
		if !strings.Contains(text, want) {
			t.Errorf("the report does not contain %q: %s", want, text)
		}
	}
}
