package model

import (
	"plimsoll/internal/base/units"
	"plimsoll/internal/base/vtime"
	"plimsoll/internal/model/engine"
)

// A loop is the leader's raft loop.
type loop struct {
	since     vtime.Instant // when it took up the Ready it is at
	from      uint64        // the first entry of it is from+1
	committed uint64        // entries known to be committed
	picked    uint64        // committed entries taken up to be applied
	handed    uint64        // of them given to the applier
	owed      units.Duration
}

// propose puts an entry into the leader's log.
func (c *Cluster) propose(now vtime.Instant, i uint32) {
	s := c.slots.At(i)
	s.Spend(now, engine.WaitCPU)
	c.log.append(i, c.entrySize(&s.Op), c.kept())
	c.kick(now)
}

// kept is the first entry of the log whose length is still asked for. One that is sent the database
// asks for none: by the time that is there it may need the next.
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

// kick takes up a Ready if the loop is free and there is anything to do.
func (c *Cluster) kick(now vtime.Instant) {
	m, l := c.leader, &c.loop
	if m.busy || (m.synced == c.log.last && l.picked == l.committed) {
		return
	}

	m.busy = true
	l.since, l.from = now, m.synced
	m.to = c.log.within(m.synced, c.log.last, c.cfg.MaxMessage)

	for i := m.synced + 1; i <= m.to; i++ {
		c.slots.At(c.log.at(i).slot).Spend(now, engine.WaitLogTurn)
	}

	for i := l.picked + 1; i <= l.committed; i++ {
		c.slots.At(c.log.at(i).slot).Spend(now, engine.WaitLogTurn)
	}

	l.picked = l.committed
	n := units.Duration(m.to - m.synced)
	_, done := m.host.CPU(now, (c.cfg.CPU.Ready + n*c.cfg.CPU.Entry + l.owed).Std())
	l.owed = 0
	c.at(done, readied, m, 0)
}

// ready continues with a Ready: first the messages, so that followers sync while the leader does;
// then the committed entries to the applier; then the leader's own WAL.
func (c *Cluster) ready(now vtime.Instant) {
	m, l := c.leader, &c.loop
	for i := l.handed + 1; i <= l.picked; i++ {
		c.slots.At(c.log.at(i).slot).Spend(now, engine.WaitCPU)
	}

	for i := m.synced + 1; i <= m.to; i++ {
		c.slots.At(c.log.at(i).slot).Spend(now, engine.WaitCPU)
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
			c.slots.At(c.log.at(i).slot).Spend(now, engine.WaitThrottle)
		}
	}
	m.wal.began = now
	m.wal.file.Sync(c, event(synced, m.index, 0))
}

// walSynced takes note that a member's entries are on its disk.
func (c *Cluster) walSynced(now vtime.Instant, m *member) {
	took := now.Sub(m.wal.began)
	m.wal.fsync.observe(took)
	if m != c.leader {
		c.followerSynced(now, m)
		return
	}

	// The sync's time in parts: behind others' I/O, behind its own rate, and what is left is
	// latency, that of the file system's journal with it.
	stats := m.wal.file.LastSync()
	queue := min(max(int64(stats.Queue), 0), int64(took))

	limit := min(max(int64(stats.Limit), 0), int64(took)-queue)
	for i := m.synced + 1; i <= m.to; i++ {
		s := c.slots.At(c.log.at(i).slot)
		s.Waits[engine.WaitLogQueue] += queue
		s.Waits[engine.WaitLogLimit] += limit
		s.Waits[engine.WaitLogDevice] += int64(took) - queue - limit
		s.Mark = now
	}

	m.synced = m.to
	if now.Sub(c.loop.since) > 2*c.cfg.Heartbeat.Std() {
		// Heartbeats pass through the same loop; etcd counts one a follower
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

// commit advances what a majority has on disk.
func (c *Cluster) commit(now vtime.Instant) {
	var matches [membersMax]uint64
	n := 0
	for k := range c.members {
		x := c.members[k].sending.match
		if &c.members[k] == c.leader {
			x = c.leader.synced
		}
		i := n
		for ; i > 0 && matches[i-1] < x; i-- {
			matches[i] = matches[i-1]
		}
		matches[i] = x
		n++
	}

	quorum := matches[n/2] // n odd: n/2+1 members have this or more
	l := &c.loop
	if quorum <= l.committed {
		return
	}

	// Entries whose own sync on the leader is not done yet wait for that, not for others.
	for i := l.committed + 1; i <= min(quorum, c.leader.synced); i++ {
		c.slots.At(c.log.at(i).slot).Spend(now, engine.WaitQuorum)
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

// An applier applies committed puts one after another, and cannot while the backend commits.
type applier struct {
	busy  bool
	to    uint64 // the batch it is at
	since vtime.Instant
}

// applyNext starts applying what the loop has handed over.
func (c *Cluster) applyNext(now vtime.Instant) {
	m, a := c.leader, &c.applier
	if a.busy || m.backend.committing || m.applied == c.loop.handed {
		return
	}

	a.busy, a.since = true, now
	a.to = min(c.loop.handed, m.applied+uint64(c.cfg.BatchLimit))

	for i := m.applied + 1; i <= a.to; i++ {
		s := c.slots.At(c.log.at(i).slot)
		if i == m.applied+1 && now.Sub(s.Mark) > slowApply {
			c.done.slowApplies++ // it is the first in the batch that is held by the lock, and timed
		}
		// It waited for the puts before it, and for the backend's lock while that committed last.
		if locked := m.backend.began; s.Mark < m.backend.ended {
			s.Spend(max(s.Mark, locked), engine.WaitCPU)
			s.Spend(m.backend.ended, engine.WaitLock)
		}
		s.Spend(now, engine.WaitCPU)
	}

	_, done := m.host.CPU(now, (units.Duration(a.to-m.applied) * c.cfg.CPU.Apply).Std())
	c.at(done, applied, m, 0)
}

// slowApply is from when etcd counts an apply as slow (--experimental-warning-apply-duration: 100
// ms).
const slowApply = 100e6

// apply has applied a batch: its clients are answered.
func (c *Cluster) apply(now vtime.Instant) {
	m, a := c.leader, &c.applier
	for i := m.applied + 1; i <= a.to; i++ {
		slot := c.log.at(i).slot
		c.slots.At(slot).Spend(now, engine.WaitCPU)
		c.reply(now, slot)
	}
	a.busy = false
	c.memberApplied(now, m, a.to)
	c.applyNext(now)
}
