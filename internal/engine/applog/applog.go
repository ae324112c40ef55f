// Package applog is an engine for tests: an append-only log with a periodic compaction. Nothing in
// production runs it. It shows that an engine is one folder: scenarios, the simulator, the rules,
// plans, proofs and reports get it from here and from one line in a list, and no other file refers to it.
//
// A write is appended to the log and acknowledged when an fdatasync has made it durable. Writes
// that arrive during a sync share the next one. Periodically, all live data is rewritten through
// the page cache and synced. On a shared volume, that makes the appends wait.
package applog

import (
	"errors"

	"plimsoll/internal/base/units"
	"plimsoll/internal/base/vtime"
	"plimsoll/internal/model/database"
	"plimsoll/internal/model/kernel"
	"plimsoll/internal/model/workload"
)

// logFile is the size of the log's file, which then starts over.
const logFile = 64 * units.MiB

// A pending is an operation and its arrival time.
type pending struct {
	op    workload.Op
	since vtime.Instant
}

// A model is the engine in virtual time.
type model struct {
	cfg       Config
	env       *database.Env
	log, data *kernel.File
	end       units.Size // of the data in the log's file

	syncing, waiting []pending
	busy             bool // a sync is in progress

	cycles  []database.Cycle
	appends int64
	waited  int64 // total nanoseconds of the acknowledged appends
}

func newModel(cfg *Config, env *database.Env) (*model, error) {
	data, log := env.Volume("data"), env.Volume("log", "data")
	if data == nil {
		return nil, errors.New("applog needs a volume named data")
	}
	m := &model{cfg: *cfg, env: env}
	m.log = env.Host.Create("applog.log", log, logFile)
	m.data = env.Host.Create("applog.data", data, cfg.Live)
	env.Clock.At(env.Clock.Now().Add(cfg.Compaction.Std()), (*compactionTurn)(m), 0)
	return m, nil
}

type (
	syncDone       model
	compactionTurn model
	compactionDone model
)

// Do appends a write. It answers a read immediately from memory.
func (m *model) Do(op workload.Op) {
	now := m.env.Clock.Now()
	if !op.Kind.Writes() {
		m.env.Client.Done(now, &op, &database.Waits{})
		return
	}
	if m.end+op.Size > logFile {
		m.log.Rewind(0)
		m.end = 0
	}
	m.end += op.Size
	m.log.Append(op.Size)
	m.waiting = append(m.waiting, pending{op, now})
	m.sync()
}

func (m *model) sync() {
	if m.busy || len(m.waiting) == 0 {
		return
	}
	m.busy = true
	m.syncing, m.waiting = m.waiting, m.syncing[:0]
	m.log.Sync((*syncDone)(m), uint64(m.env.Clock.Now()))
}

// Fire acknowledges the appends that the sync made durable.
func (t *syncDone) Fire(now vtime.Instant, arg uint64) {
	m := (*model)(t)
	s, began := m.log.LastSync(), vtime.Instant(arg)
	for i := range m.syncing {
		p := &m.syncing[i]
		// In the order in which an append met them: the sync before its own, then the device.
		var w database.Waits
		w[database.WaitLogTurn] = int64(began.Sub(p.since))
		w[database.WaitLogQueue] = int64(s.Queue)
		w[database.WaitLogLimit] = int64(s.Limit)
		w[database.WaitLogDevice] = int64(s.Device)
		m.appends++
		m.waited += int64(now.Sub(p.since))
		m.env.Client.Done(now, &p.op, &w)
	}

	// The arrays change roles at the next sync, so this one keeps its capacity.
	m.syncing = m.syncing[:0]
	m.busy = false
	m.sync()
}

// Fire starts a compaction: it writes all live data to the page cache and syncs it.
func (t *compactionTurn) Fire(now vtime.Instant, _ uint64) {
	m := (*model)(t)
	m.cycles = append(m.cycles, database.Cycle{Start: now, End: vtime.Never, Dirty: int64(m.cfg.Live)})
	m.data.Write(0, m.cfg.Live)
	m.data.Sync((*compactionDone)(m), 0)
}

// Fire ends a compaction and schedules the next.
func (t *compactionDone) Fire(now vtime.Instant, _ uint64) {
	m := (*model)(t)
	c := &m.cycles[len(m.cycles)-1]
	c.End, c.Written = now, int64(m.cfg.Live)
	m.env.Clock.At(now.Add(m.cfg.Compaction.Std()), (*compactionTurn)(m), 0)
}

// Metrics returns the metrics that the engine's exporter would report.
func (m *model) Metrics() []database.Metric {
	return []database.Metric{{Name: metricAppends}, {Name: metricAppendSeconds}, {Name: metricCompacting}}
}

// Sample returns the current values of Metrics.
func (m *model) Sample(values []float64) {
	values[0], values[1], values[2] = float64(m.appends), float64(m.waited)/1e9, 0
	if n := len(m.cycles); n > 0 && m.cycles[n-1].End == vtime.Never {
		values[2] = 1
	}
}

// Cycles returns the compactions so far.
func (m *model) Cycles() []database.Cycle { return m.cycles }

// Names of the engine's metrics.
const (
	metricAppends       = "applog_appends_total"
	metricAppendSeconds = "applog_append_seconds_total"
	metricCompacting    = "applog_compaction_running"
)
