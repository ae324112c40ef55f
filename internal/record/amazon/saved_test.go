package amazon

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
)

func readSaved(t *testing.T, text string, want func(string) bool) (*recording.Memory, source.Source, error) {
	t.Helper()
	s := Cloud{}.Saved(source.File{Path: "answer.json", Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil }})
	m := recording.NewMemory(recording.MemoryOptions{})
	return m, s, s.Read(t.Context(), m, source.Options{Want: want})
}

// Saved responses: newest first or last, with custom labels, with one metric or several.
func TestSaved(t *testing.T) {
	for name, c := range map[string]struct {
		text    string
		series  []string // with their values
		period  time.Duration
		dropped string
	}{
		"get-metric-data": {`{"MetricDataResults": [
			{"Id": "a", "Label": "VolumeWriteOps", "Timestamps": ["2026-01-05T10:01:00+00:00", "2026-01-05T10:00:00+00:00"], "Values": [200, 100], "StatusCode": "Complete"},
			{"Id": "b", "Label": "vol-0123456789abcdef0 VolumeQueueLength", "Timestamps": ["2026-01-05T10:00:00+00:00"], "Values": [20.5]},
			{"Id": "c", "Label": "Sum of all", "Timestamps": [], "Values": []}], "Messages": []}`,
			[]string{`aws_ebs_volume_queue_length_average{volume_id="vol-0123456789abcdef0"} 10:01=20.5`, `aws_ebs_volume_write_ops_sum{volume_id="volume"} 10:01=100 10:02=200`}, time.Minute, "Sum of all"},
		"get-metric-statistics": {`{"Label": "WriteLatency", "Datapoints": [
			{"Timestamp": "2026-01-05T10:10:00Z", "Average": 0.02, "Maximum": 0.5, "Unit": "Seconds"},
			{"Timestamp": "2026-01-05T10:00:00Z", "Average": 0.01, "Maximum": 0.4, "Unit": "Seconds"}, {"Timestamp": "2026-01-05T10:05:00Z", "Average": 0.03, "Maximum": 0.4, "Unit": "Seconds"}]}`,
			[]string{`aws_rds_write_latency_average{dbinstance_identifier="database"} 10:05=0.01 10:10=0.03 10:15=0.02`, `aws_rds_write_latency_maximum{dbinstance_identifier="database"} 10:05=0.4 10:10=0.4 10:15=0.5`}, 5 * time.Minute, ""},
		"in two parts, and of two volumes": {`{"MetricDataResults": [
			{"Id": "a", "Label": "VolumeWriteOps", "Timestamps": ["2026-01-05T10:01:00Z"], "Values": [200]},
			{"Id": "b", "Label": "VolumeWriteOps", "Timestamps": ["2026-01-05T10:00:00Z"], "Values": [7]},
			{"Id": "a", "Label": "VolumeWriteOps", "Timestamps": ["2026-01-05T10:00:00Z"], "Values": [100]}]}`,
			[]string{`aws_ebs_volume_write_ops_sum{volume_id="volume"} 10:01=100 10:02=200`}, time.Minute, "a second query with the same label"},
		"of two namespaces": {`{"MetricDataResults": [
			{"Label": "BurstBalance", "Timestamps": ["2026-01-05T10:00:00Z"], "Values": [50]},
			{"Label": "ReadLatency", "Timestamps": ["2026-01-05T10:00:00Z"], "Values": [0.5]}]}`,
			[]string{`aws_rds_burst_balance_average{dbinstance_identifier="database"} 10:01=50`, `aws_rds_read_latency_average{dbinstance_identifier="database"} 10:01=0.5`}, time.Minute, ""},
	} {
		m, s, err := readSaved(t, c.text, nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}

		all, err := m.Samples(t.Context(), recording.EverySeries(), time.UnixMilli(0), time.UnixMilli(1<<45))
		if err != nil {
			t.Fatal(err)
		}

		var got []string
		for _, x := range all {
			line := strings.ReplaceAll(x.Labels.Get("__name__")+labels.NewBuilder(x.Labels).Del("__name__").Labels().String(), ", ", ",")
			for _, p := range x.Points {
				line += fmt.Sprintf(" %s=%g", time.UnixMilli(p.T).UTC().Format("15:04"), p.F)
			}
			got = append(got, line)
		}

		if strings.Join(got, "\n") != strings.Join(c.series, "\n") {
			t.Errorf("%s:\n%s\nwant\n%s", name, strings.Join(got, "\n"), strings.Join(c.series, "\n"))
		}

		if p := s.Describe().Period; p != c.period {
			t.Errorf("%s: a period of %s, want %s", name, p, c.period)
		}

		if n := fmt.Sprint(m.Notes()); (c.dropped == "") != (len(m.Notes()) == 0) || !strings.Contains(n, c.dropped) {
			t.Errorf("%s: notes %s", name, n)
		}
	}
}

// The error for an unusable response says what to request instead.
func TestSavedErrors(t *testing.T) {
	for text, want := range map[string]string{
		`{"MetricDataResults": [`:   "the JSON ends in the middle",
		`{"MetricDataResults": []}`: "no values of any metric that a rule uses (it has: nothing): request metrics of AWS/EBS",
		`{"Label": "NetworkIn", "Datapoints": [{"Timestamp": "2026-01-05T10:00:00Z", "Sum": 1}]}`:                       "(it has: NetworkIn)",
		`{"Label": "WriteIOPS", "Datapoints": [{"Timestamp": "yesterday", "Average": 1}]}`:                              `datapoint 1 has the time "yesterday"`,
		`{"Label": "WriteIOPS", "Datapoints": [{"Timestamp": "2026-01-05T10:00:00Z", "Maximum": 1}]}`:                   "no rule uses aws_rds_write_iops_maximum: request",
		`{"MetricDataResults": [{"Label": "VolumeWriteOps", "Timestamps": ["2026-01-05T10:00:00Z"], "Values": [1,2]}]}`: "VolumeWriteOps has 1 times and 2 values",
	} {
		_, _, err := readSaved(t, text, func(name string) bool { return strings.HasSuffix(name, "_average") })
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

func FuzzSaved(f *testing.F) {
	f.Add(`{"MetricDataResults": [{"Label": "VolumeWriteOps", "Timestamps": ["2026-01-05T10:01:00+00:00"], "Values": [200]}]}`)
	f.Add(`{"Label": "WriteLatency", "Datapoints": [{"Timestamp": "2026-01-05T10:10:00Z", "Average": 0.02, "Unit": "Seconds"}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		if _, _, err := readSaved(t, text, nil); err != nil && !strings.HasPrefix(err.Error(), "CloudWatch answer answer.json: ") {
			t.Errorf("%v does not name the file", err)
		}
	})
}
