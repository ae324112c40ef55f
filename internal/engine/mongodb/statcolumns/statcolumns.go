// Package statcolumns reads mongostat's output (tools 3.0 to 100), text or --json. Its rates become
// the counters of serverStatus:
//
//	insert, query, update, ...   mongodb_ss_opcounters{legacy_op_type}
//	qr|qw, ar|aw                 mongodb_ss_globalLock_currentQueue, ..._activeClients_readers, _writers
//	conn                         mongodb_ss_connections{conn_type="current"}
//	% dirty, % used              mongostat_dirty_ratio, mongostat_used_ratio
//
// mongostat has no latencies. So a stall shows only as missing completions while writers are queued.
package statcolumns

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/samples"
	"plimsoll/internal/record/source"
)

// operations are the columns that count operations.
var operations = []string{"insert", "query", "update", "delete", "getmore", "command"}

// Sniff reports whether a text is mongostat's: its heading, or its JSON.
func Sniff(head []byte) bool {
	if !bytes.Contains(head, []byte("getmore")) {
		return false
	}
	for line := range bytes.Lines(head) {
		if len(headings(string(line))) > 0 {
			return true
		}
		if bytes.HasPrefix(line, []byte("{")) && bytes.Contains(line, []byte(`"qrw"`)) {
			return true
		}
	}
	return false
}

// headings returns the columns of a heading; none if the line is not one.
func headings(line string) []string {
	// "% dirty" is one column.
	fields := strings.Fields(strings.ReplaceAll(line, "% ", "%"))
	at := -1
	for i := 0; i+1 < len(fields); i++ {
		if fields[i] == "insert" && fields[i+1] == "query" {
			at = i
		}
	}
	if at < 0 || at > 1 {
		return nil
	}
	return fields
}

// New prepares a file, which is read later.
func New(from source.File) source.Source {
	return &file{source.OfFile(from, recording.Source{Kind: "mongostat", Engine: "mongodb"})}
}

type file struct{ *source.RecordedFile }

// A row holds one server's figures at one time.
type row struct {
	host   string
	values map[string]string
}

// Read implements source.Source. It reads the file twice: lines without a date are placed before the
// file's modification.
func (f *file) Read(ctx context.Context, w recording.Writer, opt source.Options) error {
	loc := cmp.Or(opt.Location, time.Local)

	c := &clock{loc: loc, year: f.Modified.In(loc).Year()}
	if _, err := f.pass(ctx, opt, func(r row, _ time.Time) error { c.count(r); return nil }); err != nil {
		return err
	}
	if c.rows == 0 {
		return fmt.Errorf("mongostat output %s has no line of figures: run mongostat 1", f.Path)
	}
	// This needs the number of rows, because a line without a date is placed by its distance to the last one.
	c.begin(f.Modified)

	out := samples.NewWriter(ctx, w, opt, f.Path)
	e := &emitter{w: out, host: map[string]time.Time{}}
	lines, err := f.pass(ctx, opt, func(r row, stamp time.Time) error { return e.add(r, c.at(r, stamp)) })
	if err != nil {
		return err
	}

	if err := out.End(&f.Recorded); err != nil {
		return err
	}
	for _, n := range lines.Notes() {
		w.Note(n)
	}
	if c.assumed {
		out.Note(recording.NoteClock,
			"the lines have no date: the last one was placed at the file's modification, the others one second or their times of day before it")
	}

	return nil
}

// pass reads the file once.
func (f *file) pass(ctx context.Context, opt source.Options, visit func(row,
	time.Time) error) (*samples.Lines,
	error) {
	lines, err := samples.Open(ctx, f.File, opt)
	if err != nil {
		return nil, fmt.Errorf("mongostat output: %w", err)
	}

	defer lines.Close()
	var columns []string
	for {
		line, ok := lines.Next()
		if !ok {
			return lines, lines.Err()
		}

		var rows []row
		switch {
		case bytes.HasPrefix(line, []byte("{")):
			if rows, err = fromJSON(line); err != nil {
				lines.Damaged(err.Error())
			}
		default:
			text := string(line)
			// Headings repeat every ten lines, and after a restart their columns may differ.
			if h := headings(text); h != nil {
				columns = h
				continue
			}
			if r, ok := fromText(columns, text); ok {
				rows = []row{r}
			}
		}

		for _, r := range rows {
			if err := visit(r, lines.Stamp); err != nil {
				return nil, err
			}
		}
	}
}

// hostsMax bounds the servers of one line of JSON.
const hostsMax = 1000

