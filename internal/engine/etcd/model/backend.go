package model

import (
	"plimsoll/internal/base/random"
	"plimsoll/internal/base/units"
	"plimsoll/internal/base/vtime"
	"plimsoll/internal/model/database"
	"plimsoll/internal/model/kernel"
)

// pageSize is bbolt's page size on Linux, the same as a memory page's.
const pageSize = 4 * units.KiB

// leafFill is how much of a leaf bbolt fills if keys are appended. etcd's keys are revisions, so
// they always are (etcd server/storage/backend, UnsafeSeqPut: FillPercent 0.9).
const leafFill = pageSize * 9 / 10

// pathPages is the number of pages that a commit rewrites regardless of its size, each to a free
// page elsewhere: the branch above the leaves and the root of the buckets (assumed: a tree of depth
// three).
const pathPages = 2

// snapshotSize is the size of a snapshot file: little more than the membership, because the keys
// are in the database (assumed; etcd 3.6 stores no v2 store in it).
const snapshotSize = 8 * units.KiB

// cyclesMax bounds the remembered commits: three hours at the default interval. At the limit the
// older half is dropped.
const cyclesMax = 1 << 17

// A backend is a member's database file.
type backend struct {
	file     *kernel.File
	snap     *kernel.File // snapshot files, one after another
	snapshot *kernel.File // the database that a leader sent
	chance   *random.Stream
	quota    units.Size
	grown    units.Size // current size of the file
	next     units.Size // where the next leaves go once the file has reached its quota

	counted      uint64 // entries whose bytes are included in pendingBytes
	pending      int    // puts since the last commit
	pendingBytes units.Size
	scheduled    bool
	requested    bool // a commit is due as soon as the current one ends
	committing   bool
	began, ended vtime.Instant
	meta         units.Size
	snapshotAt   uint64
	seconds      histogram
}

func (b *backend) init(name string, cfg *Config, on Member, seed random.Seed) {
	b.file = on.Host.Create(name+"/db", on.Data, cfg.Quota)
	b.snap = on.Host.Create(name+"/snap", on.Data, snapshotSize)
	b.snapshot = on.Host.Create(name+"/db.snap", on.Data, cfg.Quota)
	b.snap.SetPrewritten(true)
	b.snapshot.SetPrewritten(true)
	b.chance = seed.Stream("etcd." + name + ".pages")
	b.quota = cfg.Quota
	b.ended = -1
}

// memberApplied adds applied puts to the member's next backend commit, and starts snapshots when
// due.
func (c *Cluster) memberApplied(now vtime.Instant, m *member, to uint64) {
	b := &m.backend
	b.pending += int(to - m.applied)
	b.pendingBytes += c.log.bytes(b.counted, to)
	b.counted, m.applied = to, to

	if to >= b.snapshotAt+uint64(c.cfg.SnapshotCount) {
		b.snapshotAt = to
		b.snap.Write(0, snapshotSize)
		b.snap.Sync(c, event(ignored, m.index, 0))
		b.requested = true // a snapshot commits the backend first
	}

	if b.requested || b.pending >= c.cfg.BatchLimit {
		b.requested = true
		c.backendStart(now, m)
	}

	if !b.scheduled && !b.committing {
		b.scheduled = true
		c.at(max(now, b.ended.Add(c.cfg.BatchInterval.Std())), commitDue, m, 0)
	}
}

func (c *Cluster) backendDue(now vtime.Instant, m *member) {
	m.backend.scheduled = false
	if m.backend.pending > 0 {
		c.backendStart(now, m)
	}
}

// backendStart starts a commit, unless one is in progress.
func (c *Cluster) backendStart(now vtime.Instant, m *member) {
	b := &m.backend
	if b.committing {
		return
	}

	// Only the leader's commits count as cycles: on a follower no client waits for one.
	b.committing, b.began = true, now
	pages := (b.pendingBytes+leafFill-1)/leafFill + pathPages
	if m == c.leader {
		if len(c.cycles) >= cyclesMax {
			c.cycles = append(c.cycles[:0], c.cycles[cyclesMax/2:]...)
		}
		c.cycles = append(c.cycles, database.Cycle{
			Start: now, End: vtime.Never, Dirty: int64(pages * pageSize), Written: int64((pages + 1) * pageSize),
			Requested: b.requested,
		})
	}

	b.requested = false
	_, done := m.host.CPU(now, (c.cfg.CPU.Commit + units.Duration(pages)*c.cfg.CPU.Page).Std())
	c.at(done, commitCPU, m, 0)
}

// backendWrite writes the changed pages and syncs them.
func (c *Cluster) backendWrite(m *member) {
	b := &m.backend
	leaves := (b.pendingBytes + leafFill - 1) / leafFill * pageSize
	b.pending, b.pendingBytes = 0, 0

	// The file grows up to its quota. After that compaction frees pages, so the oldest are reused.
	for leaves > 0 {
		if grow := min(leaves, b.quota-b.grown); grow > 0 {
			b.file.Append(grow)
			b.grown += grow
			leaves -= grow
			continue
		}

		if b.next >= b.quota {
			b.next = 0
		}

		again := min(leaves, b.quota-b.next)
		b.file.Write(b.next, again)
		b.next += again
		leaves -= again
	}

	// Branch pages go to free pages anywhere in the file.
	for range pathPages {
		b.file.Write(units.Size(b.chance.Below(uint64(max(b.grown/pageSize, 1))))*pageSize, pageSize)
	}

	b.file.Sync(c, event(commitPages, m.index, 0))
}

// backendMeta writes and syncs the meta page. There are two, used alternately.
func (c *Cluster) backendMeta(m *member) {
	b := &m.backend
	b.file.Write(b.meta*pageSize, pageSize)
	b.meta = 1 - b.meta
	b.file.Sync(c, event(commitMeta, m.index, 0))
}

// backendDone ends a commit. On a follower, puts applied during it start the next interval.
func (c *Cluster) backendDone(now vtime.Instant, m *member) {
	b := &m.backend
	b.committing, b.ended = false, now
	b.seconds.observe(now.Sub(b.began))

	if m == c.leader {
		c.cycles[len(c.cycles)-1].End = now
	}

	if b.requested || b.pending >= c.cfg.BatchLimit {
		b.requested = true
		c.backendStart(now, m)
	} else if b.pending > 0 && !b.scheduled {
		b.scheduled = true
		c.at(now.Add(c.cfg.BatchInterval.Std()), commitDue, m, 0)
	}

	if m == c.leader {
		c.applyNext(now)
	}
}
