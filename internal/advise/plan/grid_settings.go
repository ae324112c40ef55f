package plan

import (
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/base/units"
	etcdmodel "plimsoll/internal/engine/etcd/model"
	irismodel "plimsoll/internal/engine/iris/model"
	streamsmodel "plimsoll/internal/engine/streams/model"
	"plimsoll/internal/model/kernel"
	"plimsoll/internal/model/scenario"
)

// The grid of settings: few values each, those that the engine's own documentation and measured runs name. docs/plan.md lists them
// with their reasons.

// settings are the axes that cost nothing.
func (m *spaceMaker) settings() []axis {
	var out []axis
	add := func(path string, options ...option) {
		a := axis{path: path, options: []option{{}}, setting: true}
		for _, o := range options {
			if len(o.sets) > 0 && !m.kept(o.sets) {
				a.options = append(a.options, o)
			}
		}
		if len(a.options) > 1 {
			out = append(out, a)
		}
	}
	sc := m.now
	if scenario.ConfigOf[*irismodel.Config](sc) == nil && scenario.ConfigOf[*streamsmodel.Config](sc) == nil { // those two write past the page cache
		add("host.dirty_background_bytes", m.writeback())
	}
	switch e := settingsOf(sc); {
	case e.WiredTiger != nil:
		w := "engine.wiredtiger."
		c := e.WiredTiger
		if c.EvictionDirtyTarget > 0.02 || c.EvictionDirtyTrigger > 0.10 {
			add(w+"eviction_dirty_target", option{sets: []set{{w + "eviction_dirty_target", "2%"}, {w + "eviction_dirty_trigger", "10%"}}})
		}
		add(w+"checkpoint", m.interval(w+"checkpoint", c.Checkpoint, Restart)...)
		// Half of the memory less 1 GB is mongod's own default.
		add(w+"cache", cacheOption(w+"cache", c.Cache, (sc.Host.Memory-units.GiB)/2))
	case e.Postgres != nil:
		p := "engine.postgres."
		c := e.Postgres
		var paced []set
		if c.CheckpointCompletionTarget < 0.9 {
			paced = append(paced, set{p + "checkpoint_completion_target", "0.9"})
		}
		if c.CheckpointFlushAfter == 0 {
			paced = append(paced, set{p + "checkpoint_flush_after", "256KiB"})
		}
		add(p+"checkpoint_completion_target", option{sets: paced})
		// Fewer checkpoints: the WAL must have room for them.
		add(p+"checkpoint_timeout", option{sets: []set{
			{p + "checkpoint_timeout", (2 * c.CheckpointTimeout).Std().String()}, {p + "max_wal_size", (2 * c.MaxWALSize).Exact()},
		}})
		add(p+"shared_buffers", cacheOption(p+"shared_buffers", c.SharedBuffers, sc.Host.Memory/4))
	case e.Etcd != nil:
		if c := e.Etcd; c.BatchInterval < units.Duration(500*time.Millisecond) {
			add("engine.etcd.batch_interval", option{sets: []set{{"engine.etcd.batch_interval", "500ms"}}, need: Restart})
		}
	}
	// Of IRIS none: its write daemon's cycle has no parameter that InterSystems documents.
	add("host.filesystem", m.fileSystem())
	add("workload.buckets.span", m.spans()...)
	return out
}

// writeback bounds what the page cache holds before the kernel writes it out: what is written out at once is what a log's fdatasync
// waits behind.
func (m *spaceMaker) writeback() option {
	const bytes = 8 * units.MB
	if now := m.now.Host.DirtyBackground; now > 0 && now <= bytes {
		return option{}
	}
	return option{sets: []set{{"host.dirty_background_bytes", bytes.Exact()}}}
}

// interval tries half of a time between checkpoints: more of them, each smaller.
func (m *spaceMaker) interval(path string, now units.Duration, need Need) []option {
	return []option{{sets: []set{{path, (now / 2).Std().String()}}, need: need}}
}

// cacheOption makes a cache as large as its product recommends, if that is more than a tenth away.
func cacheOption(path string, now, to units.Size) option {
	to = to / (256 * units.MiB) * (256 * units.MiB)
	if to <= 0 || now > 0 && float64(to) > 0.9*float64(now) && float64(to) < 1.1*float64(now) {
		return option{}
	}
	return option{sets: []set{{path, to.Exact()}}, need: Restart}
}

func (m *spaceMaker) fileSystem() option {
	if scenario.ConfigOf[*irismodel.Config](m.now) != nil {
		return option{}
	}
	to := kernel.XFS
	if m.now.Host.FileSystem == kernel.XFS {
		to = kernel.Ext4
	}
	return option{sets: []set{{"host.filesystem", string(to)}}, need: NewVolume}
}

// membersAxis is how many members etcd has. A plan takes no tolerance of failures away: n members live through the loss of
// (n-1)/2, so of an even number one may go.
func (m *spaceMaker) membersAxis() []axis {
	e := scenario.ConfigOf[*etcdmodel.Config](m.now)
	if e == nil || len(m.now.Members) > 0 {
		return nil
	}
	a := axis{path: "engine.etcd.members", options: []option{{}}}
	for _, n := range []int{1, 3, 5, 7} {
		if n == e.Members || (n-1)/2 < (e.Members-1)/2 || n > e.Members+2 {
			continue
		}
		o := option{sets: []set{{a.path, strconv.Itoa(n)}}, need: NewVolume}
		if !m.kept(o.sets) {
			a.options = append(a.options, o)
		}
	}
	return []axis{a}
}

// within tells whether a path is another or a part of it.
func within(path, of string) bool {
	rest, ok := strings.CutPrefix(path, of)
	return ok && (rest == "" || rest[0] == '.')
}
