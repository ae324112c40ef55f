package model

import (
	"slices"

	"plimsoll/internal/base/units"
	"plimsoll/internal/base/vtime"
	"plimsoll/internal/model/database"
)

// A loop is the leader's raft loop.
type loop struct {
	since     vtime.Instant  // when it started the current Ready
	committed uint64         // entries known to be committed
	picked    uint64         // committed entries included in a Ready
	handed    uint64         // entries passed on to the applier
	owed      units.Duration // CPU time of messages, charged with the next Ready
}

// propose appends an entry to the leader's log.
func (c *Cluster) propose(now vtime.Instant, i uint32) {
	s := c.slots.At(i)
	s.Spend(now, database.WaitCPU)
	c.log.append(i, c.entrySize(&s.Op), c.kept())
	c.kick(now)
}

// kept returns the first log entry whose length is still needed. A member that receives a snapshot
// needs the entries after it.
func (c *Cluster) kept() uint64 {
	kept := c.leader.applied
	for k := range c.members {
		f := &c.members[k]
		at := min(f.synced, f.backend.counted)
		if f.sending.snapshot {
			at = f.sending.snapshotAt
		}
		kept = min(kept, at)
	}
	if lag := uint64(c.cfg.SnapshotCount + c.cfg.CatchUp); c.leader.applied > lag {
		kept = max(kept, c.leader.applied-lag)
	}
	return kept
}

// kick starts a Ready if the loop is free and there is something to do.
func (c *Cluster) kick(now vtime.Instant) {
	m, l := c.leader, &c.loop
	if m.busy || (m.synced == c.log.last && l.picked == l.committed) {
		return
	}

	m.busy = true
	l.since = now
	m.to = c.log.within(m.synced, c.log.last, c.cfg.MaxMessage)

	for i := m.synced + 1; i <= m.to; i++ {
		c.slots.At(c.log.at(i).slot).Spend(now, database.WaitLogTurn)
	}

	for i := l.picked + 1; i <= l.committed; i++ {
		c.slots.At(c.log.at(i).slot).Spend(now, database.WaitLogTurn)
	}

	// The CPU time of messages since the last turn delays this one.
	l.picked = l.committed
	n := units.Duration(m.to - m.synced)
	_, done := m.host.CPU(now, (c.cfg.CPU.Ready + n*c.cfg.CPU.Entry + l.owed).Std())
	l.owed = 0
	c.at(done, readied, m, 0)
}

// ready continues a Ready: first the messages, so that followers sync while the leader does; then
// it passes committed entries to the applier; then it writes the leader's own WAL.
func (c *Cluster) ready(now vtime.Instant) {
	m, l := c.leader, &c.loop
	for i := l.handed + 1; i <= l.picked; i++ {
		c.slots.At(c.log.at(i).slot).Spend(now, database.WaitCPU)
	}

	for i := m.synced + 1; i <= m.to; i++ {
		c.slots.At(c.log.at(i).slot).Spend(now, database.WaitCPU)
	}

	m.received = m.to
	for k := range c.members {
		if f := &c.members[k]; f != m {
			c.send(now, f)
		}
	}

	l.handed = l.picked
	c.applyNext(now)
	if m.to == m.synced {
		c.loopFree(now)
		return
	}

	resume := m.wal.append(now, c.log.bytes(m.synced, m.to))
	if resume > now {
		c.at(resume, held, m, 0)
		return
	}

	c.sync(now, m)
}

// sync starts a member's fdatasync.
func (c *Cluster) sync(now vtime.Instant, m *member) {
	if m == c.leader {
		for i := m.synced + 1; i <= m.to; i++ {
			c.slots.At(c.log.at(i).slot).Spend(now, database.WaitThrottle)
		}
	}
	m.wal.began = now
	m.wal.file.Sync(c, event(synced, m.index, 0))
}

