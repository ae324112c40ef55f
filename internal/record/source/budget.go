package source

import (
	"fmt"
	"net"
	"sync/atomic"
)

// A Budget bounds the bytes that a server may send in answer to one request, whatever they are in
// its protocol: rows, notices, documents or noise. The memory that a client library needs for an
// answer is proportional to its bytes.
type Budget struct {
	max  int64
	left atomic.Int64
}

// NewBudget returns a budget of the given number of bytes per request.
func NewBudget(bytes int64) *Budget {
	b := &Budget{max: bytes}
	b.Renew()
	return b
}

// Renew starts another request.
func (b *Budget) Renew() { b.left.Store(b.max) }

// Err returns an error if the budget is exhausted, else nil. A library may have replaced the error
// of the connection with its own.
func (b *Budget) Err() error {
	if b.left.Load() > 0 {
		return nil
	}
	return &TooMuchError{b.max, "bytes"}
}

// Conn returns a connection on which reads fail with a [TooMuchError] once the budget is exhausted.
func (b *Budget) Conn(c net.Conn) net.Conn { return &bounded{c, b} }

// A TooMuchError reports an answer over its bound.
type TooMuchError struct {
	// Max is the bound in Units.
	Max  int64
	Unit string
}

// Error names the bound.
func (e *TooMuchError) Error() string {
	return fmt.Sprintf("the answer is larger than %d %s", e.Max, e.Unit)
}

type bounded struct {
	net.Conn
	budget *Budget
}

// Read implements net.Conn.
func (c *bounded) Read(p []byte) (int, error) {
	if err := c.budget.Err(); err != nil {
		return 0, err
	}
	n, err := c.Conn.Read(p)
	// Charged after the read, so an answer may exceed the budget by one buffer.
	c.budget.left.Add(-int64(n))
	return n, err
}
