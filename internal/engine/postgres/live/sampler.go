package live

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/prometheus/prometheus/model/labels"

	"plimsoll/internal/record/recording"
)

// A question is a query that runs regularly, with the function that converts its rows.
type question struct {
	name    string
	query   string
	every   time.Duration
	columns int // per row
	take    func(rows [][][]byte) ([]recording.Column, error)

	// aside marks a query that lists files: it runs on a separate connection.
	aside bool
	asked time.Time
}

func (q *question) due(at time.Time) bool {
	return q.every == 0 || q.asked.IsZero() || at.Sub(q.asked) >= q.every
}

// A sampler queries a server. It implements source.Sampler.
type sampler struct {
	target *target
	want   func(string) bool
	note   func(recording.Note)
	server string

	conn         *pgconn.PgConn
	version      int
	text         string // the version as text: "15.18"
	facts        map[string]string
	questions    []*question
	aside        *aside
	activity     *groups
	checkpointer *groups
	settings     []recording.Column
	noted        map[string]bool // notes already written
}

func newSampler(t *target, want func(string) bool, note func(recording.Note)) *sampler {
	return &sampler{target: t, want: want, note: note, server: t.server, noted: map[string]bool{}}
}

func (s *sampler) wants(metric string) bool { return s.want == nil || s.want(metric) }

// limit notes something that cannot be measured, once.
func (s *sampler) limit(text string) {
	if !s.noted[text] && len(s.noted) < notesMax {
		s.noted[text] = true
		s.note(recording.Note{Kind: recording.NoteLimit, Source: s.target.name, Text: text})
	}
}

func (s *sampler) close() {
	s.aside.stop()
	s.aside = nil
	if s.conn == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = s.conn.Close(ctx) // the server may be down
	s.conn = nil
}

// AddFacts implements source.Sampler.
func (s *sampler) AddFacts(d *recording.Source) {
	d.Version = s.text
	d.Facts = maps.Clone(s.facts)
	if !s.target.socket() {
		d.Host = s.target.config.Host
	}
}

// Sample implements source.Sampler.
func (s *sampler) Sample(ctx context.Context, at time.Time) ([]recording.Batch, error) {
	s.target.budget.Renew()
	if s.conn == nil || s.conn.IsClosed() {
		if err := s.connect(ctx); err != nil {
			err = s.target.explain(err)
			s.close()
			return nil, err
		}
	}

	var due []*question
	var text []string
	for _, q := range s.questions {
		if q.due(at) {
			due, text = append(due, q), append(text, q.query)
		}
	}

	answers, err := s.ask(ctx, strings.Join(text, ";\n"))
	if err == nil && len(answers) != len(due) {
		err = fmt.Errorf("%d answers to %d queries", len(answers), len(due))
	}

	if err != nil {
		// Privileges or extensions may have changed: reconnect and find out again what can be read.
		s.close()
		return nil, s.target.explain(err)
	}

	batch := recording.Batch{TimesMs: []int64{at.UnixMilli()}}
	if s.wants("pg_up") {
		batch.Columns = []recording.Column{{Labels: s.labelled("pg_up", nil, nil), Values: []float64{1}}}
	}
	for i, q := range due {
		q.asked = at
		columns, err := q.read(answers[i])
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", s.target.name, q.name, err)
		}
		batch.Columns = append(batch.Columns, columns...)
	}

	if s.aside != nil {
		batch.Columns = append(batch.Columns, s.aside.take(s, at)...)
	}

	batch.Columns = append(batch.Columns, s.settings...)
	return []recording.Batch{batch}, nil
}

// labelled returns the labels of a series.
func (s *sampler) labelled(metric string, names []string, values [][]byte) labels.Labels {
	b := labels.NewBuilder(labels.FromStrings(labels.MetricName, metric, "server", s.server))
	for i, n := range names {
		b.Set(n, strings.ToValidUTF8(string(values[i][:min(len(values[i]), labelBytesMax)]), "\uFFFD"))
	}
	return b.Labels()
}

// notesMax bounds the notes about missing measurements.
const notesMax = 100

// questionOf returns the query for a view; nil if no metric of it is wanted.
func (s *sampler) questionOf(v *view) *question {
	of, skip := v.columns(s.version), len(v.labels)
	wanted := false
	for _, c := range of {
		wanted = wanted || s.wants(c.metric)
	}

	if !wanted {
		return nil
	}

	return &question{name: v.name, query: v.query(s.version), every: v.every, aside: v.every > 0,
		columns: skip + len(of), take: func(rows [][][]byte) ([]recording.Column, error) {
			var out []recording.Column
			for _, r := range rows {
				for i, c := range of {
					value := r[skip+i]
					if value == nil || !s.wants(c.metric) {
						continue // pg_stat_io has NULL for impossible combinations
					}
					x, err := number(value)
					if err != nil {
						return nil, fmt.Errorf("column %s: %w", c.name, err)
					}
					out = append(out, recording.Column{Labels: s.labelled(c.metric, v.labels, r[:skip]),
						Values: []float64{x}})
				}
			}

			return out, nil
		}}
}

// number parses a number in PostgreSQL's format.
func number(text []byte) (float64, error) {
	x, err := strconv.ParseFloat(string(text), 64)
	if err != nil || math.IsInf(x, 0) || math.IsNaN(x) {
		return 0, fmt.Errorf("%.40q is not a number", text)
	}
	return x, nil
}

// skip notes why a query is left out.
func (s *sampler) skip(q *question, err error) {
	if pg := (*pgconn.PgError)(nil); denied(err) && errors.As(err, &pg) {
		s.limit(fmt.Sprintf("%s is skipped (%s): %s", q.name, s.target.hide(pg.Message), s.grant()))
		return
	}
	s.limit(fmt.Sprintf("%s is skipped: this server does not have it", q.name))
}

// denied reports whether a privilege is missing (PostgreSQL's documentation, appendix A).
func denied(err error) bool {
	pg := (*pgconn.PgError)(nil)
	return errors.As(err, &pg) && pg.Code == "42501"
}

// missing reports whether the queried object does not exist: forks of PostgreSQL lack some views.
func missing(err error) bool {
	pg := (*pgconn.PgError)(nil)
	return errors.As(err, &pg) && (pg.Code == "42P01" || pg.Code == "42703" || pg.Code == "42883" ||
		pg.Code == "0A000")
}