// walSynced handles the end of a member's fdatasync.
func (c *Cluster) walSynced(now vtime.Instant, m *member) {
	took := now.Sub(m.wal.began)
	m.wal.fsync.observe(took)
	if m != c.leader {
		c.followerSynced(now, m)
		return
	}

	// Split the sync's time: queued behind other I/O, delayed by the volume's rate limit, and the
	// rest is latency, including that of the file system's journal.
	stats := m.wal.file.LastSync()
	queue := min(max(int64(stats.Queue), 0), int64(took))

	limit := min(max(int64(stats.Limit), 0), int64(took)-queue)
	for i := m.synced + 1; i <= m.to; i++ {
		s := c.slots.At(c.log.at(i).slot)
		s.Waits[database.WaitLogQueue] += queue
		s.Waits[database.WaitLogLimit] += limit
		s.Waits[database.WaitLogDevice] += int64(took) - queue - limit
		s.Mark = now
	}

	m.synced = m.to
	if now.Sub(c.loop.since) > 2*c.cfg.Heartbeat.Std() {
		// Heartbeats pass through the same loop; etcd counts one per follower
		// (server/etcdserver/raft.go, processMessages).
		c.done.heartbeatsLate += int64(len(c.members) - 1)
	}

	c.commit(now)
	c.loopFree(now)
}

func (c *Cluster) loopFree(now vtime.Instant) {
	c.leader.busy = false
	c.kick(now)
}

// commit advances the commit index to what a majority has on disk.
func (c *Cluster) commit(now vtime.Instant) {
	var all [membersMax]uint64
	matches := all[:len(c.members)]
	for k := range c.members {
		matches[k] = c.members[k].sending.match
		if &c.members[k] == c.leader {
			matches[k] = c.leader.synced
		}
	}

	// The median is on a majority's disks, because the number of members is odd.
	slices.Sort(matches)
	quorum := matches[len(matches)/2]
	l := &c.loop
	if quorum <= l.committed {
		return
	}

	// Entries that the leader has not synced yet wait for its sync, not for the quorum.
	for i := l.committed + 1; i <= min(quorum, c.leader.synced); i++ {
		c.slots.At(c.log.at(i).slot).Spend(now, database.WaitQuorum)
	}

	l.committed = quorum
	for k := range c.members {
		if f := &c.members[k]; f != c.leader {
			c.notify(now, f)
		}
	}

	if !c.leader.busy {
		c.kick(now)
	}
}

// An applier applies committed puts one after another, but not while the backend commits.
type applier struct {
	busy bool
	to   uint64 // the last entry of the current batch
}

// applyNext starts applying the entries that the loop has passed on.
func (c *Cluster) applyNext(now vtime.Instant) {
	m, a := c.leader, &c.applier
	if a.busy || m.backend.committing || m.applied == c.loop.handed {
		return
	}

	a.busy = true
	a.to = min(c.loop.handed, m.applied+uint64(c.cfg.BatchLimit))

	for i := m.applied + 1; i <= a.to; i++ {
		s := c.slots.At(c.log.at(i).slot)
		if i == m.applied+1 && now.Sub(s.Mark) > slowApply {
			c.done.slowApplies++ // the lock delays the batch's first entry, which is the one that etcd times
		}
		// It waited for earlier puts, and for the backend's lock during the last commit.
		if locked := m.backend.began; s.Mark < m.backend.ended {
			s.Spend(max(s.Mark, locked), database.WaitCPU)
			s.Spend(m.backend.ended, database.WaitLock)
		}
		s.Spend(now, database.WaitCPU)
	}

	_, done := m.host.CPU(now, (units.Duration(a.to-m.applied) * c.cfg.CPU.Apply).Std())
	c.at(done, applied, m, 0)
}

// slowApply, in nanoseconds, is the duration above which etcd counts an apply as slow
// (--experimental-warning-apply-duration: 100 ms).
const slowApply = 100e6

// apply finishes a batch and answers its clients.
func (c *Cluster) apply(now vtime.Instant) {
	m, a := c.leader, &c.applier
	for i := m.applied + 1; i <= a.to; i++ {
		slot := c.log.at(i).slot
		c.slots.At(slot).Spend(now, database.WaitCPU)
		c.reply(now, slot)
	}
	a.busy = false
	c.memberApplied(now, m, a.to)
	c.applyNext(now)
}
