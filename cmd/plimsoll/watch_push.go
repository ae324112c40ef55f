package main

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"plimsoll/internal/record/recording"
)

const (
	// pushPatience is how long one request is retried before the receiver counts as unreachable.
	pushPatience = 15 * time.Second
	// pushProbe is the same for the first request after a failure.
	pushProbe = time.Second
	// pushEnd is how long the shutdown waits for the receiver.
	pushEnd = time.Second
)

// A steadyPusher pushes the samples of a watch. A plain pusher ends at the first refusal by its
// receiver; this one starts again, because a watch outlives its receivers.
type steadyPusher struct {
	dial   func(ctx context.Context, patience time.Duration) (*recording.Pusher, error)
	ctx    context.Context
	cancel context.CancelFunc

	mu   sync.Mutex
	now  *recording.Pusher // nil after a failure
	sent int64             // by pushers that have ended
}

func newSteadyPusher(ctx context.Context, to *pushOptions, src *sourceOptions) (*steadyPusher, error) {
	p := &steadyPusher{dial: func(ctx context.Context, patience time.Duration) (*recording.Pusher, error) {
		push := *to
		push.opt.Patience = patience
		return push.dial(ctx, src)
	}}
	// The rest is sent after the watch has ended.
	p.ctx, p.cancel = context.WithCancel(context.WithoutCancel(ctx))
	var err error
	if p.now, err = p.dial(p.ctx, pushPatience); err != nil {
		p.cancel()
	}
	return p, err
}

// Append implements [recording.Writer].
func (p *steadyPusher) Append(ctx context.Context, b *recording.Batch) error {
	p.mu.Lock()
	now := p.now
	p.mu.Unlock()

	if now == nil {
		return p.again(ctx, b)
	}

	err := now.Append(ctx, b)
	if err == nil {
		err = now.Flush(ctx)
	}

	if err != nil {
		_ = now.Close() // the pusher reports the same error
		p.count(now)
		p.use(nil)
	}

	return err
}

// again pushes a batch after a failure and waits for the response: only a receiver that accepts it
// is back.
func (p *steadyPusher) again(ctx context.Context, b *recording.Batch) error {
	try, err := p.dial(p.ctx, pushProbe)
	if err != nil {
		return err
	}

	// Close waits until the receiver has answered.
	err = errors.Join(try.Append(ctx, b), try.Close())
	p.count(try)
	if err != nil {
		return err
	}

	// The receiver is back, so requests get the full patience again.
	now, err := p.dial(p.ctx, pushPatience)
	if err == nil {
		p.use(now)
	}

	return err
}

// count keeps what an ended pusher has sent.
func (p *steadyPusher) count(ended *recording.Pusher) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sent += ended.Sent()
}

// Sent is how many samples the receiver has accepted.
func (p *steadyPusher) Sent() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.now != nil {
		return p.sent + p.now.Sent()
	}
	return p.sent
}

func (p *steadyPusher) use(now *recording.Pusher) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.now = now
}

// Note implements [recording.Writer]: a server takes no notes.
func (*steadyPusher) Note(recording.Note) {}

// Source implements [recording.Writer]: nor does a server need to know where samples come from.
func (*steadyPusher) Source(recording.Source) {}

// end sends the remaining samples within a time limit.
func (p *steadyPusher) end(log *slog.Logger) {
	if err := p.endWithin(pushEnd); err != nil {
		log.Warn("the last samples were not pushed", "error", err)
	}
}

var errNoResponse = errors.New("the receiver does not respond")

func (p *steadyPusher) endWithin(limit time.Duration) error {
	defer p.cancel()
	p.mu.Lock()
	now := p.now
	p.mu.Unlock()

	if now == nil {
		return nil
	}

	// Close may be blocked by the network, so it is left behind after the limit.
	closed := make(chan error, 1)
	go func() { closed <- now.Close() }()

	select {
	case err := <-closed:
		return err
	case <-time.After(limit):
		return errNoResponse
	}
}
