package source

import (
	"fmt"
	"net"
	"sync/atomic"
)

// A Budget bounds what a server may send in answer to one request, whatever its protocol makes of
// it: rows, notices, documents or noise. What a client's library holds of an answer is in
// proportion to the bytes that came.
type Budget struct {
	max  int64
	left atomic.Int64
}

// NewBudget returns a budget of so many bytes per request.
func NewBudget(bytes int64) *Budget {
	b := &Budget{max: bytes}
	b.Renew()
	return b
}

// Renew begins another request.
func (b *Budget) Renew() { b.left.Store(b.max) }

// Err is the error of a spent budget, nil if there is some left. A library may have replaced the
// connection's error by one of its own.
func (b *Budget) Err() error {
	if b.left.Load() > 0 {
		return nil
	}
	return &TooMuchError{b.max, "bytes"}
}

// Conn returns a connection whose reading ends with a [TooMuchError] when the budget is spent.
func (b *Budget) Conn(c net.Conn) net.Conn { return &bounded{c, b} }

// A TooMuchError is the error of an answer over its bound.
type TooMuchError struct {
	// Max is the bound, of what Unit says.
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
	c.budget.left.Add(-int64(n))
	return n, err
}
