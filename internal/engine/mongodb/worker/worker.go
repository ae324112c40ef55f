//go:build linux

package worker

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"plimsoll/internal/lab/process"
)

// A worker is the process, with the callers that wait for its answers.
type worker struct {
	process *process.Process
	in      *os.File
	sending sync.Mutex

	mu      sync.Mutex
	next    uint64
	waiting map[uint64]chan frame
	ended   error         // why no more answers will come
	gone    chan struct{} // closed when ended is set

	checkpoint func(at time.Time, began bool)
}

// errKilled is the error of operations in progress when the worker is killed on purpose.
var errKilled = errors.New("WiredTiger was stopped")

// spawning holds the options of a worker's process.
type spawning struct {
	path       string
	user       *process.User
	line       func(string)
	checkpoint func(at time.Time, began bool) // called from one goroutine
}

// spawn starts a worker and waits for its hello.
func spawn(ctx context.Context, how spawning) (*worker, error) {
	if err := how.user.Admit(how.path); err != nil {
		return nil, err
	}

	stdin, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}

	out, stdout, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, stdin.Close(), in.Close())
	}

	opt := process.Options{Path: how.path, User: how.user, Line: how.line, Stdin: stdin, Stdout: stdout}
	if dirs := os.Getenv("LD_LIBRARY_PATH"); dirs != "" {
		opt.Env = []string{"LD_LIBRARY_PATH=" + dirs} // for a WiredTiger that the user built
	}

	p, err := process.Start(opt)
	// The child has its own copies; ours must close, or the end of the child is not seen.
	_, _ = stdin.Close(), stdout.Close()
	if err != nil {
		return nil, errors.Join(err, in.Close(), out.Close())
	}

	w := newWorker(in)
	w.process, w.checkpoint = p, how.checkpoint
	hello := make(chan error, 1)
	go w.listen(out, hello)

	select {
	case err = <-hello:
	case <-ctx.Done():
		err = ctx.Err()
	}

	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", how.path, err), w.kill())
	}

	return w, nil
}

func newWorker(in *os.File) *worker {
	return &worker{in: in, waiting: map[uint64]chan frame{}, gone: make(chan struct{})}
}

// listen reads the worker's output until it ends.
func (w *worker) listen(out *os.File, hello chan<- error) {
	defer out.Close()
	r := bufio.NewReaderSize(out, 64<<10)
	f, err := readFrame(r)
	if err == nil {
		_, err = parseHello(f)
	} else if p := w.process.Err(); errors.Is(err, io.EOF) && p != nil {
		// The process's own error is more useful than the end of its output.
		err = p
	}

	hello <- err
	for err == nil {
		if f, err = readFrame(r); err == nil {
			err = w.dispatch(f)
		}
	}

	w.end(err)
}

// dispatch passes a frame to its caller.
func (w *worker) dispatch(f frame) error {
	if f.id == 0 {
		if f.status != statusBegan && f.status != statusEnded {
			return fmt.Errorf("unsolicited frame with status %d", f.status)
		}
		at, _, err := parseTime(f.body)
		if err == nil && w.checkpoint != nil {
			w.checkpoint(at, f.status == statusBegan)
		}
		return err
	}

	w.mu.Lock()
	c, ok := w.waiting[f.id]
	delete(w.waiting, f.id) // a second answer would block
	w.mu.Unlock()

	if ok { // otherwise the caller has given up
		c <- f
	}

	return nil
}

// end returns the process's error to all callers if it ended, otherwise err.
func (w *worker) end(err error) {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		select { // spawn may be about to wait for the process
		case <-w.process.Done():
		case <-time.After(time.Second):
		}
		if p := w.process.Err(); p != nil {
			err = p
		}
	}
	w.close(err)
}

// close returns an error to all callers, present and future.
func (w *worker) close(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended == nil {
		w.ended = err
		close(w.gone)
	}
}

// lastWords is how long a worker that accepts no more requests has to report the reason: twice as long
// as end waits for its process.
const lastWords = 2 * time.Second

// endWith ends a worker to which a request could not be written. Its last message, at the end of
// its output, is more informative than a broken pipe, so endWith waits for it.
func (w *worker) endWith(err error) {
	select {
	case <-w.gone:
	case <-time.After(lastWords):
		w.end(err)
	}
}

// call sends a request and waits for its answer. fill appends the body.
func (w *worker) call(ctx context.Context, k kind, fill func([]byte) ([]byte, error)) ([]byte, error) {
	answer := make(chan frame, 1)
	w.mu.Lock()
	if w.ended != nil {
		defer w.mu.Unlock()
		return nil, w.ended
	}

	w.next++
	id := w.next
	w.waiting[id] = answer
	w.mu.Unlock()
	defer w.forget(id)
	b := request(id, k)

	if fill != nil {
		var err error
		if b, err = fill(b); err != nil {
			return nil, err
		}
	}

	// Not returned here: the answer, or the worker's own error, says more.
	if err := w.send(sealed(b)); err != nil {
		w.endWith(err)
	}

	select {
	case f := <-answer:
		if f.status == statusFailed {
			return nil, fmt.Errorf("WiredTiger: %s", f.body)
		}
		if f.status != statusDone {
			return nil, fmt.Errorf("WiredTiger's worker answered with status %d", f.status)
		}
		return f.body, nil
	case <-w.gone:
		return nil, w.ended
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// forget removes a request. An answer that comes later is dropped.
func (w *worker) forget(id uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.waiting, id)
}

// send writes a frame.
func (w *worker) send(b []byte) error {
	w.sending.Lock()
	defer w.sending.Unlock()
	_, err := w.in.Write(b)
	return err
}

// open opens the database and returns how many oplog entries were reapplied.
func (w *worker) open(ctx context.Context, c *configuration) (again uint64, err error) {
	body, err := w.call(ctx, kindOpen, func(b []byte) ([]byte, error) {
		put := func(all ...uint32) {
			for _, x := range all {
				b = binary.LittleEndian.AppendUint32(b, x)
			}
		}

		// The order of the fields is the worker's protocol.
		put(uint32(c.threads), uint32(c.threads), c.checkpointMs, c.syncMs)
		flags := byte(0)
		if c.log {
			flags |= 1
		}

		if c.whole {
			flags |= 2
		}

		b = append(b, flags, c.randomPercent)
		put(c.indexes, c.indexEntry, c.oplogRecord, c.oplogBytes)
		b = binary.LittleEndian.AppendUint64(b, uint64(c.oplogSize))

		return texts(b, c.home, c.connection, c.documents, c.index, c.oplog)
	})
	if err != nil {
		return 0, err
	}

	if len(body) != 8 {
		return 0, errShort
	}

	return binary.LittleEndian.Uint64(body), nil
}

// kill ends the worker as a power loss does.
func (w *worker) kill() error {
	w.close(errKilled)
	return errors.Join(w.process.Kill(), w.in.Close())
}

// quit closes the database cleanly, or kills the worker if the context ends first.
func (w *worker) quit(ctx context.Context) error {
	// A worker that is frozen reads nothing, so that even the request would block.
	stop := context.AfterFunc(ctx, func() { _ = w.kill() })
	defer stop()

	_, err := w.call(ctx, kindQuit, nil)
	if err == nil {
		select {
		case <-w.process.Done():
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	return errors.Join(err, w.kill())
}
