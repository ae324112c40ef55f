// Package database defines what storage engines have in common as models: operations go in when they
// arrive, and are acknowledged when the engine would acknowledge them.
//
// An engine is a state machine over volumes. It is given operations ([Model.Do]) and its own events
// (through the clock on which it scheduled them). It reads and writes through a [kernel.Host], as
// the real engine does. It notifies a [Client] when an operation is done and what it waited for. It
// never sleeps, and its randomness comes from named streams of one seed.
//
// It counts under the names that users' exporters give to the real engine's counters
// ([Model.Metrics]), so that one pack of rules judges both.
package database

import (
	"path"

	"plimsoll/internal/base/random"
	"plimsoll/internal/base/vtime"
	"plimsoll/internal/model/kernel"
	"plimsoll/internal/model/workload"
)

// A Model is a storage engine in virtual time.
type Model interface {
	// Do starts an operation now. The engine calls Client.Done exactly once for each, possibly
	// before Do returns.
	Do(op workload.Op)
	// Metrics names the values of Sample, in order. It does not change.
	Metrics() []Metric
	// Sample writes the current value of each of Metrics into values. NaN means a missing sample.
	Sample(values []float64)
	// Cycles returns the checkpoints (or the engine's equivalent) so far, in order; the last one
	// may still be running.
	Cycles() []Cycle
}

// A Client receives the acknowledgements of operations.
type Client interface {
	// Done reports that op is acknowledged at now, having waited for w. The engine may reuse w
	// after the call.
	Done(now vtime.Instant, op *workload.Op, w *Waits)
}

// An Env is the environment an engine runs in.
type Env struct {
	Clock  *vtime.Clock
	Host   *kernel.Host
	Seed   random.Seed
	Client Client
	// Volumes of all machines, by the scenario's name: "data", "journal". Volume finds one.
	Volumes []*kernel.Device
	// Members are the machines; Host belongs to the first one.
	Members []Member
	// Connections is the number of connections that clients hold, whether they use them or not; 0 if that is
	// not known.
	Connections int
}

// Volume returns the first of the named volumes that exists: Volume("journal", "data") is the journal's
// own volume, or otherwise the one it shares with the data. It is nil if there is none.
func (e *Env) Volume(names ...string) *kernel.Device { return volume(e.Volumes, "", names) }

// A Member is one machine that an engine runs on.
type Member struct {
	// Name is "m1", or "" if an engine has a single machine.
	Name string
	Host *kernel.Host
	// Volumes have the scenario's names, prefixed with the member's name: "m1/data".
	Volumes []*kernel.Device
}

// Volume returns the first of the named volumes that the member has, like [Env.Volume].
func (m *Member) Volume(names ...string) *kernel.Device { return volume(m.Volumes, m.Name, names) }

func volume(among []*kernel.Device, member string, names []string) *kernel.Device {
	for _, name := range names {
		for _, d := range among {
			if d.Name() == path.Join(member, name) {
				return d
			}
		}
	}
	return nil
}

// A Metric is a series: an exporter's metric name, and labels as pairs of name and value.
type Metric struct {
	Name   string
	Labels []string
}

// A Wait is a reason why an operation waits.
type Wait uint8

// The waits, from arrival to acknowledgement. Those for the log's fdatasync are separated by what
// the volume was doing meanwhile, because the fix differs.
const (
	WaitConnection Wait = iota // for a connection, thread or ticket
	WaitCPU                    // for a core, and running on it
	WaitRead                   // for a page to be read
	WaitCache                  // for room in the cache, and evicting to get it
	WaitLock                   // for locks that a checkpoint or similar holds
	WaitThrottle               // held by the kernel for having dirtied too much
	WaitLogTurn                // for the log's sync that was in progress when it arrived
	WaitLogQueue               // the log's I/O queued behind other I/O of its volume
	WaitLogLimit               // the log's I/O held back by its own rate against the volume's limits
	WaitLogDevice              // the volume's latency for the log's I/O
	WaitQuorum                 // for other members
	NumWaits       = 11
)

// String returns the wait's name in reports.
func (w Wait) String() string {
	return [...]string{
		"connection", "CPU", "read", "cache", "locks", "dirty throttle", "log: sync under way",
		"log: behind other I/O", "log: volume's limit", "log: latency", "quorum",
	}[w]
}

// Waits says how long an operation waited for each, in nanoseconds. The difference between their
// sum and the latency is unexplained, and reports say so.
type Waits [NumWaits]int64

// A Cycle is a checkpoint, a write-daemon cycle, a backend commit: a recurring burst of writes.
type Cycle struct {
	Start, End vtime.Instant // End is vtime.Never while it runs
	Dirty      int64         // dirty bytes in the engine's cache when it started
	Written    int64         // bytes it wrote
	Requested  bool          // something requested it early (a full WAL, a full dirty cache)
}

// A Figure is something an engine reports about a run that has no exporter's name: "bytes written
// per write". Unit is one of those that units.Value formats.
type Figure struct {
	Name  string
	Value float64 // NaN: not measurable
	Unit  string
}

// Reporting reads an engine's figures. They cover the run since the last reset, which ends the
// warm-up.
type Reporting struct {
	Figures func(Model) []Figure
	Reset   func(Model)
}

// Evidence describes the measurements that an engine's model was compared with.
type Evidence struct {
	// Measured reports whether the engine's runs are part of simulate's table of accuracy.
	Measured bool
	// Text says in a clause how accurate the model is, or why that is not known.
	Text string
}

// Queries are PromQL over a recording of a run; $span is replaced by the run's length. A figure
// that cannot be queried is empty.
type Queries struct {
	CycleMedian string // median duration of a cycle in seconds, or the nearest equivalent
	CycleNote   string // how that differs from a median, in a sentence
	DirtyMax    string // most dirty bytes in the engine's own cache
}
