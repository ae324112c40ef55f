package watch

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"plimsoll/internal/record/recording"
)

const (
	// queuedMax bounds the values waiting to be written: at least a minute of a large source, 8 MB.
	queuedMax = 1 << 20
	// queuedItemsMax bounds the batches waiting to be written.
	queuedItemsMax = 4096
	// pauseMin and pauseMax bound the pause after a failed write.
	pauseMin = 5 * time.Second
	pauseMax = time.Minute
	// closeWithin is how long the watch waits for the queue at its end.
	closeWithin = time.Second
	// measureEvery is how often the ring's size is measured.
	measureEvery = 30 * time.Second
)

// A queue writes the ring, or pushes to a receiver, in a separate goroutine, so that a stalled disk
// or server does not delay sampling. After a failure it pauses, longer each time, and drops what is
// queued in the meantime. It logs once when it stops and once when it resumes.
type queue struct {
	out   recording.Writer
	words words
	log   *slog.Logger

	items chan queued
	ended chan struct{}

	mu     sync.Mutex
	values int   // waiting
	lost   int64 // values
	closed bool
	err    error // why it stopped; nil while it works
}

// words are a queue's log messages.
type words struct{ stopped, again, ended, source, gap string }

var (
	ringWords = words{
		stopped: "cannot write the ring on disk; watching continues in memory",
		again:   "writing the ring on disk again",
		ended:   "the ring's disk does not respond; the ring lacks the last samples", source: "ring",
		gap: "free space on its disk",
	}
	pushWords = words{
		stopped: "cannot push samples; watching continues", again: "pushing samples again",
		ended: "the receiver does not respond; it lacks the last samples", source: "remote write",
		gap: "see its log",
	}
)

// queued is one call of a Writer.
type queued struct {
	batch  *recording.Batch
	other  func(out recording.Writer) // another call than Append
	values int
}

func newQueue(out recording.Writer, w words, log *slog.Logger) *queue {
	q := &queue{out: out, words: w, log: log, items: make(chan queued, queuedItemsMax),
		ended: make(chan struct{})}
	go q.run()
	return q
}

// copied copies a batch, whose memory the caller reuses.
func copied(b *recording.Batch) queued {
	n := 0
	for _, c := range b.Columns {
		n += len(c.Values)
	}
	// One allocation for all columns: a batch has hundreds of them, each with a single value.
	slab := make([]float64, 0, n)
	own := &recording.Batch{TimesMs: append([]int64(nil), b.TimesMs...),
		Columns: make([]recording.Column, len(b.Columns))}
	for i, c := range b.Columns {
		from := len(slab)
		slab = append(slab, c.Values...)
		own.Columns[i] = recording.Column{Labels: c.Labels, Values: slab[from:len(slab):len(slab)]}
	}
	return queued{batch: own, values: n}
}

func (q *queue) put(item queued) {
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

// run writes the queued items.
func (q *queue) run() {
	defer close(q.ended)
	var (
		pause time.Duration // 0 while it works
		until time.Time
		from  int64 // time (ms) of the first lost sample
		last  int64
	)

	for item := range q.items {
		q.mu.Lock()
		q.values -= item.values
		q.mu.Unlock()

		if item.other != nil {
			item.other(q.out)
			continue
		}

		// While paused, drop samples without trying: each attempt may block on a broken disk.
		batch := item.batch
		if pause > 0 && time.Now().Before(until) {
			q.lose(item)
			continue
		}

		if err := q.out.Append(context.Background(), batch); err != nil {
			if pause == 0 {
				// The gap begins after the last sample written, or just before this one if there
				// was none.
				from = max(last, batch.TimesMs[0]-1)
				q.log.Error(q.words.stopped, "error", err)
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
			lost := time.UnixMilli(batch.TimesMs[0]).Sub(time.UnixMilli(from)).Round(time.Second)
			q.log.Info(q.words.again, "missing", lost.String())
			// The diagnosis of the ring must not treat the gap as a time without load.
			q.out.Note(recording.Note{Kind: recording.NoteGap, Source: q.words.source,
				From: time.UnixMilli(from).UTC(), To: time.UnixMilli(batch.TimesMs[0]).UTC(),
				Text: fmt.Sprintf("could not record for %s: %s", lost, q.words.gap)})
		}

		last = batch.TimesMs[len(batch.TimesMs)-1]
	}
}

func (q *queue) lose(item queued) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.lost += int64(item.values)
}

func (q *queue) stopped(err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.err = err
}

// health reports whether writing works, how many values were lost so far, and how many are waiting.
func (q *queue) health() (writing bool, lost int64, waiting int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.err == nil, q.lost, q.values
}

// close writes the queued samples, unless that takes too long.
func (q *queue) close() {
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
		q.log.Warn(q.words.ended)
	}
}

// measureRing periodically measures the ring's size. It has its own goroutine because the disk may
// be slow.
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
