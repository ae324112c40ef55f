//go:build linux

package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	wiredtiger "plimsoll/internal/engine/mongodb/model"
	"plimsoll/internal/lab"
	"plimsoll/internal/lab/process"
	"plimsoll/internal/record/source"
)

const (
	// startWithin limits the start: after a crash, mongod replays its journal from the volume.
	startWithin = 15 * time.Minute
	// stopWithin limits the shutdown, which writes a checkpoint.
	stopWithin = 2 * time.Minute
	// askEvery is the time between two checks whether mongod accepts writes.
	askEvery = 100 * time.Millisecond
)

// A Server is a mongod that the lab runs on a machine's volumes. It implements lab.Server.
type Server struct {
	cfg     wiredtiger.Config
	path    string
	version string

	m     *lab.Machine
	user  *process.User
	at    place
	file  string // the configuration
	proc  *process.Process
	store atomic.Pointer[store]
	ended []lab.Cycle // checkpoints from before the last crash
}

// New prepares the mongod at a path, or with a name on PATH, without starting it.
func New(path string, cfg wiredtiger.Config) (*Server, error) {
	if err := cfg.Check().Err(); err != nil {
		return nil, err
	}

	path, err := find(path)
	if err != nil {
		return nil, err
	}

	v, err := version(context.Background(), path)
	if err != nil {
		return nil, err
	}

	if _, err := cannot(&cfg, v); err != nil {
		return nil, err
	}

	return &Server{cfg: cfg, path: path, version: v}, nil
}

// Describe implements lab.Server.
func (s *Server) Describe() string { return "MongoDB " + s.version }

// Start implements lab.Server.
func (s *Server) Start(ctx context.Context, machine *lab.Machine, progress lab.Progress) error {
	fail := func(err error) error { return fmt.Errorf("starting mongod: %w", err) }
	if machine.Scenario.Workloads() == nil {
		return fail(errors.New("the scenario was not made by Parse or Load"))
	}

	s.m = machine
	ignored, err := cannot(&s.cfg, s.version)
	if err != nil {
		return fail(err)
	}

	for _, line := range ignored {
		s.m.Print(line)
	}

	if s.user, err = process.Unprivileged("mongodb", "nobody"); err != nil {
		s.m.Print("mongod runs as root: " + err.Error())
	}

	if err := s.lay(); err != nil {
		return fail(err)
	}

	if err := s.begin(ctx, true); err != nil {
		return fail(err)
	}

	if err := s.store.Load().load(ctx, machine.Scenario, progress); err != nil {
		return fail(err)
	}

	if progress != nil {
		progress("checkpoint", 0, 0)
	}

	// fsync ends with a checkpoint, so the run does not have to write the loaded documents.
	c := s.store.Load().client
	if err := c.Database("admin").RunCommand(ctx, bson.D{{Key: "fsync", Value: 1}}).Err(); err != nil {
		return fail(fmt.Errorf("cannot make the checkpoint after loading: %w", err))
	}

	s.store.Load().watch()
	return nil
}

// lay creates the folders and the configuration file. The journal is a folder below the data, or a
// link if it has its own volume, as MongoDB's production notes recommend.
func (s *Server) lay() error {
	data, journal := s.m.Dir("data"), s.m.Dir("journal")
	if data == "" {
		return errors.New("there is no volume: the scenario needs one named data")
	}

	s.at.data = filepath.Join(data, "mongodb")
	folders := []string{s.at.data}
	if journal != "" && journal != data {
		s.at.journal = filepath.Join(journal, "journal")
		folders = append(folders, s.at.journal)
	}

	for _, dir := range folders {
		if err := errors.Join(s.user.Own(dir), s.user.Admit(dir)); err != nil {
			return err
		}
	}

	if s.at.journal != "" {
		if err := os.Symlink(s.at.journal, filepath.Join(s.at.data, "journal")); err != nil {
			return err
		}
	}

	// Port 0 asks the kernel for a free one; mongod takes it over after this listener closes.
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}

	s.at.port = l.Addr().(*net.TCPAddr).Port
	s.file = filepath.Join(s.m.Scratch, "mongod.conf")
	return errors.Join(l.Close(), os.WriteFile(s.file, []byte(conf(&s.cfg, s.at)), 0o644),
		s.user.Admit(s.m.Scratch))
}

