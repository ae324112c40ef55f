//go:build linux

package server

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/prometheus/prometheus/model/labels"

	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
)

// A view is a query of one row, some of whose columns are series.
type view struct {
	// relation is the view to check for, because versions differ; "" means always present.
	relation, query string
	columns         []column
}

// A column becomes a series under the name in postgres_exporter 0.11 to 0.15.
type column struct {
	name, metric string
	labels       labels.Labels
}

// columns names the columns of a view without labels.
func columns(prefix, suffix string, names ...string) []column {
	var out []column
	for _, n := range names {
		out = append(out, column{name: n, metric: prefix + n + suffix})
	}
	return out
}

func labelled(of []column, pairs ...string) []column {
	for i := range of {
		of[i].labels = labels.FromStrings(pairs...)
	}
	return of
}

// viewsOf returns the queries sent every second to a server and one of its databases. Columns that
// a version lacks give no series: from 17 on the checkpointer has a separate view, and in 18
// pg_stat_wal lost its writes and syncs.
func viewsOf(database string) []view {
	return []view{
		{"", "SELECT xact_commit, xact_rollback, blks_hit, blks_read, tup_inserted, tup_updated FROM pg_stat_database WHERE datname = current_database()",
			labelled(columns("pg_stat_database_", "", "xact_commit", "xact_rollback", "blks_hit", "blks_read",
				"tup_inserted", "tup_updated"), "datname", database)},
		{"",
			"SELECT count(*) AS count, coalesce(max(extract(epoch FROM clock_timestamp() - xact_start)), 0) AS max_tx_duration FROM pg_stat_activity" +
				" WHERE state = 'active' AND datname = current_database() AND pid <> pg_backend_pid()",
			labelled(columns("pg_stat_activity_", "", "count", "max_tx_duration"), "datname",
				database, "state", "active")},
		{"", "SELECT count(*) AS count FROM pg_stat_activity WHERE state = 'idle' AND datname = current_database() AND pid <> pg_backend_pid()",
			labelled(columns("pg_stat_activity_", "", "count"), "datname", database, "state", "idle")},
		{"pg_stat_bgwriter", "SELECT * FROM pg_stat_bgwriter",
			columns("pg_stat_bgwriter_", "_total", "buffers_alloc", "buffers_backend_fsync", "buffers_backend",
				"buffers_checkpoint", "buffers_clean",
				"checkpoint_sync_time", "checkpoint_write_time", "checkpoints_req",
				"checkpoints_timed", "maxwritten_clean")},
		{"pg_stat_checkpointer", "SELECT * FROM pg_stat_checkpointer",
			columns("pg_stat_checkpointer_", "_total", "num_timed", "num_requested", "write_time",
				"sync_time", "buffers_written")},
		{"pg_stat_wal", "SELECT * FROM pg_stat_wal",
			columns("pg_stat_wal_", "", "wal_records", "wal_fpi", "wal_bytes", "wal_buffers_full",
				"wal_write", "wal_sync")},
		{"", "SELECT coalesce(sum(size), 0) AS wal_size_bytes FROM pg_ls_waldir() WHERE name ~ '^[0-9A-F]{24}$'",
			columns("pg_", "", "wal_size_bytes")},
	}
}

// settings is read once per connection. It converts units to bytes and seconds, like the exporter.
const settings = `SELECT name, CASE unit WHEN '8kB' THEN setting::numeric * 8192 WHEN 'kB' THEN setting::numeric * 1024 WHEN 'MB' THEN setting::numeric * 1048576
	WHEN 's' THEN setting::numeric WHEN 'ms' THEN setting::numeric / 1000 ELSE CASE setting WHEN 'on' THEN 1 WHEN 'off' THEN 0 ELSE setting::numeric END END AS value,
	CASE WHEN unit IN ('8kB', 'kB', 'MB') THEN '_bytes' WHEN unit IN ('s', 'ms') THEN '_seconds' ELSE '' END AS suffix
	FROM pg_settings WHERE name IN ('shared_buffers', 'checkpoint_timeout', 'checkpoint_completion_target', 'checkpoint_flush_after',
	'bgwriter_flush_after', 'max_wal_size', 'min_wal_size', 'full_page_writes', 'wal_buffers')`

// statistics reads a server's statistics over a separate connection. It implements source.Source.
type statistics struct {
	*source.Polled
	dial     dialer
	database string
}

// statisticsName is the source's name.
const statisticsName = "PostgreSQL's statistics"

func newStatistics(dial dialer, database, version string) *statistics {
	return &statistics{Polled: source.NewPolled(recording.Source{Kind: "postgres", Name: statisticsName,
		Engine: "postgres", Version: version}), dial: dial, database: database}
}

// answerWithin is how long to wait for an answer. It is long because a stalled server answers late,
// and that answer matters.
const answerWithin = 10 * time.Second

// Read implements source.Source.
func (s *statistics) Read(ctx context.Context, w recording.Writer, opt source.Options) error {
	query := &reading{s: s, w: w, want: opt.Want}
	defer query.close()
	return s.Poll(ctx, w, opt, query)
}

