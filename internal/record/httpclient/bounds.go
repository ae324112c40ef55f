package httpclient

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
)

// Bounds limit an answer after decompression and before decoding. 0 means no limit.
type Bounds struct {
	// Bytes limits its size.
	Bytes int64
	// Objects limits its JSON objects; eight fields count as one object. A decoded object of 40
	// bytes takes half a kilobyte.
	Objects int64
	// Hint is added to the error and says what to do.
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

// check returns an error if the amounts exceed the bounds. which follows the unit in its text.
func (b Bounds) check(bytes, fields int64, which string) error {
	switch {
	case b.Bytes > 0 && bytes > b.Bytes:
		return &TooLargeError{b.Bytes, "bytes" + which, b.Hint}
	case b.Objects > 0 && fields > objectFields*b.Objects:
		return &TooLargeError{b.Objects, "JSON objects" + which, b.Hint}
	}
	return nil
}

// A TooLargeError reports an answer over its bounds.
type TooLargeError struct {
	Max  int64
	Unit string // "bytes"
	Hint string
}

// Error names the exceeded bound.
func (e *TooLargeError) Error() string {
	text := fmt.Sprintf("the response is larger than %d %s", e.Max, e.Unit)
	if e.Hint != "" {
		text += ": " + e.Hint
	}
	return text
}

// A Budget bounds all answers of a run together, so that a server that always returns one more page cannot
// keep it running forever.
type Budget struct {
	most          Bounds
	bytes, fields atomic.Int64 // so far
}

// NewBudget returns a budget of most for all answers together.
func NewBudget(most Bounds) *Budget { return &Budget{most: most} }

// Context keys of settings for one request.
type (
	boundsKey struct{}
	budgetKey struct{}
	turnKey   struct{}
)

// WithBounds returns a context whose answers have stricter bounds than those of the client.
func WithBounds(ctx context.Context, b Bounds) context.Context {
	return context.WithValue(ctx, boundsKey{}, b)
}

// WithBudget returns a context whose answers are charged to a budget.
func WithBudget(ctx context.Context, b *Budget) context.Context {
	return context.WithValue(ctx, budgetKey{}, b)
}

// Turns let only a few large answers be read and decoded at the same time, so that concurrent
// requests together take the memory of these few.
type Turns struct {
	from int64 // bytes of a large answer
	busy chan struct{}
}

// NewTurns returns turns for answers of more than from bytes, and reads up to most of them at the same
// time.
func NewTurns(from int64, most int) *Turns {
	return &Turns{from: from, busy: make(chan struct{}, most)}
}

// Begin returns a context for one request, whose answer waits for its turn once it turns out to be
// large. The caller must call end when it holds only what it decoded from the answer.
func (t *Turns) Begin(ctx context.Context) (_ context.Context, end func()) {
	mine := &turn{Turns: t}
	return context.WithValue(ctx, turnKey{}, mine), mine.end
}

// A turn records whether one request holds a turn.
type turn struct {
	*Turns
	mu   sync.Mutex
	held bool
}

// wait waits for the turn, unless the request already has it.
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

// bound limits a body to the bounds of its client and of the request's context.
func bound(ctx context.Context, body io.ReadCloser, most Bounds) io.ReadCloser {
	if own, ok := ctx.Value(boundsKey{}).(Bounds); ok {
		most = most.within(own)
	}
	b := &boundedBody{ReadCloser: body, ctx: ctx, most: most}
	b.budget, _ = ctx.Value(budgetKey{}).(*Budget)
	b.turn, _ = ctx.Value(turnKey{}).(*turn)
	return b
}

// objectFields is the number of fields of a decoded object that take as much memory as an empty
// object.
const objectFields = 8

var errCompression = errors.New("the response is damaged: its compression cannot be undone; check proxies in between")

// A boundedBody fails as soon as an answer is larger than allowed.
type boundedBody struct {
	io.ReadCloser
	ctx    context.Context //nolint:containedctx // the context of the request
	most   Bounds
	budget *Budget
	turn   *turn
	bytes  int64
	fields int64 // JSON fields; an object counts as eight
}

// Read implements [io.Reader].
func (b *boundedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.bytes += int64(n)

	// net/http decompresses by itself and returns the decoder's error.
	var corrupt flate.CorruptInputError
	if errors.As(err, &corrupt) || errors.Is(err, gzip.ErrChecksum) || errors.Is(err, gzip.ErrHeader) {
		return n, errCompression
	}

	fields := int64(0)

	// Counting braces and colons overestimates if strings contain them, which is harmless: the
	// bounds are far above real answers.
	if b.most.Objects > 0 {
		fields = objectFields*int64(bytes.Count(p[:n], []byte{'{'})) + int64(bytes.Count(p[:n], []byte{':'}))
	}

	b.fields += fields
	if err := b.most.check(b.bytes, b.fields, ""); err != nil {
		return 0, err
	}

	if b.budget != nil {
		if err := b.budget.most.check(b.budget.bytes.Add(int64(n)), b.budget.fields.Add(fields),
			" including the previous ones"); err != nil {
			return 0, err
		}
	}

	// Only an answer that proves to be large waits, so small ones are never delayed.
	if b.turn != nil && b.bytes > b.turn.from {
		if err := b.turn.wait(b.ctx); err != nil {
			return 0, err
		}
	}

	return n, err
}
