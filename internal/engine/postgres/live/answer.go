package live

import (
	"context"
	"fmt"
	"net"
	"sync/atomic"

	"github.com/jackc/pgx/v5/pgconn"

	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
)

const (
	// answerBytesMax bounds what a server sends for one sample, connecting included: 200 databases
	// and 400 settings are some hundred kilobytes.
	answerBytesMax = 8 << 20
	// rowsMax bounds the rows of it.
	rowsMax = 50_000
	// labelBytesMax bounds a label's value; PostgreSQL's names have at most 63 bytes.
	labelBytesMax = 256
)

func newBudget() *source.Budget { return source.NewBudget(answerBytesMax) }

// dial is how a connection is made whose reading has a bound.
// bare is set if the server wants a password in clear text.
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
	// The driver panics where a server is ready for the next query in the middle of its rows (pgx 5.12.0,
	// pgconn.PgConn.unlock).
	defer func() {
		if p := recover(); p != nil {
			_ = s.conn.Conn().Close() // nothing that it says is of use any more
			out, err = nil,
				fmt.Errorf("its answers are out of order: it is no PostgreSQL, or something in between changes what it sends (the driver says %q)",
					fmt.Sprint(p))
		}
	}()

	all := s.conn.Exec(ctx, statements)
	n := 0
	for all.NextResult() {
		var rows [][][]byte
		for one := all.ResultReader(); one.NextRow(); {
			if n++; n > rowsMax {
				_ = s.conn.Conn().Close() // the rest is not read
				return nil, &source.TooMuchError{Max: rowsMax, Unit: "rows"}
			}
			rows = append(rows, copied(one.Values()))
		}
		out = append(out, rows)
	}

	return out, all.Close()
}

// copied is a row in memory of its own: the driver's is used again for the next.
func copied(row [][]byte) [][]byte {
	size := 0
	for _, v := range row {
		size += len(v)
	}
	all, out := make([]byte, 0, size), make([][]byte, len(row))
	for i, v := range row {
		if v != nil {
			at := len(all)
			all = append(all, v...)
			out[i] = all[at:len(all):len(all)]
		}
	}
	return out
}

// read gives a question's rows to what takes them. What listens there need not be PostgreSQL, and
// may answer with any number of columns.
func (q *question) read(rows [][][]byte) ([]recording.Column, error) {
	for _, r := range rows {
		if len(r) != q.columns {
			return nil, fmt.Errorf("a row has %d columns, not %d", len(r), q.columns)
		}
	}
	return q.take(rows)
}
