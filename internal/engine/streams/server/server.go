//go:build linux

package server

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"

	"golang.org/x/sys/unix"

	"plimsoll/internal/base/random"
	"plimsoll/internal/base/units"
	streams "plimsoll/internal/engine/streams/model"
	"plimsoll/internal/lab"
	"plimsoll/internal/lab/ioloop"
	"plimsoll/internal/record/source"
)

var (
	errDown  = errors.New("streams: not running")
	errStart = errors.New("streams: the machine has no volume named data, wal or journal: add one to the scenario")
)

type server struct {
	cfg     streams.Config
	logPath string

	log  *logFile
	data *blockFile

	mu    sync.Mutex
	conns map[int]*connection
	seed  random.Seed
}

// A connection has its own buffer and random stream, for one operation at a time.
type connection struct {
	buffer []byte
	chance *random.Stream
}

// New makes the server for a scenario's engine.streams.
func New(cfg streams.Config) (lab.Server, error) {
	if err := cfg.Check().Err(); err != nil {
		return nil, err
	}
	if cfg.Block%512 != 0 {
		return nil,
			fmt.Errorf("streams: block: %s must be a multiple of 512 bytes to bypass the page cache; example: 8KiB",
				cfg.Block.Exact())
	}
	return &server{cfg: cfg, conns: map[int]*connection{}}, nil
}

func (s *server) Describe() string {
	if s.cfg.RandomWrites {
		return "streams: random blocks of " + s.cfg.Block.Exact()
	}
	return "streams: appends with fdatasync, random blocks of " + s.cfg.Block.Exact()
}

func (s *server) Start(ctx context.Context, m *lab.Machine, progress lab.Progress) error {
	wal, data := m.Dir("wal", "journal", "data"), m.Dir("data", "wal", "journal")
	if wal == "" || data == "" {
		return errStart
	}

	if m.Scenario != nil {
		s.seed = m.Scenario.Seed
	}

	report := func(done, total int64) {
		if progress != nil {
			progress("writing the data to read", done, total)
		}
	}

	s.logPath = filepath.Join(wal, "stream.log")
	var err error
	if !s.cfg.RandomWrites {
		if s.log, err = createLog(ctx, s.logPath, int64(s.cfg.File), s.cfg.Prewritten); err != nil {
			return fmt.Errorf("streams: %w", err)
		}
	}

	extent, err := s.extent(data)
	if err == nil {
		s.data, err = createBlocks(ctx, filepath.Join(data, "stream.data"), int64(s.cfg.Block), extent, report)
	}

	if err != nil {
		// Stop removes what was created so far.
		return errors.Join(fmt.Errorf("streams: %w", err), s.Stop(ctx))
	}

	return nil
}

// extent is how much is laid out for random blocks: the requested size, limited by the available
// space and dataMax.
func (s *server) extent(dir string) (int64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, fmt.Errorf("free space of %s: %w", dir, err)
	}
	extent := min(int64(s.cfg.Data), dataMax, int64(st.Bavail)*st.Bsize/2)
	if extent -= extent % int64(s.cfg.Block); extent == 0 {
		return 0, fmt.Errorf("no space for a block of %s in %s: enlarge the volume", s.cfg.Block.Exact(), dir)
	}
	return extent, nil
}

// connection returns a connection's buffer and random stream.
func (s *server) connection(n int) (*connection, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.conns[n]; c != nil {
		return c, nil
	}
	b, err := ioloop.Buffer(int64(s.cfg.Block))
	if err != nil {
		return nil, err
	}
	c := &connection{b, s.seed.Stream(fmt.Sprintf("lab.streams.%d", n))}
	s.conns[n] = c
	return c, nil
}

func (s *server) Do(ctx context.Context, conn int, op *lab.Op) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if s.data == nil {
		return errDown
	}

	r := record{key: op.Key, seq: op.Seq}
	// Appends need no buffer and no connection: all go to the end of one file.
	if op.Kind.Writes() && !s.cfg.RandomWrites {
		if op.Size > units.GiB {
			return fmt.Errorf("streams: an append of %s", op.Size.String())
		}
		return s.log.append(r, max(int64(op.Size), headerBytes))
	}

	c, err := s.connection(conn)
	if err != nil {
		return fmt.Errorf("streams: %w", err)
	}

	if op.Kind.Writes() {
		err = s.data.write(c.buffer, r)
	} else {
		err = s.data.read(c.buffer, c.chance)
	}

	if err != nil {
		return fmt.Errorf("streams: %w", err)
	}

	return nil
}

// Sources returns none: everything that streams do is visible on the device.
func (s *server) Sources() []source.Source { return nil }

// Cycles returns none.
func (s *server) Cycles(context.Context) ([]lab.Cycle, error) { return nil, nil }

func (s *server) Crash() error {
	var all []error
	if s.log != nil {
		all = append(all, s.log.close())
	}
	if s.data != nil {
		all = append(all, s.data.close())
	}
	return errors.Join(all...)
}

func (s *server) Restart(context.Context) error {
	if s.data == nil {
		return errDown
	}
	if err := s.Crash(); err != nil {
		return fmt.Errorf("streams: %w", err)
	}
	err := s.data.open(s.cfg.RandomWrites)
	if err == nil && s.log != nil {
		err = s.log.open(s.logPath)
	}
	if err != nil {
		return fmt.Errorf("streams: %w", err)
	}
	return nil
}

// Read returns the state found by the last Restart, plus everything written since.
func (s *server) Read(_ context.Context, key uint64) (seq uint64, found bool, err error) {
	switch {
	case s.data == nil:
		return 0, false, errDown
	case s.log != nil:
		seq, found = s.log.find(key)
	default:
		seq, found = s.data.find(key)
	}
	return seq, found, nil
}

func (s *server) Stop(context.Context) error {
	err := s.Crash()
	s.mu.Lock()
	defer s.mu.Unlock()
	for n, c := range s.conns {
		err = errors.Join(err, unix.Munmap(c.buffer))
		delete(s.conns, n)
	}
	return err
}
