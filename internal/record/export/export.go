// Package export writes the samples of a recording in formats that other programs read: CSV for a
// spreadsheet, OpenMetrics for a Prometheus server, Parquet for a data frame. It holds only a piece
// of one series in memory, so that a recording of any size can be exported.
package export

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"

	"plimsoll/internal/record/recording"
)

// A Format is a file format.
type Format string

// The formats.
const (
	// CSV has a line per sample: time (RFC 3339, UTC), metric, labels, value.
	CSV Format = "csv"
	// OpenMetrics is the text format of openmetrics.io with timestamps, which
	// `promtool tsdb create-blocks-from openmetrics` turns into blocks of a Prometheus server.
	OpenMetrics Format = "openmetrics"
	// Parquet has a row per sample: time (milliseconds, UTC), metric, labels (a map), value.
	Parquet Format = "parquet"
)

// Formats are all formats.
var Formats = []Format{CSV, OpenMetrics, Parquet}

// Options select what to export. The zero value means everything.
type Options struct {
	// Select selects the series; its zero value selects all.
	Select Selection
	// From and To bound the samples; zero means the first and the last one.
	From, To time.Time
	// Progress, if not nil, is called before each metric.
	Progress func(done, total int)
}

// A Summary describes the exported data.
type Summary struct {
	Metrics, Series int
	Samples         int64
	From, To        time.Time // first and last sample; zero if there are none
}

// ErrNothing reports an export without any samples.
var ErrNothing = errors.New("nothing to export: no series matches, or none has a sample in that time")

// A writer writes series in one format. All series of a metric come in sequence.
type writer interface {
	// series writes samples of a series of a metric. A long series comes in several pieces.
	series(metric string, l labels.Labels, points []promql.FPoint) error
	close() error
}

// Write exports the samples of a recording, metric by metric in the order of their names. Its error
// comes from w or from the recording.
func Write(ctx context.Context, w io.Writer, r recording.Reader, f Format, opt Options) (Summary, error) {
	sel := opt.Select
	all, err := r.Metrics(ctx)
	if err != nil {
		return Summary{}, err
	}

	metrics := slices.DeleteFunc(slices.Clone(all), func(m recording.Metric) bool { return !sel.Wants(m.Name) })
	// OpenMetrics cuts _total off a counter's name, unless another metric already has that name.
	names := map[string]bool{}
	for _, m := range metrics {
		names[m.Name] = true
	}

	out, err := newWriter(w, f, names)
	if err != nil {
		return Summary{}, err
	}

	var sum Summary
	for i, m := range metrics {
		if opt.Progress != nil {
			opt.Progress(i, len(metrics))
		}
		if err := one(ctx, r, m, sel, opt, out, &sum); err != nil {
			return sum, err
		}
	}

	if sum.Samples == 0 {
		return sum, ErrNothing
	}

	return sum, out.close()
}

// one exports one metric.
func one(ctx context.Context, r recording.Reader, m recording.Metric, sel Selection, opt Options, out writer,
	sum *Summary) error {
	from, to := m.From, m.To
	if !opt.From.IsZero() {
		from = opt.From
	}

	if !opt.To.IsZero() {
		to = opt.To
	}

	if to.Before(from) {
		return nil
	}

	var last labels.Labels
	begun := false
	return r.Walk(ctx, recording.MetricSelector(m.Name), from, to,
		func(l labels.Labels, points []promql.FPoint) error {
			if !sel.labels(l) {
				return nil
			}

			if !begun {
				sum.Metrics++
			}

			if !begun || !labels.Equal(last, l) {
				sum.Series++
			}

			begun, last = true, l
			sum.add(points)
			return out.series(m.Name, l.DropReserved(func(n string) bool { return n == labels.MetricName }), points)
		})
}

func (sum *Summary) add(points []promql.FPoint) {
	sum.Samples += int64(len(points))
	recording.Extend(&sum.From, &sum.To, time.UnixMilli(points[0].T).UTC(),
		time.UnixMilli(points[len(points)-1].T).UTC())
}

// A Selection is a list of selectors, at least one of which must match. An empty one matches
// everything.
type Selection []recording.Selector

// Select parses selectors, such as `node_disk_io_time_seconds_total{device="sda"}`.
func Select(match []string) (Selection, error) {
	var out Selection
	for _, text := range match {
		if err := recording.CheckExpr(text); err != nil {
			return nil, err
		}
		m, err := parser.NewParser(parser.Options{}).ParseMetricSelector(text)
		if err != nil {
			return nil, fmt.Errorf("selector %q: %w", text, err)
		}
		out = append(out, m)
	}
	return out, nil
}

// Wants reports whether series of a metric may be selected.
func (sel Selection) Wants(name string) bool {
	return len(sel) == 0 || slices.ContainsFunc(sel,
		func(s recording.Selector) bool { return s.Accepts(name) })
}

// labels reports whether a series is selected.
func (sel Selection) labels(l labels.Labels) bool {
	return len(sel) == 0 || slices.ContainsFunc(sel, func(s recording.Selector) bool { return s.Matches(l) })
}

// newWriter returns the writer of a format. names has all metrics of the export.
func newWriter(w io.Writer, f Format, names map[string]bool) (writer, error) {
	switch f {
	case CSV:
		return newCSV(w)
	case OpenMetrics:
		return &openMetricsWriter{w: bufio.NewWriter(w), names: names}, nil
	case Parquet:
		return newParquet(w)
	}
	return nil, fmt.Errorf("unknown format %q: want csv, openmetrics or parquet", f)
}

// number prints a value like Prometheus.
func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// pairs prints labels in the form that goes between braces.
func pairs(l labels.Labels, quote func(string) string) string {
	var b strings.Builder
	l.Range(func(l labels.Label) {
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		b.WriteString(l.Name + "=" + quote(l.Value))
	})
	return b.String()
}
