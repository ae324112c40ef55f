package model

import (
	"plimsoll/internal/base/units"
	"plimsoll/internal/base/vtime"
)

// A flight is a message in flight: the entries up to last. It counts as weight messages.
type flight struct {
	last   uint64
	weight int
}

// A sending is the leader's state for a follower.
type sending struct {
	flights     []flight // a ring buffer
	head, count int
	inflight    int    // messages in flight
	next        uint64 // entries up to here were sent
	match       uint64 // entries up to here are on its disk
	behind      bool   // something could not be sent immediately
	snapshot    bool   // the database is being sent
	snapshotAt  uint64 // the snapshot's last entry
}

// send sends a follower the entries it lacks, within the limit on messages in flight. While a
// follower keeps up, raft sends one message per proposal; once it falls behind, the entries that
// have accumulated go into one message.
func (c *Cluster) send(now vtime.Instant, f *member) {
	s, m := &f.sending, c.leader
	if s.snapshot {
		return
	}

	// The leader no longer has the entries that this follower needs.
	if m.applied > s.match+uint64(c.cfg.SnapshotCount+c.cfg.CatchUp) {
		c.sendSnapshot(f)
		return
	}

	for s.next < m.received {
		room := c.cfg.MaxInflight - s.inflight
		if room <= 0 || s.count == len(s.flights) {
			s.behind = true
			return
		}

		last, weight := m.received, 1
		if !s.behind {
			last = min(last, s.next+uint64(room))
		}

		last = c.log.within(s.next, last, c.cfg.MaxMessage)
		if !s.behind {
			weight = int(last - s.next)
		}

		n := units.Duration(last - s.next)
		_, out := m.host.CPU(now, (c.cfg.CPU.Message + n*c.cfg.CPU.Replicate).Std())
		s.flights[(s.head+s.count)%len(s.flights)] = flight{last, weight}
		s.count++
		s.inflight += weight
		s.next = last
		c.at(out.Add(c.cfg.RTT.Std()/2), arrived, f, last)
	}

	s.behind = false
}

// arrive handles entries that arrive at a follower.
func (c *Cluster) arrive(now vtime.Instant, f *member, last uint64) {
	if last <= f.received || f.sending.snapshot {
		return
	}
	cost := c.cfg.CPU.Message + units.Duration(last-f.received)*c.cfg.CPU.Replicate
	f.received = last
	if f.busy {
		f.host.CPU(now, cost.Std()) // the entries wait for the next turn of its loop
		return
	}
	c.followerReady(now, f, cost)
}

// followerReady starts a Ready with everything that has arrived.
func (c *Cluster) followerReady(now vtime.Instant, f *member, cost units.Duration) {
	f.busy, f.to = true, f.received
	cost += c.cfg.CPU.Ready + units.Duration(f.to-f.synced)*c.cfg.CPU.Entry
	_, done := f.host.CPU(now, cost.Std())
	c.at(done, taken, f, 0)
}

// take writes a follower's Ready to its WAL.
func (c *Cluster) take(now vtime.Instant, f *member) {
	if f.sending.snapshot || f.synced >= f.to { // a snapshot replaces these entries
		c.followerFree(now, f)
		return
	}
	resume := f.wal.append(now, c.log.bytes(f.synced, f.to))
	if resume > now {
		c.at(resume, held, f, 0)
		return
	}
	c.sync(now, f)
}

// followerSynced answers the leader.
func (c *Cluster) followerSynced(now vtime.Instant, f *member) {
	f.synced = max(f.synced, f.to)
	_, out := f.host.CPU(now, c.cfg.CPU.Message.Std())
	c.at(out.Add(c.cfg.RTT.Std()/2), answered, f, f.synced)
	c.followerApply(now, f)
	c.followerFree(now, f)
}

func (c *Cluster) followerFree(now vtime.Instant, f *member) {
	f.busy = false
	if f.received > f.synced {
		c.followerReady(now, f, 0)
	}
}

// answer handles a follower's answer at the leader.
func (c *Cluster) answer(now vtime.Instant, f *member, match uint64) {
	s := &f.sending
	c.loop.owed += c.cfg.CPU.Message
	s.match = max(s.match, match)
	for s.count > 0 && s.flights[s.head].last <= match {
		s.inflight -= s.flights[s.head].weight
		s.head = (s.head + 1) % len(s.flights)
		s.count--
	}
	if s.behind {
		c.send(now, f)
	}
	c.commit(now)
}

// notify sends a follower the commit index. The message itself is not modelled: nothing waits for
// it, and it only costs CPU at both ends.
func (c *Cluster) notify(now vtime.Instant, f *member) {
	c.loop.owed += c.cfg.CPU.Message
	cost := c.cfg.CPU.Message
	if !f.busy {
		cost += c.cfg.CPU.Ready // a Ready without entries: no sync
	}
	f.host.CPU(now, cost.Std())
	c.followerApply(now, f)
}

// followerApply applies the entries that are committed and on the follower's disk.
func (c *Cluster) followerApply(now vtime.Instant, f *member) {
	to := min(c.loop.committed, f.synced)
	if to <= f.applied || f.sending.snapshot {
		return
	}
	f.host.CPU(now, (units.Duration(to-f.applied) * c.cfg.CPU.Apply).Std())
	c.memberApplied(now, f, to)
}

// sendSnapshot sends the whole database to a follower that is too far behind.
func (c *Cluster) sendSnapshot(f *member) {
	s := &f.sending
	s.snapshot, s.snapshotAt = true, c.leader.applied
	s.head, s.count, s.inflight, s.behind = 0, 0, 0, false
	f.received = f.synced // messages in flight are dropped
	b := &f.backend
	b.snapshot.Write(0, max(c.leader.backend.grown, pageSize))
	b.snapshot.Sync(c, event(sent, f.index, c.leader.applied))
}

// snapshotArrived makes a follower continue from a snapshot.
func (c *Cluster) snapshotArrived(now vtime.Instant, f *member, at uint64) {
	s := &f.sending
	s.snapshot = false
	s.match = max(s.match, at)
	s.next = s.match // messages in flight were dropped when the snapshot was sent: send them again
	f.received, f.synced = max(f.received, at), max(f.synced, at)
	f.applied, f.backend.counted = max(f.applied, at), max(f.backend.counted, at)
	c.followerApply(now, f) // its disk may have had more entries than the snapshot
	c.commit(now)
	c.send(now, f)
}
