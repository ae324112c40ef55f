package watch

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"plimsoll/recording"
)

const (
	// queuedMax bounds the values that wait to be written: a minute and more of a large source, 8 MB.
	queuedMax = 1 << 20
	// queuedItemsMax bounds the batches that wait.
	queuedItemsMax = 4096
	// pauseMin and pauseMax are how long a ring that could not be written is left alone.
	pauseMin = 5 * time.Second
	pauseMax = time.Minute
	// closeWithin is how long the end of watching waits for what is queued.
	closeWithin = time.Second
	// measureEvery is how often the ring's size is looked at.
	measureEvery = 30 * time.Second
)

// A ringQueue writes a ring in a goroutine of its own, so that a disk that stalls keeps nobody from sampling. When the ring
// cannot be written it is left alone for a while, each time longer, and what would have gone there is lost to
// it; that it stops and that it goes on is said once each.
type ringQueue struct {
	ring Ring
	log  *slog.Logger

	items chan queued
	ended chan struct{}

	mu     sync.Mutex
	values int   // waiting
	lost   int64 // samples
	closed bool
	err    error // why it stopped; nil while it writes
}

// queued is one call of the ring's Writer.
type queued struct {
	batch  *recording.Batch
	note   *recording.Note
	source *recording.Source
	values int
}

func newRingQueue(ring Ring, log *slog.Logger) *ringQueue {
	q := &ringQueue{ring: ring, log: log, items: make(chan queued, queuedItemsMax), ended: make(chan struct{})}
	go q.run()
	return q
}

// batch queues a copy of a batch, whose memory is the caller's again.
func (q *ringQueue) batch(b *recording.Batch) {
	n := 0
	for _, c := range b.Columns {
		n += len(c.Values)
	}
	slab := make([]float64, 0, n)
	own := &recording.Batch{TimesMs: append([]int64(nil), b.TimesMs...), Columns: make([]recording.Column, len(b.Columns))}
	for i, c := range b.Columns {
		from := len(slab)
		slab = append(slab, c.Values...)
		own.Columns[i] = recording.Column{Labels: c.Labels, Values: slab[from:len(slab):len(slab)]}
	}
	q.put(queued{batch: own, values: n})
}

func (q *ringQueue) note(n recording.Note)     { q.put(queued{note: &n}) }
func (q *ringQueue) source(s recording.Source) { q.put(queued{source: &s}) }

func (q *ringQueue) put(item queued) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return
	}
	if q.values+item.values > queuedMax {
		q.lost += int64(item.values)
		return
	}
	select {
	case q.items <- item:
		q.values += item.values
	default:
		q.lost += int64(item.values)
	}
}

// run writes what is queued.
func (q *ringQueue) run() {
	defer close(q.ended)
	var (
		pause time.Duration // 0 while it writes
		until time.Time
		from  int64 // time (ms) of the first sample that was lost
		last  int64
	)
	for item := range q.items {
		q.mu.Lock()
		q.values -= item.values
		q.mu.Unlock()
		switch {
		case item.note != nil:
			q.ring.Note(*item.note)
			continue
		case item.source != nil:
			q.ring.Source(*item.source)
			continue
		}
		b := item.batch
		if pause > 0 && time.Now().Before(until) {
			q.lose(item)
			continue
		}
		if err := q.ring.Append(context.Background(), b); err != nil {
			if pause == 0 {
				from = max(last, b.TimesMs[0]-1)
				q.log.Error("the ring on disk cannot be written; watching goes on in memory", "error", err)
			}
			pause = min(max(pauseMin, 2*pause), pauseMax)
			until = time.Now().Add(pause)
			q.stopped(err)
			q.lose(item)
			continue
		}
		if pause > 0 {
			pause = 0
			q.stopped(nil)
			lost := time.UnixMilli(b.TimesMs[0]).Sub(time.UnixMilli(from)).Round(time.Second)
			q.log.Info("the ring on disk is written again", "missing", lost.String())
			q.ring.Note(recording.Note{Kind: recording.NoteGap, Source: "ring", From: time.UnixMilli(from).UTC(), To: time.UnixMilli(b.TimesMs[0]).UTC(),
				Text: fmt.Sprintf("the recorder could not write for %s: free space on its disk", lost)})
		}
		last = b.TimesMs[len(b.TimesMs)-1]
	}
}

func (q *ringQueue) lose(item queued) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.lost += int64(item.values)
}

func (q *ringQueue) stopped(err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.err = err
}

// health is whether the ring is written, and how many values it lost so far.
func (q *ringQueue) health() (writing bool, lost int64, waiting int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.err == nil, q.lost, q.values
}

// close writes what is queued, for as long as that does not take long.
func (q *ringQueue) close() {
	q.mu.Lock()
	if !q.closed {
		q.closed = true
		close(q.items)
	}
	q.mu.Unlock()
	t := time.NewTimer(closeWithin)
	defer t.Stop()
	select {
	case <-q.ended:
	case <-t.C:
		q.log.Warn("the ring's disk does not answer; the last samples are not in it")
	}
}

// measureRing looks now and then how large the ring is: its disk may answer slowly, so nobody else waits for it.
func (w *Watch) measureRing(ctx context.Context) {
	for {
		if n, err := w.opt.Ring.Bytes(); err == nil {
			w.mu.Lock()
			w.state.ringBytes = n
			w.mu.Unlock()
		}
		if !sleep(ctx, measureEvery) {
			return
		}
	}
}
