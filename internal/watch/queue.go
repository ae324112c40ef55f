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
	// queuedMax bounds the values that wait to be written: a minute and more of a large source, 8
	// MB.
	queuedMax = 1 << 20
	// queuedItemsMax bounds the batches that wait.
	queuedItemsMax = 4096
	// pauseMin and pauseMax bound the pause after a failed write.
	pauseMin = 5 * time.Second
	pauseMax = time.Minute
	// closeWithin is how long the end of watching waits for what is queued.
	closeWithin = time.Second
	// measureEvery is how often the ring's size is measured.
	measureEvery = 30 * time.Second
)

// A queue writes the ring, or pushes to a receiver, in a goroutine of its own, so that a disk or a
// server that stalls does not hold up sampling. After a failure it pauses, longer each time, and
// drops what is queued meanwhile. It logs once when it stops and once when it resumes.
type queue struct {
	out   recording.Writer
	words words
	log   *slog.Logger

	items chan queued
	ended chan struct{}

	mu     sync.Mutex
	values int   // waiting
	lost   int64 // samples
	closed bool
	err    error // why it stopped; nil while it writes
}

// words are the messages about a queue.
type words struct{ stopped, again, ended, source, gap string }

var (
	ringWords = words{
		stopped: "the ring on disk cannot be written; watching continues in memory",
		again:   "the ring on disk is written again",
		ended:   "the ring's disk does not respond; the last samples are not in it", source: "ring",
		gap: "free space on its disk",
	}
	pushWords = words{
		stopped: "samples cannot be pushed; watching continues", again: "samples are pushed again",
		ended: "the receiver does not respond; it lacks the last samples", source: "remote write",
		gap: "see its log",
	}
)

// queued is one call of a Writer.
type queued struct {
	batch  *recording.Batch
	note   *recording.Note
	source *recording.Source
	mark   *recording.Mark
	values int
}

func newQueue(out recording.Writer, w words, log *slog.Logger) *queue {
	q := &queue{out: out, words: w, log: log, items: make(chan queued, queuedItemsMax),
		ended: make(chan struct{})}
	go q.run()
	return q
}

// copied is a copy of a batch: the original's memory returns to the caller.
func copied(b *recording.Batch) queued {
	n := 0
	for _, c := range b.Columns {
		n += len(c.Values)
	}
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

// run writes what is queued.
func (q *queue) run() {
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
			q.out.Note(*item.note)
			continue
		case item.source != nil:
			q.out.Source(*item.source)
			continue
		case item.mark != nil:
			if out, ok := q.out.(markedRing); ok {
				if err := out.Mark(*item.mark); err != nil {
					q.log.Warn("the mark is not in the ring", "error", err)
				}
			}
			continue
		}

		b := item.batch
		if pause > 0 && time.Now().Before(until) {
			q.lose(item)
			continue
		}

		if err := q.out.Append(context.Background(), b); err != nil {
			if pause == 0 {
				from = max(last, b.TimesMs[0]-1)
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
			lost := time.UnixMilli(b.TimesMs[0]).Sub(time.UnixMilli(from)).Round(time.Second)
			q.log.Info(q.words.again, "missing", lost.String())
			q.out.Note(recording.Note{Kind: recording.NoteGap, Source: q.words.source,
				From: time.UnixMilli(from).UTC(), To: time.UnixMilli(b.TimesMs[0]).UTC(),
				Text: fmt.Sprintf("the recorder could not write for %s: %s", lost, q.words.gap)})
		}

		last = b.TimesMs[len(b.TimesMs)-1]
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

// health reports whether it is being written, how many values were lost so far, and how many wait.
func (q *queue) health() (writing bool, lost int64, waiting int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.err == nil, q.lost, q.values
}

// close writes what is queued, for as long as that does not take long.
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

// measureRing measures the ring's size now and then, in its own goroutine: its disk may be slow.
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
