//go:build linux

package server

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"plimsoll/internal/lab/ioloop"
)

// A logFile is appended to and starts over at its end.
type logFile struct {
	size int64

	mu   sync.Mutex
	file *os.File
	end  int64
	lap  uint32
	// older are the remaining records of the previous lap, laid those of this one, in order.
	older, laid []placed
	gone        map[uint64]uint64 // maps a key to the seq that was overwritten
	newest      map[uint64]uint64 // maps a key to the seq that was written last

	waiting []waiter
	busy    bool // a sync is in progress
}

// A waiter has appended and waits for a sync of the file that it wrote to. A restart opens a new
// file.
type waiter struct {
	done chan turn
	file *os.File
}

// A placed record is a record with its position.
type placed struct {
	record
	at, end int64
}

// A turn is sent to a waiter: the sync's outcome, or the order to sync.
type turn struct {
	err  error
	lead bool
}

// createLog creates and opens the file.
func createLog(ctx context.Context, path string, size int64, prewritten bool) (*logFile, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	if err = unix.Fallocate(int(f.Fd()), 0, 0, size); errors.Is(err, unix.EOPNOTSUPP) {
		err = nil
	}
	if err == nil && prewritten {
		err = ioloop.Lay(ctx, f, size, nil, func(int64) {})
	}
	if err = errors.Join(err, f.Sync()); err != nil {
		return nil, errors.Join(fmt.Errorf("laying out the log: %w", err), f.Close())
	}
	return &logFile{size: size, file: f, lap: 1, gone: map[uint64]uint64{}, newest: map[uint64]uint64{}}, nil
}

// append writes a record of the given length and returns when it is durable.
func (l *logFile) append(r record, length int64) error {
	l.mu.Lock()
	if l.file == nil {
		l.mu.Unlock()
		return errDown
	}

	if err := l.write(r, length); err != nil {
		l.mu.Unlock()
		return fmt.Errorf("appending to the log: %w", err)
	}

	mine := make(chan turn, 1)
	l.waiting = append(l.waiting, waiter{mine, l.file})

	// The first waiter leads: it syncs for all that append before the sync begins.
	if !l.busy {
		l.busy = true
		mine <- turn{lead: true}
	}

	l.mu.Unlock()
	for t := range mine {
		if !t.lead {
			return t.err
		}
		l.sync()
	}

	return nil
}

// write writes a record at the end. The caller holds the lock.
func (l *logFile) write(r record, length int64) error {
	if length > l.size {
		l.size = length // as in the model: the file is at least as large as its largest record
	}

	// The end of the file is reached: the next lap overwrites it from the start.
	if l.end+length > l.size {
		for _, p := range l.older {
			l.forget(p)
		}
		l.older, l.laid, l.end = l.laid, nil, 0
		l.lap++
	}

	r.lap = l.lap
	b := make([]byte, length)
	r.put(b)

	at := l.end
	// Records of the previous lap that this one overwrites are no longer expected after a crash.
	for len(l.older) > 0 && l.older[0].at < at+length {
		l.forget(l.older[0])
		l.older = l.older[1:]
	}

	if _, err := l.file.WriteAt(b, at); err != nil {
		return err
	}

	l.end += length
	l.laid = append(l.laid, placed{r, at, l.end})
	l.newest[r.key] = max(l.newest[r.key], r.seq)

	return nil
}

// forget remembers a record that is overwritten.
func (l *logFile) forget(p placed) { l.gone[p.key] = max(l.gone[p.key], p.seq) }

// sync makes appended records durable, notifies their waiters, and passes on the lead.
func (l *logFile) sync() {
	l.mu.Lock()
	served, file := l.waiting, l.file
	l.waiting = nil
	l.mu.Unlock()
	err := errDown

	if file != nil {
		err = datasync(file)
	}

	l.mu.Lock()
	if len(l.waiting) > 0 {
		l.waiting[0].done <- turn{lead: true}
	} else {
		l.busy = false
	}

	l.mu.Unlock()

	// After a restart, a sync of the new file says nothing about the old one.
	for _, w := range served {
		if w.file != file {
			w.done <- turn{err: errDown}
			continue
		}
		w.done <- turn{err: err}
	}
}

// datasync is fdatasync on a file that another goroutine may close.
func datasync(f *os.File) error {
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var sync error
	err = raw.Control(func(fd uintptr) {
		for sync = unix.Fdatasync(int(fd)); errors.Is(sync, unix.EINTR); {
			sync = unix.Fdatasync(int(fd))
		}
	})
	return errors.Join(err, os.NewSyscallError("fdatasync", sync))
}

// close closes the file without flushing.
func (l *logFile) close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	f := l.file
	l.file = nil
	if f == nil {
		return nil
	}
	return f.Close()
}

// open reads the file after a restart: the records, and the end of the newest lap.
func (l *logFile) open(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}

	text, err := io.ReadAll(io.LimitReader(f, l.size))
	if err != nil {
		return errors.Join(fmt.Errorf("scanning the log: %w", err), f.Close())
	}

	l.mu.Lock()
	defer l.mu.Unlock()
	l.file, l.end = f, 0
	found := scan(text)

	last := uint32(0)
	for _, p := range found {
		// The highest lap is the one that was being written.
		last = max(last, p.lap)
	}

	l.lap = max(l.lap, last)
	l.older, l.laid = nil, nil

	seqs := maps.Clone(l.gone)
	for _, p := range found {
		if p.lap == last {
			l.laid, l.end = append(l.laid, p), p.end
		}
		seqs[p.key] = max(seqs[p.key], p.seq)
	}

	for _, p := range found {
		// Older records before the end were overwritten, even if parts of them can still be read.
		if p.lap != last && p.at >= l.end {
			l.older = append(l.older, p)
		}
	}

	l.newest = seqs
	return nil
}

// scan returns all complete records.
func scan(text []byte) []placed {
	magic := binary.LittleEndian.AppendUint32(nil, recordMagic)
	var out []placed
	for at := 0; at < len(text); {
		i := bytes.Index(text[at:], magic)
		if i < 0 {
			break
		}

		at += i
		r, n, ok := take(text[at:])
		// The magic number may occur in a value, so the search continues one byte later.
		if !ok {
			at++
			continue
		}

		out = append(out, placed{r, int64(at), int64(at + n)})
		at += n
	}

	return out
}

// find returns the newest record of a key that was written or, after a restart, found.
func (l *logFile) find(key uint64) (seq uint64, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	seq, ok = l.newest[key]
	return seq, ok
}