// reading is the state of one Read. It implements source.Sampler.
type reading struct {
	s    *statistics
	w    recording.Writer
	want func(metric string) bool // nil: all
	conn *pgconn.PgConn
	text string // all queries of a sample
	of   []view // the views of the answers
	own  []recording.Column
	out  map[string]bool // skipped metrics
}

func (r *reading) close() {
	if r.conn == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = r.conn.Close(ctx)
	r.conn = nil
}

// AddFacts implements source.Sampler.
func (*reading) AddFacts(*recording.Source) {}

// Sample implements source.Sampler.
func (r *reading) Sample(ctx context.Context, at time.Time) ([]recording.Batch, error) {
	err := r.connect(ctx)
	var columns []recording.Column
	if err == nil {
		columns, err = r.sample(ctx)
	}
	if err != nil {
		// The answer may still arrive on this connection, and would then be mistaken for the next one.
		r.close()
		return nil, fmt.Errorf("reading PostgreSQL's statistics: %w", err)
	}
	return []recording.Batch{{TimesMs: []int64{at.UnixMilli()}, Columns: columns}}, nil
}

// connect connects if there is no connection, and finds out what this version offers.
func (r *reading) connect(ctx context.Context) error {
	if r.conn != nil && !r.conn.IsClosed() {
		return nil
	}

	conn, err := r.s.dial(ctx, "plimsoll-watch")
	if err != nil {
		return err
	}

	// The server may have restarted with another version or other settings.
	r.conn, r.text, r.of, r.own = conn, "", nil, nil
	for _, v := range viewsOf(r.s.database) {
		if v.relation != "" {
			there := conn.ExecParams(ctx, "SELECT to_regclass($1) IS NOT NULL",
				[][]byte{[]byte("pg_catalog." + v.relation)}, nil, nil, nil).Read()
			if there.Err != nil {
				return there.Err
			}
			if string(there.Rows[0][0]) != "t" {
				continue
			}
		}

		// A sample is one transaction, which a single denied query would fail: try each query by itself.
		if err := conn.Exec(ctx, v.query).Close(); hasCode(err, noPrivilege) {
			r.leaveOut(v, err)
			continue
		}

		r.text += v.query + ";"
		r.of = append(r.of, v)
	}

	set := conn.ExecParams(ctx, settings, nil, nil, nil, nil).Read()
	if set.Err != nil {
		return set.Err
	}

	r.add(&r.own, "pg_up", labels.EmptyLabels(), 1)
	for _, row := range set.Rows {
		x, err := strconv.ParseFloat(string(row[1]), 64)
		if err != nil {
			return fmt.Errorf("setting %s: %w", row[0], err)
		}
		r.add(&r.own, "pg_settings_"+string(row[0])+string(row[2]), labels.EmptyLabels(), x)
	}

	return nil
}

// Codes of errors (PostgreSQL 15 documentation, appendix A).
const (
	noPrivilege = "42501"
	// uniqueViolation is the error for a key that already exists.
	uniqueViolation = "23505"
)

// hasCode reports whether the server refused a statement with this code.
func hasCode(err error, code string) bool {
	pg := (*pgconn.PgError)(nil)
	return errors.As(err, &pg) && pg.Code == code
}

// leaveOut notes once that this user may not read a view.
func (r *reading) leaveOut(v view, err error) {
	if r.out == nil {
		r.out = map[string]bool{}
	}
	if metric := v.columns[0].metric; !r.out[metric] {
		r.out[metric] = true
		r.w.Note(recording.Note{Kind: recording.NoteGap, Source: statisticsName,
			Text: metric + " is skipped: " + err.Error() + " (the role pg_monitor allows it)"})
	}
}

// add adds a series, if it is wanted.
func (r *reading) add(to *[]recording.Column, name string, with labels.Labels, value float64) {
	if r.want != nil && !r.want(name) {
		return
	}
	l := labels.NewBuilder(with).Set(labels.MetricName, name).Labels()
	*to = append(*to, recording.Column{Labels: l, Values: []float64{value}})
}

// sample runs all queries in one transaction.
func (r *reading) sample(ctx context.Context) ([]recording.Column, error) {
	out := append([]recording.Column(nil), r.own...)
	// Several statements in one simple query are one implicit transaction (PostgreSQL manual,
	// message flow).
	results, err := r.conn.Exec(ctx, r.text).ReadAll()
	if err != nil {
		return nil, err
	}

	if len(results) != len(r.of) {
		return nil, fmt.Errorf("%d answers to %d queries", len(results), len(r.of))
	}

	for i, v := range r.of {
		if len(results[i].Rows) != 1 {
			return nil, fmt.Errorf("%d rows, want one: %.60s", len(results[i].Rows), v.query)
		}
		for k, f := range results[i].FieldDescriptions {
			for _, c := range v.columns {
				// NULL means that this version or server does not have the figure.
				if c.name != f.Name || results[i].Rows[0][k] == nil {
					continue
				}
				x, err := strconv.ParseFloat(string(results[i].Rows[0][k]), 64)
				if err != nil || math.IsNaN(x) {
					return nil, errors.Join(fmt.Errorf("column %s is not a number", c.name), err)
				}
				r.add(&out, c.metric, c.labels, x)
			}
		}
	}

	return out, nil
}
