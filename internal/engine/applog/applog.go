// Package applog is an engine for tests: an append-only log with a periodic compaction. Nobody runs
// it. It shows that an engine is one folder: scenarios, the simulator, the rules, plans, proofs and
// reports take it from here and from one line in a list, and no other file knows of it.
//
// A write is appended to the log and acknowledged when an fdatasync has made it durable; writes
// that come during a sync share the next one. Every so often all live data is written anew, through
// the page cache, and synced. On one volume that makes the appends wait.
package applog

import (
	"errors"

	"plimsoll/internal/base/units"
	"plimsoll/internal/base/vtime"
	"plimsoll/internal/model/engine"
	"plimsoll/internal/model/kernel"
	"plimsoll/internal/model/workload"
)

// logFile is the size of the log's file, which then starts again.
const logFile = 64 * units.MiB

// A pending operation and when it came.
type pending struct {
	op    workload.Op
	since vtime.Instant
}

// A model is the engine in virtual time.
type model struct {
	cfg       Config
	env       *engine.Env
	log, data *kernel.File
	end       units.Size // of what the log's file holds

	syncing, waiting []pending
	busy             bool // a sync is under way

	cycles  []engine.Cycle
	appends int64
	waited  int64 // nanoseconds that appends took, summed over those acknowledged
}

func newModel(cfg *Config, env *engine.Env) (*model, error) {
	data, log := env.Volume("data"), env.Volume("log", "data")
	if data == nil {
		return nil, errors.New("applog needs a volume called data")
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

// Do appends a write, and answers a read from memory at once.
func (m *model) Do(op workload.Op) {
	now := m.env.Clock.Now()
	if !op.Kind.Writes() {
		m.env.Client.Done(now, &op, &engine.Waits{})
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

// Fire acknowledges what the sync made durable.
func (t *syncDone) Fire(now vtime.Instant, arg uint64) {
	m := (*model)(t)
	s, began := m.log.LastSync(), vtime.Instant(arg)
	for i := range m.syncing {
		p := &m.syncing[i]
		var w engine.Waits
		w[engine.WaitLogTurn] = int64(began.Sub(p.since))
		w[engine.WaitLogQueue] = int64(s.Queue)
		w[engine.WaitLogLimit] = int64(s.Limit)
		w[engine.WaitLogDevice] = int64(s.Device)
		m.appends++
		m.waited += int64(now.Sub(p.since))
		m.env.Client.Done(now, &p.op, &w)
	}

	m.syncing = m.syncing[:0]
	m.busy = false
	m.sync()
}

// Fire starts a compaction: all live data into the page cache, and a sync.
func (t *compactionTurn) Fire(now vtime.Instant, _ uint64) {
	m := (*model)(t)
	m.cycles = append(m.cycles, engine.Cycle{Start: now, End: vtime.Never, Dirty: int64(m.cfg.Live)})
	m.data.Write(0, m.cfg.Live)
	m.data.Sync((*compactionDone)(m), 0)
}

// Fire ends it, and sets the time of the next.
func (t *compactionDone) Fire(now vtime.Instant, _ uint64) {
	m := (*model)(t)
	c := &m.cycles[len(m.cycles)-1]
	c.End, c.Written = now, int64(m.cfg.Live)
	m.env.Clock.At(now.Add(m.cfg.Compaction.Std()), (*compactionTurn)(m), 0)
}

// Metrics are what an exporter of it would give.
func (m *model) Metrics() []engine.Metric {
	return []engine.Metric{{Name: metricAppends}, {Name: metricAppendSeconds}, {Name: metricCompacting}}
}

// Sample gives their present values.
func (m *model) Sample(values []float64) {
	values[0], values[1], values[2] = float64(m.appends), float64(m.waited)/1e9, 0
	if n := len(m.cycles); n > 0 && m.cycles[n-1].End == vtime.Never {
		values[2] = 1
	}
}

// Cycles are the compactions so far.
func (m *model) Cycles() []engine.Cycle { return m.cycles }

// The names of its metrics.
const (
	metricAppends       = "applog_appends_total"
	metricAppendSeconds = "applog_append_seconds_total"
	metricCompacting    = "applog_compaction_running"
)
