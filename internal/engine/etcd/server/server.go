//go:build linux

package server

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"plimsoll/internal/engine/etcd/live"
	etcd "plimsoll/internal/engine/etcd/model"
	"plimsoll/internal/lab"
	"plimsoll/internal/lab/process"
	"plimsoll/internal/record/exposition"
	"plimsoll/internal/record/source"
)

const (
	// movePause is the time between two checks of the leader.
	movePause = 50 * time.Millisecond
	// stopWithin is how long members may take to shut down.
	stopWithin = 30 * time.Second
)

var errNotRunning = errors.New("etcd is not running")

// A Server is a cluster of real members. It implements lab.Server.
type Server struct {
	clients
	cfg     etcd.Config
	path    string
	version string
	shared  int // number of HTTP/2 connections

	m      *lab.Machine
	user   *process.User
	places []place
	procs  []*process.Process // the started members; nil before the start
}

// New prepares a cluster without starting it. The error explains invalid settings, or how to get
// etcd.
func New(cfg etcd.Config) (lab.Server, error) { return NewAt("", cfg) }

// NewAt is New with the etcd at a path, or with that name on PATH; "" means the environment's
// ([EnvBinary]) or the etcd on PATH.
func NewAt(path string, cfg etcd.Config) (lab.Server, error) {
	if problems := cfg.Check(); len(problems) > 0 {
		return nil, fmt.Errorf("etcd: %w", problems)
	}
	path, err := find(path)
	if err != nil {
		return nil, err
	}
	v, err := version(context.Background(), path)
	if err != nil {
		return nil, err
	}
	return &Server{cfg: cfg, path: path, version: v, shared: Links}, nil
}

// Describe returns the version, and a hint if the scenario's round trip is not emulated.
func (s *Server) Describe() string {
	if s.cfg.Members == 1 {
		return "etcd " + s.version
	}
	return fmt.Sprintf("etcd %s, %d members over loopback: the scenario's round trip of %v is not emulated",
		s.version, s.cfg.Members, s.cfg.RTT)
}

// Start implements lab.Server.
func (s *Server) Start(ctx context.Context, m *lab.Machine, progress lab.Progress) error {
	work := m.Scenario.Workloads()
	if work == nil {
		return errors.New("etcd: the scenario was not made by Parse or Load")
	}

	s.m, s.mean, s.writers = m, work.DocumentSize(), make([]writer, work.Connections())
	for _, line := range compiledIn(&s.cfg, s.version) {
		s.m.Print(line)
	}

	var err error

	// etcd can also run as root, so a missing user is only logged.
	if s.user, err = process.Unprivileged("nobody"); err != nil {
		s.m.Print("etcd runs as root: " + err.Error())
	}

	if err := s.user.Admit(s.path); err != nil {
		return fmt.Errorf("starting etcd: %w", err)
	}

	if s.places, err = lay(m, s.cfg.Members, s.user); err != nil {
		return fmt.Errorf("starting etcd: %w", err)
	}

	if err := s.begin(ctx); err != nil {
		return err
	}

	return s.load(ctx, s.links.Load(), uint64(work.Documents()), progress)
}

// begin starts all members concurrently, because none serves before a majority does.
func (s *Server) begin(ctx context.Context) error {
	s.procs = nil
	for k := range s.places {
		name := s.places[k].name
		p, err := process.Start(process.Options{
			Path: s.path, Args: flags(&s.cfg, s.version, s.places, k), User: s.user,
			Log:  filepath.Join(s.m.Scratch, "etcd-"+name+".log"),
			Line: func(line string) { s.m.Print(name + " " + line) },
		})
		if err != nil {
			return err
		}
		s.procs = append(s.procs, p)
	}

	err := s.each(func(k int, p *process.Process) error { return healthy(ctx, &s.places[k], p) })
	if err != nil {
		return fmt.Errorf("starting etcd: %w", err)
	}

	var members []string
	for k := range s.places {
		members = append(members, address(s.places[k].client))
	}

	leader := members[s.cfg.Leader-1 : s.cfg.Leader]
	l, err := connect(members, leader, min(max(len(s.writers), 1), s.shared), nil, nil)
	if err != nil {
		return fmt.Errorf("starting etcd: %w", err)
	}

	if err := s.lead(ctx, l); err != nil {
		return errors.Join(fmt.Errorf("starting etcd: %w", err), l.close())
	}

	// Writers use the connections as soon as they are stored, so the leader is in place before.
	s.links.Store(l)
	return nil
}

// each calls f concurrently for all members.
func (s *Server) each(f func(k int, p *process.Process) error) error {
	errs := make([]error, len(s.procs))
	var all sync.WaitGroup
	for k, p := range s.procs {
		all.Go(func() { errs[k] = f(k, p) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// Do implements lab.Server.
func (s *Server) Do(ctx context.Context, conn int, op *lab.Op) error {
	return explain(s.clients.Do(ctx, conn, op))
}

// Sources implements lab.Server: each member's /metrics.
func (s *Server) Sources() []source.Source {
	opt := live.PageOptions(nil)
	opt.Transport = nil // the default one lets a process on this machine, which is measured, not compress

	var out []source.Source
	for k := range s.places {
		p := &s.places[k]
		src, err := exposition.OpenMember("http://"+address(p.client)+"/metrics",
			exposition.Member{Instance: p.name}, opt)
		if err == nil {
			out = append(out, src)
		}
	}
	return out
}

// Cycles implements lab.Server. The backend's commits are not visible from outside, so there are
// none.
func (s *Server) Cycles(context.Context) ([]lab.Cycle, error) { return nil, nil }

// Crash implements lab.Server: it kills all members.
func (s *Server) Crash() error {
	err := s.each(func(_ int, p *process.Process) error { return p.Kill() })
	return errors.Join(err, s.disconnect())
}

func (s *Server) disconnect() error {
	if l := s.links.Swap(nil); l != nil {
		return l.close()
	}
	return nil
}

// Restart implements lab.Server with the same members, flags and ports.
func (s *Server) Restart(ctx context.Context) error {
	if s.procs == nil {
		return errNotRunning
	}
	if err := s.Crash(); err != nil { // members that still run
		return err
	}
	return s.begin(ctx)
}

// Stop implements lab.Server. The leader stops last: a leader that shuts down transfers its
// leadership, and would wait in vain if all others shut down at the same time.
func (s *Server) Stop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, stopWithin)
	defer cancel()
	errs := []error{s.disconnect()}
	for _, leads := range []bool{false, true} {
		errs = append(errs, s.each(func(k int, p *process.Process) error {
			if (k == s.cfg.Leader-1) != leads {
				return nil
			}
			return p.Stop(ctx, syscall.SIGTERM)
		}))
	}
	s.procs = nil
	return errors.Join(errs...)
}

// pause waits, but not longer than the context.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}
