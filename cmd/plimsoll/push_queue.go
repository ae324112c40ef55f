package main

import (
	"context"
	"slices"
	"sync"
	"time"

	"plimsoll/internal/record/recording"
)

const (
	// pushQueued bounds the batches that wait for a receiver: some minutes of a few sources.
	pushQueued = 1024
	// pushDrain is how long the end of a recording waits for the receiver.
	pushDrain = 10 * time.Second
)

// A pushQueue pushes samples without blocking the recording on disk, which matters more than a
// receiver that does not answer. It counts what does not fit into the queue or is refused.
type pushQueue struct {
	to    *steadyPusher
	items chan *recording.Batch
	ended chan struct{}

	mu   sync.Mutex
	lost int64
	err  error // why the last batch was lost; nil if the queue was full
}

func newPushQueue(ctx context.Context, to *steadyPusher) *pushQueue {
	q := &pushQueue{to: to, items: make(chan *recording.Batch, pushQueued), ended: make(chan struct{})}
	go func() {
		defer close(q.ended)
		for b := range q.items {
			if err := q.to.Append(ctx, b); err != nil {
				q.lose(b, err)
			}
		}
	}()
	return q
}

// Append implements [recording.Writer]. It never waits and never fails.
func (q *pushQueue) Append(_ context.Context, b *recording.Batch) error {
	// The caller reuses the batch after Append returns.
	own := &recording.Batch{TimesMs: slices.Clone(b.TimesMs), Columns: slices.Clone(b.Columns)}
	for i, c := range own.Columns {
		own.Columns[i].Values = slices.Clone(c.Values)
	}
	select {
	case q.items <- own:
	default:
		q.lose(own, errNoResponse)
	}
	return nil
}

func (q *pushQueue) lose(b *recording.Batch, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.err = err
	for _, c := range b.Columns {
		q.lost += countValues(c.Values, len(b.TimesMs))
	}
}

// Note implements [recording.Writer]: a server takes no notes.
func (*pushQueue) Note(recording.Note) {}

// Source implements [recording.Writer]: nor does a server need to know where samples come from.
func (*pushQueue) Source(recording.Source) {}

// end sends the queued batches within a time limit. It returns the number of samples that were not
// pushed, and why.
func (q *pushQueue) end(limit time.Duration) (lost int64, err error) {
	close(q.items)
	// Cancelling fails the remaining pushes immediately, which counts them as lost.
	timer := time.AfterFunc(limit, q.to.cancel)
	defer timer.Stop()
	<-q.ended

	closing := q.to.endWithin(limit)
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.err != nil {
		closing = q.err
	}
	return q.lost, closing
}