func fromJSON(line []byte) ([]row, error) {
	var hosts map[string]map[string]any
	if err := json.Unmarshal(line, &hosts); err != nil {
		return nil, fmt.Errorf("invalid JSON: %w", err)
	}

	var out []row
	for host, figures := range hosts {
		r := row{host: host, values: map[string]string{}}
		for k, v := range figures {
			r.values[k] = fmt.Sprint(v)
		}
		if len(out) < hostsMax && len(r.values) > 1 {
			out = append(out, r)
		}
	}
	return out, nil
}

// fromText splits a line. The time is last and may have a blank in it; the name of a set may be
// missing before the member's state.
func fromText(columns []string, line string) (row, bool) {
	fields := strings.Fields(line)
	if len(columns) == 0 || len(fields) < len(operations) {
		return row{}, false
	}

	r := row{values: map[string]string{}}
	for i, c := range columns {
		switch {
		case i >= len(fields):
		case c == "conn":
			r.values[c] = fields[i]
			// What follows, such as the set and its state, may be absent.
			r.values["time"] = timeOf(fields[i+1:])
			return r, figure(r.values["insert"]) >= 0
		case columns[0] != "insert" && i == 0, c == "host":
			r.host = fields[i]
		default:
			r.values[c] = fields[i]
		}
	}
	return r, figure(r.values["insert"]) >= 0
}

// timeOf returns the fields of a line's end that are its time.
func timeOf(fields []string) string {
	for i, f := range fields {
		if strings.Count(f, ":") < 2 {
			continue
		}
		// Nov 21 02:00:00.123
		if i >= 2 {
			if _, err := time.Parse("Jan", fields[i-2]); err == nil {
				return strings.Join(fields[i-2:i+1], " ")
			}
		}
		return f
	}
	return ""
}

// figure parses a column: *12 is replicated, 12|0 has the replicated ones second, 4.6% is a share. It
// is -1 if there is no number.
func figure(s string) float64 {
	first, second, _ := strings.Cut(strings.TrimSuffix(strings.TrimPrefix(s, "*"), "%"), "|")
	x, err := strconv.ParseFloat(first, 64)
	if err != nil || x < 0 {
		return -1
	}
	if y, err := strconv.ParseFloat(second, 64); err == nil && y > 0 {
		x += y
	}
	return x
}

// pair parses two columns in one: readers and writers.
func pair(s string) (readers, writers float64, ok bool) {
	first, second, found := strings.Cut(s, "|")
	r, err1 := strconv.ParseFloat(first, 64)
	w, err2 := strconv.ParseFloat(second, 64)
	return r, w, found && err1 == nil && err2 == nil
}

// emitter writes rows as samples.
type emitter struct {
	w    *samples.Writer
	last time.Time
	host map[string]time.Time // of each server, its last time
}

func (e *emitter) add(line row, at time.Time) error {
	interval := time.Second
	if last := e.host[line.host]; !last.IsZero() && at.After(last) {
		interval = at.Sub(last)
	}

	if !at.Equal(e.last) {
		// The first rates need the start of their interval.
		if e.last.IsZero() {
			if err := e.w.Time(at.Add(-interval)); err != nil {
				return err
			}
		}
		if err := e.w.Time(at); err != nil {
			return err
		}
	}

	if len(e.host) < hostsMax {
		e.host[line.host] = at
	}
	e.last = at

	var of []string
	if line.host != "" {
		of = []string{"instance", line.host}
	}
	with := func(more ...string) []string { return append(more, of...) }

	for _, op := range operations {
		if x := figure(line.values[op]); x >= 0 {
			e.w.AddOver(interval, x, "mongodb_ss_opcounters", with("legacy_op_type", op)...)
		}
	}

	for _, c := range []string{"qr|qw", "qrw"} {
		if readers, writers, ok := pair(line.values[c]); ok {
			e.w.Add(readers, "mongodb_ss_globalLock_currentQueue", with("count_type", "readers")...)
			e.w.Add(writers, "mongodb_ss_globalLock_currentQueue", with("count_type", "writers")...)
		}
	}
	for _, c := range []string{"ar|aw", "arw"} {
		if readers, writers, ok := pair(line.values[c]); ok {
			e.w.Add(readers, "mongodb_ss_globalLock_activeClients_readers", with()...)
			e.w.Add(writers, "mongodb_ss_globalLock_activeClients_writers", with()...)
		}
	}
	for c, metric := range map[string]string{"%dirty": "mongostat_dirty_ratio", "dirty": "mongostat_dirty_ratio",
		"%used": "mongostat_used_ratio", "used": "mongostat_used_ratio"} {
		if x := figure(line.values[c]); x >= 0 {
			e.w.Add(x/100, metric, with()...)
		}
	}
	if x := figure(line.values["conn"]); x >= 0 {
		e.w.Add(x, "mongodb_ss_connections", with("conn_type", "current")...)
	}

	return nil
}
