// Package csvtable reads tables of values over time: what Grafana exports as CSV, with a column for
// the time and one for each series, or the older form of one line for each value.
//
//	"Time","node_disk_io_time_seconds_total{device=""sda"", instance=""db:9100""}"
//	2026-01-05 10:00:00,130.5
//
//	"Series";"Time";"Value"
//	"node_disk_io_time_seconds_total{device=""sda""}";"2026-01-05T10:00:00+00:00";130.5
//
// Only columns that are named after a metric are samples. A panel's legend, such as "write latency",
// does not say what it is, nor in which unit.
package csvtable

import (
	"bytes"
	"cmp"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"

	"plimsoll/internal/record/lineprefix"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/samples"
	"plimsoll/internal/record/source"
)

const (
	columnsMax = 10_000
	// rowsMax bounds the rows of the older form in memory, which is not in order of time.
	rowsMax = 1_000_000
	// namesShown is how many of the dropped columns a note names.
	namesShown = 3
)

// ask describes a table that can be read.
const ask = `export a panel that shows the metrics themselves, without a legend, or save the response of the query: curl -G http://PROMETHEUS:9090/api/v1/query_range --data-urlencode 'query={instance="HOST:9100"}' -d start=FROM -d end=TO -d step=15`

var heading = regexp.MustCompile(`(?i)^\x{FEFF}?"?(time|timestamp|date|_time|series)"?[,;\t]`)

// Sniff reports whether head, the first bytes of a file, is such a table.
func Sniff(head []byte) bool {
	if !heading.Match(withoutSep(head)) {
		return false
	}
	r, err := newReader(bytes.NewReader(head))
	if err != nil {
		return false
	}
	names, err := r.Read()
	return err == nil && (&table{known: map[string]*series{}}).head(names) == nil
}

// withoutSep removes the line sep=, which Grafana writes for Excel.
func withoutSep(head []byte) []byte {
	if rest, ok := bytes.CutPrefix(head, []byte("sep=")); ok {
		_, rest, _ = bytes.Cut(rest, []byte("\n"))
		return rest
	}
	return head
}

// New prepares a file, which is read later.
func New(from source.File) source.Source {
	return &file{source.OfFile(from, recording.Source{Kind: "csv"})}
}

type file struct{ *source.RecordedFile }

// A value is one figure of the table.
type value struct {
	at     time.Time
	series *series
	value  float64
}

// series is a column that is named after a metric.
type series struct {
	name  string
	pairs []string
}

// A table is the information about a table.
type table struct {
	loc     *time.Location
	timeAt  int
	columns []*series // nil for columns that are not series
	long    bool      // one line for each value
	known   map[string]*series
	dropped []string

	values  []value
	full    bool
	damaged int
	first   string
}

// Read implements source.Source.
func (f *file) Read(ctx context.Context, w recording.Writer, opt source.Options) error {
	t := &table{loc: cmp.Or(opt.Location, time.Local), known: map[string]*series{}}
	if err := f.parse(ctx, t); err != nil {
		return fmt.Errorf("table %s: %w", f.Path, err)
	}

	slices.SortStableFunc(t.values, func(a, b value) int { return a.at.Compare(b.at) })
	out := samples.NewWriter(ctx, w, opt, f.Path)
	for i, v := range t.values {
		if i == 0 || !v.at.Equal(t.values[i-1].at) {
			if err := out.Time(v.at); err != nil {
				return err
			}
		}
		out.Add(v.value, v.series.name, v.series.pairs...)
	}

	if err := out.End(&f.Recorded); err != nil {
		return err
	}
	t.notes(out)
	return nil
}

// notes list the parts that were not read.
func (t *table) notes(out *samples.Writer) {
	if len(t.dropped) > 0 {
		out.Note(recording.NoteDropped, fmt.Sprintf("skipped %d series that are not named after a metric: %s", len(t.dropped),
			t.names()))
	}
	if t.damaged > 0 {
		out.Note(recording.NoteDamage, fmt.Sprintf("skipped %d lines, the first because %s", t.damaged, t.first))
	}
	if t.full {
		out.Note(recording.NoteLimit, fmt.Sprintf("skipped values beyond the first %d", rowsMax))
	}
}

func (t *table) names() string {
	names := strings.Join(t.dropped[:min(namesShown, len(t.dropped))], ", ")
	if len(t.dropped) > namesShown {
		names += ", ..."
	}
	return names
}

// parse reads the whole file.
func (f *file) parse(ctx context.Context, rows *table) error {
	in, err := f.Open()
	if err != nil {
		return err
	}

	defer in.Close()
	r, err := newReader(in)
	if err != nil {
		return err
	}

	first, err := r.Read()
	if err != nil {
		return fmt.Errorf("cannot read its heading: %w", err)
	}
	if err := rows.head(first); err != nil {
		return err
	}

	for n := 2; ; n++ {
		// Checked every 4096 rows: the check costs about as much as a short row.
		if n%4096 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}

		row, err := r.Read()
		var wrong *csv.ParseError
		switch {
		case errors.Is(err, io.EOF):
			if len(rows.values) == 0 {
				return fmt.Errorf("no values with a time: %s", cmp.Or(rows.first, ask))
			}
			return nil
		case errors.As(err, &wrong):
			// encoding/csv continues on the next line after a malformed one, but not after a read
			// error.
			rows.damage(wrong.Error())
		case err != nil:
			rows.damage("read error: " + err.Error())
			return nil
		default:
			rows.row(n, row)
		}
	}
}

