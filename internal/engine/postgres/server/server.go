//go:build linux

package server

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	postgres "plimsoll/internal/engine/postgres/model"
	"plimsoll/internal/lab"
	"plimsoll/internal/lab/process"
	"plimsoll/internal/record/source"
)

const (
	// startWithin is how long the server may take to start. After a crash it replays up to
	// max_wal_size from the volume.
	startWithin = 15 * time.Minute
	// stopWithin is how long it may take to shut down, which includes a checkpoint.
	stopWithin = 2 * time.Minute
	// socketBytesMax is the longest socket path that the kernel accepts (unix(7), sun_path with its
	// terminating zero).
	socketBytesMax = 107
)

var errNotRunning = errors.New("PostgreSQL is not running")

// A Server is a real PostgreSQL. It implements lab.Server.
type Server struct {
	clients
	cfg     postgres.Config
	schema  schema
	bin     string
	version string

	m      *lab.Machine
	user   *process.User
	data   string
	socket string
	short  string // the socket's folder, if it is outside the scratch folder
	cycles checkpoints
	proc   *process.Process
}

// New prepares a server without starting it. The error explains invalid settings, or how to get
// PostgreSQL.
func New(cfg postgres.Config) (lab.Server, error) {
	if problems := cfg.Check(); len(problems) > 0 {
		return nil, fmt.Errorf("postgres: %w", problems)
	}
	bin, err := find(debianFolders)
	if err != nil {
		return nil, err
	}
	v, err := version(context.Background(), bin)
	if err != nil {
		return nil, err
	}
	return &Server{cfg: cfg, schema: newSchema(&cfg), bin: bin, version: v}, nil
}

// Describe implements lab.Server.
func (s *Server) Describe() string { return "PostgreSQL " + s.version }

// Start implements lab.Server.
func (s *Server) Start(ctx context.Context, m *lab.Machine, progress lab.Progress) error {
	fail := func(err error) error { return fmt.Errorf("starting PostgreSQL: %w", err) }
	work := m.Scenario.Workloads()
	if work == nil {
		return fail(errors.New("the scenario was not made by Parse or Load"))
	}

	s.m, s.mean = m, work.DocumentSize()
	var err error
	if s.user, err = process.Unprivileged("postgres", "nobody"); err != nil {
		return fail(err) // PostgreSQL refuses to run as root
	}

	if err := s.make(ctx); err != nil {
		return fail(err)
	}

	if err := s.begin(ctx); err != nil {
		return fail(err)
	}

	// A scenario may have more rows than its workload touches, or fewer.
	if err := s.load(ctx, max(s.cfg.Rows, int64(work.Documents())), progress); err != nil {
		return fail(err)
	}

	p := newPool(dialSocket(s.socket), &s.schema, work.Connections(), s.cfg.MaxConnections)
	s.pool.Store(p)
	if err := p.connect(ctx); err != nil {
		return fail(err)
	}

	return nil
}

// make creates the database's files with initdb.
func (s *Server) make(ctx context.Context) error {
	data, wal := s.m.Dir("data"), s.m.Dir("wal")
	if data == "" {
		return errors.New("there is no volume: add one named data to the scenario")
	}

	s.data = filepath.Join(data, "postgres")
	folders := []string{s.data}
	args := []string{"--pgdata=" + s.data, "--username=" +
		superuser, "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-instructions"}

	if wal != "" {
		wal = filepath.Join(wal, "pg_wal")
		folders, args = append(folders, wal), append(args, "--waldir="+wal)
	}

	var err error
	if s.socket, err = s.socketFolder(); err != nil {
		return err
	}

	for _, dir := range append(folders, s.socket) {
		if err := s.user.Own(dir); err != nil {
			return err
		}
		if err := s.user.Admit(dir); err != nil {
			return err
		}
	}

	p, err := process.Start(process.Options{Path: filepath.Join(s.bin, "initdb"), Args: args, User: s.user,
		Line: s.m.Print})
	if err != nil {
		return err
	}

	if err := p.Finish(ctx); err != nil {
		return err
	}

	// Appended, because the last setting of a name wins over initdb's.
	f, err := os.OpenFile(filepath.Join(s.data, "postgresql.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}

	_, err = f.WriteString(conf(&s.cfg, s.socket))
	return errors.Join(err, f.Close())
}

// socketFolder returns a folder inside the scratch folder, unless that makes the socket's path too
// long for the kernel.
func (s *Server) socketFolder() (string, error) {
	dir := filepath.Join(s.m.Scratch, "pg")
	if len(dir)+len("/.s.PGSQL.5432") <= socketBytesMax {
		return dir, nil
	}
	short, err := os.MkdirTemp("", "plimsoll-pg-")
	s.short = short
	return short, err
}

// begin starts the server and waits until it accepts connections.
func (s *Server) begin(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()

	// The process that wrote it has ended. A power loss may have left it empty, and then the server
	// would not start.
	if err := os.Remove(filepath.Join(s.data, "postmaster.pid")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}

	p, err := process.Start(process.Options{
		Path: filepath.Join(s.bin, "postgres"), Args: []string{"-D", s.data}, User: s.user,
		DeathSignal: syscall.SIGQUIT, // makes the postmaster end its children
		Log:         filepath.Join(s.m.Scratch, "postgres.log"),
		Line:        func(line string) { s.cycles.addLine(line); s.m.Print(line) },
	})
	if err != nil {
		return err
	}

	s.proc = p
	s.reader = &link{dial: dialSocket(s.socket), schema: &s.schema}
	return p.Await(ctx, 50*time.Millisecond, "it does not accept connections", func(ctx context.Context) error {
		c, err := dial(ctx, s.socket, "plimsoll-start")
		if err != nil {
			return err
		}
		return c.Close(ctx)
	})
}

// Sources implements lab.Server.
func (s *Server) Sources() []source.Source {
	return []source.Source{newStatistics(dialSocket(s.socket), database, s.version)}
}

// Cycles implements lab.Server: the checkpoints in the log, including those of loading and
// recovery.
func (s *Server) Cycles(context.Context) ([]lab.Cycle, error) { return s.cycles.list(), nil }

// Crash implements lab.Server. It also removes shared memory, as a power loss would.
func (s *Server) Crash() error {
	if s.proc == nil {
		return nil
	}
	shared, err := memoryOf(s.proc)
	err = errors.Join(err, s.proc.Kill())
	s.cycles.end(time.Now())
	return errors.Join(err, shared.remove())
}

// Restart implements lab.Server: it recovers and reconnects.
func (s *Server) Restart(ctx context.Context) error {
	p := s.pool.Load()
	if s.proc == nil || p == nil {
		return errNotRunning
	}

	if err := s.Crash(); err != nil { // a server that still runs
		return err
	}

	p.close(ctx)
	s.reader.close(ctx)
	if err := s.begin(ctx); err != nil {
		return fmt.Errorf("restarting PostgreSQL: %w", err)
	}

	if err := p.connect(ctx); err != nil {
		return fmt.Errorf("restarting PostgreSQL: %w", err)
	}

	return nil
}

// Stop implements lab.Server: a fast shutdown, including its checkpoint.
func (s *Server) Stop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, stopWithin)
	defer cancel()
	s.end(ctx)

	var err error
	if s.proc != nil {
		shared, _ := memoryOf(s.proc)
		// A server that had to be killed leaves its shared memory.
		if err = s.proc.Stop(ctx, syscall.SIGINT); err != nil {
			err = errors.Join(err, shared.remove())
		}
		s.proc = nil
	}

	if s.short != "" {
		err = errors.Join(err, os.RemoveAll(s.short))
		s.short = ""
	}

	return err
}
