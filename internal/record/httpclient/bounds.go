package httpclient

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
)

// Bounds limit an answer after decompression, before it is decoded. 0 is no limit.
type Bounds struct {
	// Bytes is its size.
	Bytes int64
	// Objects is how many JSON objects it may have; eight fields count as one. Decoded, an object of 40
	// bytes takes half a kilobyte.
	Objects int64
	// Hint says in the error what to do.
	Hint string
}

// within returns the stricter of two bounds.
func (b Bounds) within(other Bounds) Bounds {
	return Bounds{Bytes: stricter(b.Bytes, other.Bytes), Objects: stricter(b.Objects, other.Objects),
		Hint: b.Hint}
}

func stricter(a, b int64) int64 {
	if a == 0 || b > 0 && b < a {
		return b
	}
	return a
}

// check returns the error of so much over the bounds. which follows the unit in it.
func (b Bounds) check(bytes, fields int64, which string) error {
	switch {
	case b.Bytes > 0 && bytes > b.Bytes:
		return &TooLargeError{b.Bytes, "bytes" + which, b.Hint}
	case b.Objects > 0 && fields > objectFields*b.Objects:
		return &TooLargeError{b.Objects, "JSON objects" + which, b.Hint}
	}
	return nil
}

// A TooLargeError is the error of an answer over its bounds.
type TooLargeError struct {
	Max  int64
	Unit string // "bytes"
	Hint string
}

// Error names the bound.
func (e *TooLargeError) Error() string {
	text := fmt.Sprintf("the response is larger than %d %s", e.Max, e.Unit)
	if e.Hint != "" {
		text += ": " + e.Hint
	}
	return text
}

// A Budget bounds all answers of a run together: a server that always has one more page ends the run.
type Budget struct {
	most          Bounds
	bytes, fields atomic.Int64 // so far
}

// NewBudget returns a budget of so much.
func NewBudget(most Bounds) *Budget { return &Budget{most: most} }

// Context keys of what holds for one request.
type (
	boundsKey struct{}
	budgetKey struct{}
	turnKey   struct{}
)

// WithBounds returns a context whose answers have stricter bounds than their client's.
func WithBounds(ctx context.Context, b Bounds) context.Context {
	return context.WithValue(ctx, boundsKey{}, b)
}

// WithBudget returns a context whose answers are charged to a budget.
func WithBudget(ctx context.Context, b *Budget) context.Context {
	return context.WithValue(ctx, budgetKey{}, b)
}

// Turns let large answers be read and decoded one at a time, so that as many of them as there are
// concurrent requests take the memory of one.
type Turns struct {
	from int64 // bytes of a large answer
	busy chan struct{}
}

// NewTurns returns turns for answers of more than so many bytes.
func NewTurns(from int64) *Turns { return &Turns{from: from, busy: make(chan struct{}, 1)} }

// Begin returns a context for one request whose answer waits for its turn when it turns out to be large.
// end is to be called when what was decoded of the answer is all that is still held.
func (t *Turns) Begin(ctx context.Context) (_ context.Context, end func()) {
	mine := &turn{Turns: t}
	return context.WithValue(ctx, turnKey{}, mine), mine.end
}

// A turn is that of one request.
type turn struct {
	*Turns
	mu   sync.Mutex
	held bool
}

// wait waits for the turn, unless it has come already.
func (t *turn) wait(ctx context.Context) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.held {
		return nil
	}
	select {
	case t.busy <- struct{}{}:
		t.held = true
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (t *turn) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.held {
		t.held = false
		<-t.busy
	}
}

// bound limits a body by its client's bounds, and by those of the request's context.
func bound(ctx context.Context, body io.ReadCloser, most Bounds) io.ReadCloser {
	if own, ok := ctx.Value(boundsKey{}).(Bounds); ok {
		most = most.within(own)
	}
	b := &boundedBody{ReadCloser: body, ctx: ctx, most: most}
	b.budget, _ = ctx.Value(budgetKey{}).(*Budget)
	b.turn, _ = ctx.Value(turnKey{}).(*turn)
	return b
}

// objectFields is how many fields of a decoded object take as much memory as an empty one.
const objectFields = 8

// A boundedBody fails as soon as an answer is larger than allowed.
type boundedBody struct {
	io.ReadCloser
	ctx    context.Context //nolint:containedctx // that of its request
	most   Bounds
	budget *Budget
	turn   *turn
	bytes  int64
	fields int64 // of JSON; an object counts as eight
}

// Read implements [io.Reader].
func (b *boundedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.bytes += int64(n)
	fields := int64(0)

	if b.most.Objects > 0 {
		fields = objectFields*int64(bytes.Count(p[:n], []byte{'{'})) + int64(bytes.Count(p[:n], []byte{':'}))
	}

	b.fields += fields
	if err := b.most.check(b.bytes, b.fields, ""); err != nil {
		return 0, err
	}

	if b.budget != nil {
		if err := b.budget.most.check(b.budget.bytes.Add(int64(n)), b.budget.fields.Add(fields),
			" together with those before it"); err != nil {
			return 0, err
		}
	}

	if b.turn != nil && b.bytes > b.turn.from {
		if err := b.turn.wait(b.ctx); err != nil {
			return 0, err
		}
	}

	return n, err
}