func (t *table) damage(what string) {
	if t.damaged++; t.damaged == 1 {
		t.first = what
	}
}

// newReader detects the separator.
func newReader(in io.Reader) (*csv.Reader, error) {
	head := make([]byte, 64<<10)
	n, err := io.ReadFull(in, head)
	if err != nil && n == 0 {
		return nil, err
	}

	head = head[:n]
	rest := bytes.TrimPrefix(withoutSep(head), []byte("\uFEFF"))
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	r := csv.NewReader(io.MultiReader(bytes.NewReader(rest), &bounded{in: in}))
	r.FieldsPerRecord, r.LazyQuotes, r.ReuseRecord = -1, true, true

	// The separator follows the first column's name.
	if i := bytes.IndexAny(line, ",;\t"); i >= 0 {
		r.Comma = rune(line[i])
	}
	return r, nil
}

// bytesMax bounds a table: a day of 100 series at 15 s takes about 10 MB.
const bytesMax = 1 << 30

type bounded struct {
	in   io.Reader
	read int64
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.read > bytesMax {
		return 0, fmt.Errorf("larger than %d MiB", bytesMax>>20)
	}
	n, err := b.in.Read(p)
	b.read += int64(n)
	return n, err
}

// head reads the heading.
func (t *table) head(names []string) error {
	if len(names) > columnsMax {
		return fmt.Errorf("%d columns: want at most %d", len(names), columnsMax)
	}

	t.timeAt = -1
	for i, name := range names {
		switch strings.ToLower(strings.TrimSpace(name)) {
		case "time", "timestamp", "date", "_time":
			// Only the first time column is used; a second one is dropped as unknown.
			if t.timeAt < 0 {
				t.timeAt = i
				t.columns = append(t.columns, nil)
				continue
			}
		case "series":
			// Three columns with a series name are the long form: time, series, value.
			t.long = len(names) == 3
		}

		s := t.seriesOf(name)
		if s == nil && !t.long {
			t.dropped = append(t.dropped, fmt.Sprintf("%.80q", name))
		}
		t.columns = append(t.columns, s)
	}

	has := func(s *series) bool { return s != nil }
	switch {
	case t.timeAt < 0:
		return errors.New("no column with the time: " + ask)
	case !t.long && !slices.ContainsFunc(t.columns, has):
		return fmt.Errorf("no column is named after a metric (it has %s), so its unit and meaning are unknown: %s", t.names(), ask)
	}
	return nil
}

// seriesOf returns the series that a name denotes: a metric, with or without labels; nil if it is
// none.
func (t *table) seriesOf(name string) *series {
	name = strings.TrimSpace(name)
	if s, ok := t.known[name]; ok {
		return s
	}
	if len(t.known) >= columnsMax {
		return nil
	}

	var out *series
	// A single word is just as likely to be a legend: cpu, value.
	if strings.ContainsAny(name, "_{") && len(name) < 4096 {
		ls, err := parser.NewParser(parser.Options{}).ParseMetric(name)
		if metric := ls.Get(model.MetricNameLabel); err == nil && metric != "" {
			out = &series{name: metric}
			ls.Range(func(l labels.Label) {
				if l.Name != model.MetricNameLabel {
					out.pairs = append(out.pairs, l.Name, l.Value)
				}
			})
		}
	}

	t.known[name] = out
	return out
}

// row reads a line of figures.
func (t *table) row(number int, fields []string) {
	if t.timeAt >= len(fields) {
		return
	}

	at, ok := timeOf(fields[t.timeAt], t.loc)
	if !ok {
		t.damage(fmt.Sprintf("line %d has no time: %.40q", number, fields[t.timeAt]))
		return
	}

	if t.long {
		_, seen := t.known[strings.TrimSpace(fields[0])]
		s := t.seriesOf(fields[0])
		switch {
		case s != nil && len(fields) == 3:
			t.add(number, at, s, fields[2])
		case s == nil && !seen && len(t.dropped) < columnsMax:
			t.dropped = append(t.dropped, fmt.Sprintf("%.80q", fields[0]))
		}
		return
	}

	for i, field := range fields {
		if i < len(t.columns) && t.columns[i] != nil {
			t.add(number, at, t.columns[i], field)
		}
	}
}

func (t *table) add(number int, at time.Time, s *series, field string) {
	field = strings.TrimSpace(field)
	if field == "" || field == "null" || field == "undefined" {
		return
	}

	v, err := strconv.ParseFloat(field, 64)
	switch {
	case err != nil:
		t.damage(fmt.Sprintf("line %d has the figure %.40q: export it without units", number, field))
	case math.IsNaN(v) || math.IsInf(v, 0):
	case len(t.values) == rowsMax:
		t.full = true
	default:
		t.values = append(t.values, value{at, s, v})
	}
}

// timeOf parses a time: seconds or milliseconds since 1970, or a date and a time of day.
func timeOf(field string, loc *time.Location) (time.Time, bool) {
	field = strings.TrimSpace(field)
	if ms, err := strconv.ParseInt(field, 10, 64); err == nil && len(field) == 13 && ms > 0 {
		return time.UnixMilli(ms), true
	}
	if at, ok := lineprefix.Epoch([]byte(field)); ok {
		return at, true
	}
	at, ok := lineprefix.Line([]byte(field))
	if !ok {
		return time.Time{}, false
	}
	return at.In(loc), true
}
