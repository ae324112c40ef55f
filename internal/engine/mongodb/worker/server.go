//go:build linux

package worker

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"plimsoll/internal/base/units"
	wiredtiger "plimsoll/internal/engine/mongodb/model"
	"plimsoll/internal/lab"
	"plimsoll/internal/lab/process"
	"plimsoll/internal/model/workload"
)

// cyclesMax limits the checkpoints that are remembered: a week of them, a minute apart.
const cyclesMax = 10080

// server implements lab.Server.
type server struct {
	cfg     wiredtiger.Config
	opt     options
	path    string
	version string

	user    *process.User
	config  configuration
	machine *lab.Machine
	each    bool // a write waits for the journal

	worker       atomic.Pointer[worker] // nil: not running
	ops, latency [2]atomic.Int64        // reads, writes; nanoseconds
	inserts      atomic.Int64           // of the writes

	mu     sync.Mutex
	cycles []lab.Cycle
}

// New makes a server with WiredTiger. It fails if no worker program is installed or the
// configuration is impossible.
func New(cfg wiredtiger.Config) (lab.Server, error) { return newServer(cfg, options{}) }

func newServer(cfg wiredtiger.Config, opt options) (*server, error) {
	if err := cfg.Check().Err(); err != nil {
		return nil, err
	}
	path, err := findWorker()
	if err != nil {
		return nil, err
	}
	version, err := askVersion(path)
	if err != nil {
		return nil, err
	}
	return &server{cfg: cfg, opt: opt, path: path, version: version,
		each: wiredtiger.Enabled(cfg.JournalEach)}, nil
}

func (s *server) Describe() string { return "WiredTiger " + s.version }

func (s *server) current() *worker { return s.worker.Load() }

// Start creates and loads the database.
func (s *server) Start(ctx context.Context, machine *lab.Machine, progress lab.Progress) error {
	if s.current() != nil || s.machine != nil {
		return errors.New("WiredTiger's server was already started")
	}

	load := machine.Scenario.Workloads()
	if load == nil {
		return errors.New("the scenario has no workload")
	}

	at, err := s.makeFolders(machine)
	if err != nil {
		return err
	}

	config, warnings, err := configure(&s.cfg, at, load.Connections(), majorOf(s.version), s.opt)
	if err != nil {
		return err
	}

	// A warning about a setting that the engine ignores is no reason to stop.
	for _, text := range warnings {
		machine.Print(text)
	}

	s.config, s.machine = config, machine
	w, err := s.run(ctx)
	if err == nil {
		err = s.load(ctx, w, load, progress)
	}

	if err == nil {
		err = s.serve(ctx, w)
	}

	// A worker that cannot be used is ended immediately: nothing in it is worth a checkpoint.
	if err != nil {
		return errors.Join(err, s.Crash())
	}

	return nil
}

// makeFolders makes the database's folders, owned by the worker's user. As in mongod, the journal's
// folder is within the data's unless it has its own volume.
func (s *server) makeFolders(m *lab.Machine) (place, error) {
	data := m.Dir("data")
	if data == "" {
		return place{}, errors.New("WiredTiger needs a volume named data (and may have one named journal)")
	}

	user, err := process.Unprivileged("mongodb", "nobody")
	if err != nil {
		return place{}, err
	}

	s.user = user
	if data, err = filepath.Abs(data); err != nil {
		return place{}, err
	}

	at := place{home: filepath.Join(data, "db")}
	at.journal = filepath.Join(at.home, "journal")
	if dir := m.Dir("journal"); dir != "" {
		if dir, err = filepath.Abs(dir); err != nil {
			return place{}, err
		}
		at.journal = filepath.Join(dir, "journal")
	}

	// The order matters: by default the journal's folder is inside home, which must be empty
	// first.
	for _, dir := range []string{at.home, at.journal} {
		if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 && dir == at.home {
			return place{}, fmt.Errorf("%s is not empty: the volumes of a new database must be empty", dir)
		}
		if err := errors.Join(user.Own(dir), user.Admit(dir)); err != nil {
			return place{}, err
		}
	}

	return at, nil
}

// run starts a worker that opens the database.
func (s *server) run(ctx context.Context) (*worker, error) {
	w, err := spawn(ctx, spawning{
		path: s.path, user: s.user, checkpoint: s.checkpoint,
		line: s.machine.Print,
	})
	if err != nil {
		return nil, err
	}

	s.worker.Store(w)
	again, err := w.open(ctx, &s.config)
	if err != nil {
		return nil, fmt.Errorf("opening %s: %w", s.config.home, err)
	}

	if again > 0 {
		s.machine.Print(fmt.Sprintf("%d writes since the last checkpoint were reapplied from the oplog", again))
	}

	return w, nil
}

