// Package lab defines what runs in the lab: a Server, which is a real engine, and the machine with
// emulated volumes that it runs on.
//
// The simulator predicts; the lab measures. Package volume computes in virtual time when a request
// is done, and the lab waits until then: a real etcd, PostgreSQL or WiredTiger writes through a
// real ext4 or xfs to a block device on your own machine that is as slow as the volume you are considering
// renting. Both produce the same kind of result, so you can compare them; the difference is the model's
// error.
//
//	scenario -> lab/run --+--> lab/mount   volumes as file systems, in a separate process
//	                      |      lab/blockdev   a disk as a block device of the kernel: FUSE and loop
//	                      |        lab/disk     an image in user space that answers when the volume would
//	                      +--> a Server    of an Engine: the real one, from its own folder
//	                      +--> lab/loadgen the open loop, which measures from intended starts
//
// This package holds only what these packages share.
package lab

import (
	"context"
	"time"

	"plimsoll/internal/model/scenario"
	"plimsoll/internal/model/workload"
	"plimsoll/internal/record/source"
)

// A Machine is where a Server runs: file systems on emulated volumes, plus a scratch folder for
// files that must not be on a volume (sockets, logs).
type Machine struct {
	// Dirs are the mounted volumes by their names in the scenario ("data", "journal", "wal").
	// Members of etcd have "m1/data", "m1/wal" and so on, or no prefix if there is only one
	// machine.
	Dirs map[string]string
	// Devices are their block devices by the same names: "loop3".
	Devices  map[string]string
	Scratch  string
	Scenario *scenario.Scenario
	// Log receives the output of the engine's processes.
	Log func(line string)
}

// Print passes a line to Log, if there is one.
func (m *Machine) Print(line string) {
	if m.Log != nil {
		m.Log(line)
	}
}

// Dir returns the folder of the first of the named volumes that exists: Dir("journal", "data") is
// the journal's own volume if there is one, otherwise the volume it shares with the data. It
// returns "" if none exists.
func (m *Machine) Dir(names ...string) string {
	for _, n := range names {
		if d := m.Dirs[n]; d != "" {
			return d
		}
	}
	return ""
}

// An Op is one operation of a workload, numbered to distinguish the writes of a key.
type Op struct {
	workload.Op
	// Seq is stored with the document and increases with each write of a key, so that it shows
	// which write survived a power loss. It is 0 for the documents that are loaded first.
	Seq uint64
}

// A Cycle is an observed checkpoint, or the engine's equivalent.
type Cycle struct {
	From, To time.Time // zero while it runs
}

// A Progress receives the progress of a long task, in the task's own unit. Total is 0 if unknown.
type Progress func(what string, done, total int64)

// A Server is a real storage engine. Its methods are called from one goroutine, except Do.
type Server interface {
	// Describe returns engine and version: "etcd 3.4.23".
	Describe() string
	// Start creates a database on the machine's empty volumes with the scenario's settings, starts
	// the engine, loads the workload's documents, and returns when it serves. An error says which
	// package or setting is missing. The context cancels the start, not the server.
	Start(ctx context.Context, m *Machine, progress Progress) error
	// Do performs an operation on connection conn (0 ... Workload.Connections-1; one at a time on
	// each). It returns when the engine has acknowledged it; for a write, with the durability that the
	// scenario requires.
	Do(ctx context.Context, conn int, op *Op) error
	// Sources returns the engine's own statistics, under the names that exporters give them.
	Sources() []source.Source
	// Cycles returns the checkpoints so far, in order.
	Cycles(ctx context.Context) ([]Cycle, error)
	// Crash ends the engine's processes as a power loss does: immediately, with nothing flushed.
	Crash() error
	// Restart starts the engine again on the existing files, and returns when it serves.
	Restart(ctx context.Context) error
	// Read returns the Seq of the document with this key; found is false if there is none.
	Read(ctx context.Context, key uint64) (seq uint64, found bool, err error)
	// Stop shuts the engine down and waits for its processes. It is safe to call twice, and after a
	// failed Start.
	Stop(ctx context.Context) error
}
