package live

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"sync/atomic"

	"github.com/jackc/pgx/v5/pgconn"

	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
)

const (
	// answerBytesMax limits a server's response for one sample, including the connection setup: 200
	// databases and 400 settings take a few hundred kilobytes.
	answerBytesMax = 8 << 20
	// rowsMax bounds the rows of a sample.
	rowsMax = 50_000
	// labelBytesMax bounds a label value; PostgreSQL's names have at most 63 bytes.
	labelBytesMax = 256
)

func newBudget() *source.Budget { return source.NewBudget(answerBytesMax) }

// dial returns a dialer whose connections read at most the budget. It sets bare if the server
// requests the password in clear text.
func dial(next pgconn.DialFunc, budget *source.Budget, bare *atomic.Bool) pgconn.DialFunc {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := next(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &listening{Conn: budget.Conn(c), asked: bare}, nil
	}
}

// ask runs statements and returns the rows of each. Too many rows end the connection.
func (s *sampler) ask(ctx context.Context, statements string) (out [][][][]byte, err error) {
	// The driver panics if a server reports being ready for the next query in the middle of its
	// rows (pgx 5.12.0, pgconn.PgConn.unlock).
	defer func() {
		if p := recover(); p != nil {
			_ = s.conn.Conn().Close() // the connection's state is unknown
			out, err = nil,
				fmt.Errorf("its answers are out of order: it is not PostgreSQL, or something in between changes them (driver: %q)",
					fmt.Sprint(p))
		}
	}()

	all := s.conn.Exec(ctx, statements)
	n := 0
	for all.NextResult() {
		var rows [][][]byte
		for one := all.ResultReader(); one.NextRow(); {
			if n++; n > rowsMax {
				_ = s.conn.Conn().Close() // leave the rest unread
				return nil, &source.TooMuchError{Max: rowsMax, Unit: "rows"}
			}
			rows = append(rows, copied(one.Values()))
		}
		out = append(out, rows)
	}

	return out, all.Close()
}

// copied returns a copy of a row: the driver reuses its memory for the next one.
func copied(row [][]byte) [][]byte {
	out := make([][]byte, len(row))
	for i, v := range row {
		out[i] = bytes.Clone(v)
	}
	return out
}

// read passes the rows to the question's take function. The peer may not be PostgreSQL and may
// answer with any number of columns.
func (q *question) read(rows [][][]byte) ([]recording.Column, error) {
	for _, r := range rows {
		if len(r) != q.columns {
			return nil, fmt.Errorf("a row has %d columns: want %d", len(r), q.columns)
		}
	}
	return q.take(rows)
}