// load creates the documents that exist when a run begins, and leaves as much of them in the cache
// as its target allows.
func (s *server) load(ctx context.Context, child *worker, load *workload.Workload,
	progress lab.Progress) error {
	size := load.Sizes(s.machine.Scenario.Seed)
	if s.cfg.DocumentSize != load.DocumentSize() && s.cfg.DocumentSize > 0 {
		size = func(uint64) units.Size { return s.cfg.DocumentSize } // the scenario sets the size
	}

	if progress == nil {
		progress = func(string, int64, int64) {}
	}

	for first := uint64(0); first < s.cfg.Documents; {
		// One message per loadMax documents, so that progress shows and a message stays small.
		n := min(loadMax, s.cfg.Documents-first)
		_, err := child.call(ctx, kindLoad, func(b []byte) ([]byte, error) {
			b = binary.LittleEndian.AppendUint64(b, first)
			b = binary.LittleEndian.AppendUint32(b, uint32(n))
			b = binary.LittleEndian.AppendUint32(b, uint32(n))
			for k := first; k < first+n; k++ {
				b = binary.LittleEndian.AppendUint32(b, uint32(min(size(k), documentBytesMax)))
			}
			return b, nil
		})
		if err != nil {
			return fmt.Errorf("loading documents: %w", err)
		}

		first += n
		progress("documents", int64(first), int64(s.cfg.Documents))
	}

	progress("indexes, a checkpoint, and documents into the cache", 0, 0)
	_, err := child.call(ctx, kindLoaded, func(b []byte) ([]byte, error) {
		return binary.LittleEndian.AppendUint64(b, uint64(s.config.warm)), nil
	})
	if err != nil {
		return fmt.Errorf("cannot make the checkpoint after loading: %w", err)
	}

	return nil
}

func (s *server) serve(ctx context.Context, w *worker) error {
	_, err := w.call(ctx, kindServe, nil)
	return err
}

// kinds maps operations to the protocol's kinds.
var kinds = [workload.Kinds]kind{
	workload.Read: kindRead, workload.Insert: kindInsert, workload.Update: kindUpdate, workload.Push: kindPush,
	workload.Scan: kindScan,
}

func (s *server) Do(ctx context.Context, _ int, op *lab.Op) error {
	w := s.current()
	if w == nil {
		return errKilled
	}

	size, document := op.Size, max(op.Document, op.Size)
	if op.Kind == workload.Scan {
		size = min(size, documentBytesMax)
		document = size
	}

	// Checked before the request is sent, so that the error names the document.
	if op.Key >= keyEnd || document > documentBytesMax {
		return fmt.Errorf("document %d of %s: WiredTiger's worker accepts keys below 2^62 and documents of up to 64 MiB",
			op.Key, document)
	}

	begin := time.Now()
	body, err := w.call(ctx, kinds[op.Kind], func(b []byte) ([]byte, error) {
		b = binary.LittleEndian.AppendUint64(b, op.Key)
		switch {
		case op.Kind == workload.Scan:
			return binary.LittleEndian.AppendUint32(b, uint32(size)), nil
		case op.Kind.Writes():
			b = binary.LittleEndian.AppendUint64(b, op.Seq)
			b = binary.LittleEndian.AppendUint32(b, uint32(size))
			b = binary.LittleEndian.AppendUint32(b, uint32(document))
			if s.each {
				return append(b, 1), nil
			}
			return append(b, 0), nil
		}

		return b, nil
	})
	if err != nil {
		return err
	}

	if op.Kind == workload.Read {
		// A document that was read back damaged is an error of the engine.
		if _, _, _, err := parseRead(body); err != nil {
			return err
		}
	}

	which := 0
	if op.Kind.Writes() {
		which = 1
	}

	s.ops[which].Add(1)
	if op.Kind == workload.Insert {
		s.inserts.Add(1)
	}

	s.latency[which].Add(int64(time.Since(begin)))
	return nil
}

// checkpoint records the beginning or end of a checkpoint.
func (s *server) checkpoint(at time.Time, began bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !began {
		if n := len(s.cycles); n > 0 {
			s.cycles[n-1].To = at
		}
		return
	}
	if len(s.cycles) == cyclesMax {
		s.cycles = slices.Delete(s.cycles, 0, 1)
	}
	s.cycles = append(s.cycles, lab.Cycle{From: at})
}

// Cycles returns the checkpoints.
func (s *server) Cycles(context.Context) ([]lab.Cycle, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.cycles), nil
}

// Crash kills the worker. A checkpoint in progress ends with it.
func (s *server) Crash() error {
	w := s.worker.Swap(nil)
	if w == nil {
		return nil
	}
	err := w.kill()
	s.mu.Lock()
	defer s.mu.Unlock()
	// The worker can no longer report the end of a checkpoint.
	if n := len(s.cycles); n > 0 && s.cycles[n-1].To.IsZero() {
		s.cycles[n-1].To = time.Now()
	}
	return err
}

// Restart reopens the database. The engine recovers from its log, and the worker from the oplog.
func (s *server) Restart(ctx context.Context) error {
	// nil until Start, whose failure leaves nothing to reopen.
	if s.machine == nil {
		return errors.New("WiredTiger's server was never started")
	}

	if err := s.Crash(); err != nil {
		return err
	}

	w, err := s.run(ctx)
	if err == nil {
		err = s.serve(ctx, w)
	}

	if err != nil {
		return errors.Join(err, s.Crash())
	}

	return nil
}

// Read returns the seq of a document.
func (s *server) Read(ctx context.Context, key uint64) (seq uint64, found bool, err error) {
	w := s.current()
	if w == nil {
		return 0, false, errKilled
	}
	body, err := w.call(ctx, kindRead, func(b []byte) ([]byte, error) {
		return binary.LittleEndian.AppendUint64(b, key), nil
	})
	if err != nil {
		return 0, false, err
	}
	seq, _, found, err = parseRead(body)
	return seq, found, err
}

// Stop closes the database.
func (s *server) Stop(ctx context.Context) error {
	w := s.worker.Swap(nil)
	if w == nil {
		return nil
	}
	select {
	case <-w.gone: // it ended by itself, and operations received the error
		return w.kill()
	default:
		return w.quit(ctx)
	}
}
