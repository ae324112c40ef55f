// Package lab is the real engine on an emulated volume: what a Server is, and the machine it runs
// on.
//
// The simulator predicts; the lab tries. A volume of package volume answers in virtual time when a
// request is done, and the lab waits until then: real etcd, PostgreSQL or WiredTiger writes through
// a real ext4 or xfs to a block device that is as slow as the volume one thinks of renting, on
// one's own machine. Both end in the same kind of result, so they stand side by side, and the
// difference is the model's error.
//
//	scenario -> lab/run --+--> lab/mount   volumes as file systems, in a process of their own
//	                      |      lab/blockdev   a disk as a block device of the kernel: FUSE and loop
//	                      |        lab/disk     an image in user space that answers when the volume would
//	                      +--> a Server    of an Engine: the real one, from its own folder
//	                      +--> lab/loadgen the open loop that asks it, and measures from intended starts
//
// This package holds only what these agree upon.
package lab

import (
	"context"
	"time"

	"plimsoll/internal/model/scenario"
	"plimsoll/internal/model/workload"
	"plimsoll/internal/record/source"
)

// A Machine is where a Server runs: file systems on emulated volumes, and a scratch folder beside
// them for what must not touch a volume (sockets, logs).
type Machine struct {
	// Dirs are the mounted volumes by the scenario's name ("data", "journal", "wal"); members of
	// etcd have "m1/data", "m1/wal" and so on, or without the prefix where there is one machine.
	Dirs map[string]string
	// Devices are their block devices by the same names: "loop3".
	Devices map[string]string
	Scratch string
	// Scenario is what is to be run.
	Scenario *scenario.Scenario
	// Log takes what the engine's processes print.
	Log func(line string)
}

// Dir gives the folder of the first of the named volumes that there is: Dir("journal", "data") is
// the journal's own volume, or else the one it shares with the data; "" if there is none.
func (m *Machine) Dir(names ...string) string {
	for _, n := range names {
		if d := m.Dirs[n]; d != "" {
			return d
		}
	}
	return ""
}

// An Op is one operation of a workload, and what tells its write from others of the same key.
type Op struct {
	workload.Op
	// Seq is written with the document, and rises with each write of a key: after a loss of power
	// it tells which write is there. 0 are the documents of the beginning.
	Seq uint64
}

// A Cycle is a checkpoint (or what the engine has of the kind) that was seen.
type Cycle struct {
	From, To time.Time // To is zero while it runs
}

// A Progress is told how far something long has come, in the work's own unit; total 0 is unknown.
type Progress func(what string, done, total int64)

// A Server is a storage engine that really runs. Its methods are called from one goroutine, except
// Do.
type Server interface {
	// Describe names engine and version: "etcd 3.4.23".
	Describe() string
	// Start makes a database on the machine's empty volumes with the scenario's settings, starts
	// the engine, loads the workload's documents, and returns when it serves. An error says which
	// package or setting is missing. The context ends the start, not the server.
	Start(ctx context.Context, m *Machine, progress Progress) error
	// Do performs an operation on connection conn (0 ... Workload.Connections-1; one at a time on
	// each) and returns when the engine acknowledged it, a write with the durability that the
	// scenario asks for.
	Do(ctx context.Context, conn int, op *Op) error
	// Sources tell the engine's own statistics, under the names that exporters give them.
	Sources() []source.Source
	// Cycles are the checkpoints so far, in order.
	Cycles(ctx context.Context) ([]Cycle, error)
	// Crash ends the engine's processes as a loss of power does: at once, nothing flushed.
	Crash() error
	// Restart starts it again on the files that are there, and returns when it serves.
	Restart(ctx context.Context) error
	// Read gives the Seq of the document with this key; found is false where there is none.
	Read(ctx context.Context, key uint64) (seq uint64, found bool, err error)
	// Stop ends it in order and waits for its processes. Safe to call twice, and after a failed
	// Start.
	Stop(ctx context.Context) error
}
