package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"time"

	"plimsoll/internal/base/safefile"
)

// unreadAfter is how long a write to stdout or stderr may still take once the command was interrupted.
const unreadAfter = 300 * time.Millisecond

// errUnread is the error of an output that no process reads, when the command is interrupted.
var errUnread = fmt.Errorf("the output is not read: %w", context.Canceled)

// interruptible is an output whose writes end when the command is interrupted, even if its reader
// has stopped reading: a write to a full pipe cannot be cancelled, so it is left behind in its
// goroutine.
type interruptible struct {
	w     io.Writer
	ended <-chan struct{} // the command was interrupted

	mu     sync.Mutex
	unread bool
}

// endWith makes an output's writes end with a context. A file needs no such care.
func (s *stream) endWith(ctx context.Context) {
	if f, ok := s.Writer.(*os.File); ok {
		if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
			return
		}
	}
	s.Writer = &interruptible{w: s.Writer, ended: ctx.Done()}
}

// Write implements [io.Writer].
func (o *interruptible) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.unread {
		return 0, errUnread
	}

	type result struct {
		n   int
		err error
	}

	done := make(chan result, 1)
	text := append([]byte(nil), p...) // a write that is left behind still reads it
	go func() {
		n, err := o.w.Write(text)
		done <- result{n, err}
	}()

	select {
	case r := <-done:
		return r.n, r.err
	case <-o.ended:
	}

	select {
	case r := <-done:
		return r.n, r.err
	case <-time.After(unreadAfter):
		// Further writes fail immediately instead of waiting again.
		o.unread = true
		return 0, errUnread
	}
}

// firstError keeps the error of an output from a writer that would print it.
type firstError struct {
	w   io.Writer
	err error
}

// Write implements [io.Writer].
func (f *firstError) Write(p []byte) (int, error) {
	if f.err == nil {
		_, f.err = f.w.Write(p)
	}
	return len(p), nil
}

// The bounds of a lineQueue.
const (
	queuedLinesMax = 4096
	queuedBytesMax = 1 << 20
)

// A lineQueue hands lines to an output that may block, without blocking itself: a watch continues when
// no process reads its log. Lines beyond its bounds are dropped and counted.
type lineQueue struct {
	w    io.Writer
	note func(dropped int) // writes to w how many lines were dropped
	gone chan struct{}     // its goroutine ended

	mu      sync.Mutex
	queued  [][]byte
	bytes   int
	dropped int
	closed  bool
	wake    chan struct{}
}

func newLineQueue(w io.Writer, note func(dropped int)) *lineQueue {
	q := &lineQueue{w: w, note: note, gone: make(chan struct{}), wake: make(chan struct{}, 1)}
	go q.run()
	return q
}

// Write implements [io.Writer], for one line.
func (q *lineQueue) Write(p []byte) (int, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	// A dropped line counts as written, because a logger cannot handle the error.
	if q.closed || len(q.queued) >= queuedLinesMax || q.bytes+len(p) > queuedBytesMax {
		q.dropped++
		return len(p), nil
	}
	q.queued = append(q.queued, append([]byte(nil), p...))
	q.bytes += len(p)
	q.signal()
	return len(p), nil
}

func (q *lineQueue) signal() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// next takes the oldest line or, once no line is left, the number of dropped lines.
func (q *lineQueue) next() (line []byte, dropped int, closed bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case len(q.queued) > 0:
		line, q.queued = q.queued[0], q.queued[1:]
		q.bytes -= len(line)
	case q.dropped > 0:
		dropped, q.dropped = q.dropped, 0
	}
	return line, dropped, q.closed
}

func (q *lineQueue) run() {
	defer close(q.gone)
	for {
		line, dropped, closed := q.next()
		switch {
		case line != nil:
			_, _ = q.w.Write(line) // there is no other place to report it
		case dropped > 0:
			q.note(dropped)
		case closed:
			return
		default:
			<-q.wake
		}
	}
}

// close waits until the lines are written, or for a short time if the output is not read.
func (q *lineQueue) close() {
	q.mu.Lock()
	q.closed = true
	q.signal()
	q.mu.Unlock()
	select {
	case <-q.gone:
	case <-time.After(2 * unreadAfter):
	}
}

// toFile lets write print into the file of --out, or on stdout without one. exists is the hint for a file
// that is there already; it is never overwritten unless forced.
func (a *app) toFile(path string, force bool, exists string, write func(a *app) error) error {
	if path == "" {
		return write(a)
	}
	f, err := safefile.Create(path, safefile.Options{New: !force})
	switch {
	case errors.Is(err, fs.ErrExist):
		return failf(exitFailure, exists, "--out: %s already exists", path)
	case err != nil:
		return failf(exitFailure, "name a file that you can write", "--out: %w", err)
	}
	to := *a
	to.stdout = stream{Writer: f}
	if err := write(&to); err != nil {
		return errors.Join(err, f.Discard())
	}
	return f.Commit()
}

// replaces returns an error if a file that a flag names exists already and may not be overwritten. It is
// called before the work that fills the file, so that nothing is lost; creating the file checks again.
func replaces(flag, path string, force bool) error {
	if path == "" || force {
		return nil
	}
	// If it cannot be inspected, creating it reports what is wrong.
	if _, err := os.Lstat(path); err == nil {
		return failf(exitFailure, "--force overwrites it", "%s: %s already exists", flag, path)
	}
	return nil
}