// begin starts mongod and returns when it accepts writes.
func (s *Server) begin(ctx context.Context, first bool) error {
	ctx, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()
	p, err := process.Start(process.Options{
		Path: s.path, Args: []string{"--config", s.file}, User: s.user, Dir: s.m.Scratch,
		Log: filepath.Join(s.m.Scratch, "mongod.log"), Line: s.m.Print,
	})
	if err != nil {
		return err
	}

	s.proc = p
	uri := "mongodb://127.0.0.1:" + strconv.Itoa(s.at.port) + "/?directConnection=true"
	c, err := connect(uri, s.m.Scenario.Workloads().Connections(), func(o *options.ClientOptions) {
		// No retries: an error must count as one, but a retry by the driver would only show as
		// latency.
		o.SetRetryWrites(false).SetRetryReads(false).SetServerSelectionTimeout(time.Second)
	})
	if err != nil {
		return err
	}

	if err := s.ready(ctx, c, first); err != nil {
		return errors.Join(err, c.Disconnect(context.WithoutCancel(ctx)))
	}

	s.store.Store(newStore(c, "plimsoll", &s.cfg, s.m.Scenario))
	return nil
}

// alreadyInitialized is the error of an existing replica set (MongoDB, error_codes.yml).
const alreadyInitialized = 23

// ready waits until mongod accepts writes. On the first start it also initiates the replica set.
func (s *Server) ready(ctx context.Context, c *mongo.Client, first bool) error {
	admin := c.Database("admin")
	last := errors.New("it does not respond")
	for {
		who, err := admin.RunCommand(ctx, bson.D{{Key: "hello", Value: 1}}).Raw()
		if err != nil {
			last = err
		} else if writable, _ := who.Lookup("isWritablePrimary").BooleanOK(); writable {
			return nil
		} else if first && wiredtiger.Enabled(s.cfg.Oplog) {
			// replSetInitiate is retried until it succeeds or the set turns out to exist.
			member := bson.D{{Key: "_id", Value: 0}, {Key: "host", Value: "127.0.0.1:" + strconv.Itoa(s.at.port)}}
			set := bson.D{{Key: "_id", Value: replicaSet}, {Key: "members", Value: bson.A{member}}}
			err := admin.RunCommand(ctx, bson.D{{Key: "replSetInitiate", Value: set}}).Err()
			if first = err != nil; err != nil {
				last = err
				if refused := (mongo.CommandError{}); errors.As(err, &refused) &&
					refused.HasErrorCode(alreadyInitialized) {
					first = false
				}
			}
		} else {
			last = errors.New("it is not primary yet")
		}

		select {
		case <-s.proc.Done():
			return s.proc.Err()
		case <-ctx.Done():
			return fmt.Errorf("it does not accept writes (%w): %w; its log ends: %s", last, ctx.Err(), s.proc.Tail())
		case <-time.After(askEvery):
		}
	}
}

// Do implements lab.Server.
func (s *Server) Do(ctx context.Context, _ int, op *lab.Op) error {
	return s.store.Load().do(ctx, op)
}

// Read implements lab.Server.
func (s *Server) Read(ctx context.Context, key uint64) (seq uint64, found bool, err error) {
	return s.store.Load().read(ctx, key)
}

// Sources implements lab.Server.
func (s *Server) Sources() []source.Source {
	if st := s.store.Load(); st != nil {
		return []source.Source{newStatistics(st.client, s.version)}
	}
	return nil
}

// Cycles implements lab.Server.
func (s *Server) Cycles(context.Context) ([]lab.Cycle, error) {
	return slices.Concat(s.ended, s.store.Load().seen()), nil
}

// disconnect keeps the checkpoints seen so far. A checkpoint in progress ended with the server.
func (s *Server) disconnect(ctx context.Context) error {
	st := s.store.Swap(nil)
	if st == nil {
		return nil
	}
	err := st.close(ctx)
	for _, c := range st.seen() {
		if c.To.IsZero() {
			c.To = time.Now()
		}
		s.ended = append(s.ended, c)
	}
	return err
}

// Crash implements lab.Server.
func (s *Server) Crash() error {
	var err error
	if s.proc != nil {
		err = s.proc.Kill()
	}
	ctx, cancel := context.WithTimeout(context.Background(), answerWithin)
	defer cancel()
	return errors.Join(err, s.disconnect(ctx))
}

// Restart implements lab.Server: it recovers and reconnects.
func (s *Server) Restart(ctx context.Context) error {
	if s.proc == nil {
		return errNotRunning
	}
	if err := s.Crash(); err != nil { // in case the server still runs
		return err
	}
	// mongod ignores the lock file of a process that has ended, even an empty one.
	if err := s.begin(ctx, false); err != nil {
		return fmt.Errorf("restarting mongod: %w", err)
	}
	s.store.Load().watch()
	return nil
}

// Stop implements lab.Server.
func (s *Server) Stop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, stopWithin)
	defer cancel()
	err := s.disconnect(ctx)
	if s.proc != nil {
		err = errors.Join(err, s.proc.Stop(ctx, syscall.SIGTERM))
		s.proc = nil
	}
	return err
}

var _ lab.Server = (*Server)(nil)
