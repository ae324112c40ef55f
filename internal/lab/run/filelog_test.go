//go:build linux

package run

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"plimsoll/internal/lab"
	"plimsoll/internal/record/source"
)

// A fileLog is a minimal server: a log of records, each synced before it is acknowledged, and a
// checkpoint of 4 MB once a second. It really writes to the machine's volume.
type fileLog struct {
	// forgets makes the server acknowledge before it has written.
	forgets bool

	mu     sync.Mutex
	path   string
	file   *os.File
	end    int64
	seqs   map[uint64]uint64
	err    error
	cycles []lab.Cycle
	stop   chan struct{}
	writer sync.WaitGroup
}

const recordBytes = 20 // key, seq, checksum

func (s *fileLog) Describe() string { return "file log 1" }

func (s *fileLog) Start(ctx context.Context, m *lab.Machine, progress lab.Progress) error {
	s.path = filepath.Join(m.Dir("wal", "data"), "log")
	for i := range int64(3) {
		progress("loading documents", i, 3)
	}
	m.Log("the file log starts")
	return s.Restart(ctx)
}

// Restart reads the log up to the first incomplete record.
func (s *fileLog) Restart(context.Context) error {
	f, err := os.OpenFile(s.path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}

	text, err := io.ReadAll(f)
	if err != nil {
		return err
	}

	s.seqs, s.end = map[uint64]uint64{}, 0
	for r := text; len(r) >= recordBytes && crc32.ChecksumIEEE(r[:16]) == binary.LittleEndian.Uint32(r[16:]); r = r[recordBytes:] {
		s.seqs[binary.LittleEndian.Uint64(r)] = binary.LittleEndian.Uint64(r[8:])
		s.end += recordBytes
	}

	if err := f.Truncate(s.end); err != nil {
		return err
	}

	s.file, s.err, s.stop = f, nil, make(chan struct{})
	s.writer.Go(func() { s.checkpoints(s.stop) })
	return nil
}

// checkpoints writes a file each second.
func (s *fileLog) checkpoints(stop <-chan struct{}) {
	t := time.NewTicker(time.Second)
	defer t.Stop()

	page := bytes.Repeat([]byte("checkpoint"), 4<<20/10)
	for {
		select {
		case <-stop:
			return
		case <-t.C:
		}

		s.mu.Lock()
		s.cycles = append(s.cycles, lab.Cycle{From: time.Now()})
		s.mu.Unlock()

		f, err := os.Create(filepath.Join(filepath.Dir(s.path), "table"))
		if err == nil {
			_, err = f.Write(page)
			err = errors.Join(err, f.Sync(), f.Close())
		}

		if err != nil {
			return // the power is off
		}

		s.mu.Lock()
		s.cycles[len(s.cycles)-1].To = time.Now()
		s.mu.Unlock()
	}
}

func (s *fileLog) Do(_ context.Context, _ int, op *lab.Op) error {
	if !op.Kind.Writes() {
		return nil
	}

	var r [recordBytes]byte
	binary.LittleEndian.PutUint64(r[:], op.Key)
	binary.LittleEndian.PutUint64(r[8:], op.Seq)
	binary.LittleEndian.PutUint32(r[16:], crc32.ChecksumIEEE(r[:16]))
	s.mu.Lock()
	defer s.mu.Unlock()

	if s.err != nil {
		return s.err
	}

	if _, s.err = s.file.WriteAt(r[:], s.end); s.err != nil {
		return s.err
	}

	if !s.forgets {
		if s.err = s.file.Sync(); s.err != nil {
			return s.err // after a failed sync the file's state is unknown
		}
	}

	s.end += recordBytes
	s.seqs[op.Key] = op.Seq
	return nil
}

func (s *fileLog) Sources() []source.Source { return nil }

func (s *fileLog) Cycles(context.Context) ([]lab.Cycle, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]lab.Cycle(nil), s.cycles...), nil
}

// Crash stops it without a final sync.
func (s *fileLog) Crash() error {
	s.mu.Lock()
	s.err = errors.New("the file log was killed")
	s.mu.Unlock()
	return s.close()
}

func (s *fileLog) close() error {
	if s.stop == nil {
		return nil
	}
	close(s.stop)
	s.writer.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stop = nil
	_ = s.file.Close() // fails on a volume without power
	return nil
}

func (s *fileLog) Read(_ context.Context, key uint64) (seq uint64, found bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	seq, found = s.seqs[key]
	return seq, found, s.err
}

func (s *fileLog) Stop(context.Context) error { return s.close() }

var _ lab.Server = (*fileLog)(nil)

// A brokenServer fails to start.
type brokenServer struct{ fileLog }

func (*brokenServer) Start(context.Context, *lab.Machine, lab.Progress) error {
	return fmt.Errorf("the package that it needs is missing")
}
