// Package benchmark turns the output of a benchmark into a source: a few figures without times. They
// are assigned to the time until the file was written.
//
//	bench_sync_latency_mean_seconds{method}     one small write and its sync
//	bench_writes_per_second, bench_writes_asked_per_second
//	bench_write_slowest_seconds, bench_passed   of a load of many clients
//
// A [LogFormat] is output with figures over time, or with totals of the whole run: what clients
// felt.
//
//	bench_operations_total{benchmark, operation, kind}         operations that ended
//	bench_operation_seconds_total{benchmark, operation, kind}  their latencies, summed
//	bench_operations_waiting{...}                              in progress, on average
//	bench_operation_max_seconds{...}, bench_operation_latency_seconds{..., quantile}
//
// kind is read, write or transaction. [Sysbench] and [YCSB] belong to no engine; others are in the
// engines' folders.
package benchmark

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
)

// Kind is the kind of the sources that this package opens.
const Kind = "benchmark"

// BytesMax bounds a report. Users paste no more than a terminal's worth.
const BytesMax = 1 << 20

// A Figure is one number of a report.
type Figure struct {
	Name   string
	Labels []string // name, value, ...
	Value  float64
}

// A Format is a benchmark's report.
type Format struct {
	Name string        // of the benchmark, for display
	Took time.Duration // the run's usual length
	// Parse reads a report. Its error names the line but not the file.
	Parse func(text string) ([]Figure, error)
}

// Open prepares the report at path. The file is read later.
func (f Format) Open(path string) (source.Source, error) {
	out := &report{format: f, path: path}
	out.SetDescription(recording.Source{Kind: Kind, Name: path, Version: f.Name})
	return out, nil
}

type report struct {
	source.Recorded

	format Format
	path   string
}

// Read implements source.Source: the figures at the start and at the end of the run.
func (r *report) Read(ctx context.Context, writer recording.Writer, opt source.Options) error {
	in, err := os.Open(r.path)
	if err != nil {
		return err
	}

	defer in.Close()
	text, err := io.ReadAll(io.LimitReader(in, BytesMax+1))
	if err != nil {
		return fmt.Errorf("cannot read %s: %w", r.path, err)
	}

	if len(text) > BytesMax {
		return fmt.Errorf("%s: too large for a report of %s: want at most %d bytes", r.path,
			r.format.Name, BytesMax)
	}

	figures, err := r.format.Parse(string(text))
	if err == nil && len(figures) == 0 {
		err = errors.New("no figures found")
	}

	if err != nil {
		return fmt.Errorf("%s of %s: %w", r.path, r.format.Name, err)
	}

	info, err := in.Stat()
	if err != nil {
		return err
	}

	// A report has no times, so the file's modification time counts as the end of the run.
	to := info.ModTime().Add(opt.ClockOffset).Truncate(time.Second)
	from := to.Add(-r.format.Took)

	b := &recording.Batch{TimesMs: []int64{from.UnixMilli(), to.UnixMilli()}}
	for _, x := range figures {
		l := labels.FromStrings(append([]string{labels.MetricName, x.Name}, x.Labels...)...)
		b.Columns = append(b.Columns, recording.Column{Labels: l, Values: []float64{x.Value, x.Value}})
	}

	if err := writer.Append(ctx, b); err != nil {
		return err
	}

	d := recording.Source{Kind: Kind, Name: r.path, Version: r.format.Name, From: from.UTC(), To: to.UTC(),
		Period: r.format.Took, Samples: 2}
	r.SetDescription(d)
	writer.Source(d)

	return nil
}
