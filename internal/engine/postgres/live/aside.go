package live

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"plimsoll/internal/record/recording"
)

// asideBackoffMax bounds the time between retries of a failed query.
const asideBackoffMax = 10 * time.Minute

// An aside runs queries that list files, such as database sizes, on a separate connection that
// nothing waits for. Such a query takes many seconds while the disk stalls. On the main connection
// it would time the sample out, and so lose every sample of exactly the time that matters.
type aside struct {
	questions []*question
	free      *sampler // runs the queries, with its own connection and budget
	answers   chan asideAnswer
	inFlight  bool
	cancel    context.CancelFunc
	wait      map[*question]time.Duration // until the next retry after a failure
}

// An asideAnswer is the result of a query: rows or an error.
type asideAnswer struct {
	of   *question
	rows [][][]byte
	err  error
}

// stop ends the query in flight and closes the connection.
func (a *aside) stop() {
	if a == nil {
		return
	}
	if a.inFlight {
		a.cancel()
		<-a.answers
		a.inFlight = false
	}
	a.free.close()
}

func newAside(t *target, note func(recording.Note)) *aside {
	own := *t
	own.config = t.config.Copy()
	own.budget = newBudget()
	own.config.DialFunc = dial(t.dialer, own.budget, own.bare)
	return &aside{free: newSampler(&own, nil, note), answers: make(chan asideAnswer, 1),
		wait: map[*question]time.Duration{}}
}

// take returns the answers since the last sample, and starts the next query that is due.
func (a *aside) take(s *sampler, at time.Time) []recording.Column {
	var columns []recording.Column
	select {
	case got := <-a.answers:
		a.inFlight = false
		a.cancel()
		columns = a.read(s, got)
	default:
	}

	// One query at a time, so that a stalled disk does not make them pile up.
	if a.inFlight {
		return columns
	}

	for _, q := range a.questions {
		if q.asked.IsZero() || at.Sub(q.asked) >= max(q.every, a.wait[q]) {
			q.asked = at
			a.ask(q)
			break
		}
	}

	return columns
}

// read converts an answer to series. A query that is not permitted or not supported is dropped;
// after any other failure the retry interval doubles.
func (a *aside) read(s *sampler, got asideAnswer) []recording.Column {
	q := got.of
	var columns []recording.Column
	err := got.err
	if err == nil {
		columns, err = q.read(got.rows)
	}

	switch {
	case err == nil:
		delete(a.wait, q)
	case denied(err) || missing(err):
		s.skip(q, err)
		a.questions = slices.DeleteFunc(a.questions, func(x *question) bool { return x == q })
	default:
		a.wait[q] = min(asideBackoffMax, max(2*a.wait[q], 2*q.every))
		s.limit(fmt.Sprintf("%s could not be read at times: it lists files, which takes long while the disk stalls",
			q.name))
	}

	return columns
}

// ask starts a query without waiting for its answer.
func (a *aside) ask(q *question) {
	ctx, cancel := context.WithTimeout(context.Background(), a.free.target.within+time.Second)
	a.inFlight, a.cancel = true, cancel
	go func() {
		rows, err := a.free.askAlone(ctx, q.query)
		a.answers <- asideAnswer{q, rows, err}
	}()
}

// askAlone runs one query, connecting first if necessary.
func (s *sampler) askAlone(ctx context.Context, query string) ([][][]byte, error) {
	s.target.budget.Renew()
	if s.conn == nil || s.conn.IsClosed() {
		conn, err := pgconn.ConnectConfig(ctx, s.target.config)
		if err != nil {
			return nil, err
		}
		s.conn = conn
	}

	answers, err := s.ask(ctx, query)
	switch {
	case err != nil && !denied(err) && !missing(err):
		s.close()
		return nil, err
	case err != nil:
		return nil, err
	case len(answers) != 1:
		s.close()
		return nil, fmt.Errorf("%d answers to one query", len(answers))
	}

	return answers[0], nil
}
