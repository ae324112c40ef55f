package model

import (
	"errors"
	"fmt"

	"plimsoll/internal/base/units"
	"plimsoll/internal/base/vtime"
	"plimsoll/internal/model/database"
	"plimsoll/internal/model/kernel"
	"plimsoll/internal/model/workload"
)

// A Member is the environment of one member. WAL and Data may be the same device, and members may
// share a Host.
type Member struct {
	Host      *kernel.Host
	WAL, Data *kernel.Device
}

// A Cluster models all members, the network between them, and the clients' requests.
type Cluster struct {
	cfg     Config
	clock   *vtime.Clock
	client  database.Client
	members []member
	leader  *member
	log     raftLog
	slots   database.Slots
	done    doneCounts

	loop    loop
	applier applier
	cycles  []database.Cycle
}

var _ database.Model = (*Cluster)(nil)

// doneCounts are the counters of requests.
type doneCounts struct {
	heartbeatsLate, slowApplies int64
}

// New creates a cluster that has been running for a while and is idle. cfg.Members must equal the
// number of members.
func New(cfg Config, env *database.Env, members []Member) (*Cluster, error) {
	if l := cfg.Check(); len(l) > 0 {
		return nil, fmt.Errorf("etcd: %w", l.Err())
	}
	if len(members) != cfg.Members {
		return nil, fmt.Errorf("etcd: %d members are configured, but %d have volumes", cfg.Members, len(members))
	}
	if env.Client == nil || env.Clock == nil {
		return nil, errors.New("etcd: needs a clock and a client")
	}

	c := &Cluster{cfg: cfg, clock: env.Clock, client: env.Client, members: make([]member, cfg.Members)}
	for i := range c.members {
		m := members[i]
		if m.Host == nil || m.WAL == nil || m.Data == nil {
			return nil, fmt.Errorf("etcd: member %d has no host or no volume", i+1)
		}
		c.members[i].init(&c.cfg, i, m, env.Seed)
	}

	c.leader = &c.members[cfg.Leader-1]
	c.log.init()
	return c, nil
}

// An event's argument consists of its kind, the member, and a slot or a log index.
type what uint8

const (
	requested   what = iota // a put's request was parsed: propose it
	asked                   // a read's request was parsed
	confirmed               // a read's round trip is over
	readied                 // the leader's loop has finished the CPU part of a Ready
	held                    // the kernel no longer throttles a WAL's writer
	synced                  // a WAL's fdatasync is done
	arrived                 // a message has arrived at a follower
	taken                   // a follower's loop has finished the CPU part of a Ready
	answered                // a follower's answer has arrived at the leader
	applied                 // puts were applied
	replied                 // an answer was written
	commitDue               // the backend's interval is over
	commitCPU               // the commit's pages are ready to be written
	commitPages             // the commit's first sync is done
	commitMeta              // the commit's second sync is done
	sent                    // a snapshot of the database is on a follower's disk
	ignored                 // nothing waits for this event
)

func event(w what, member int, n uint64) uint64 { return uint64(w)<<56 | uint64(member)<<48 | n }

// Fire handles the cluster's own events.
func (c *Cluster) Fire(now vtime.Instant, arg uint64) {
	// An event packs its kind into 8 bits, the member into 8 and an index into 48.
	target, index := &c.members[arg>>48&0xff], arg&(1<<48-1)
	switch what(arg >> 56) {
	case requested:
		c.propose(now, uint32(index))
	case asked:
		c.confirm(now, uint32(index))
	case confirmed:
		c.slots.At(uint32(index)).Spend(now, database.WaitQuorum)
		c.reply(now, uint32(index))
	case readied:
		c.ready(now)
	case held:
		c.sync(now, target)
	case synced:
		c.walSynced(now, target)
	case arrived:
		c.arrive(now, target, index)
	case taken:
		c.take(now, target)
	case answered:
		c.answer(now, target, index)
	case applied:
		c.apply(now)
	case replied:
		c.acknowledge(now, uint32(index))
	case commitDue:
		c.backendDue(now, target)
	case commitCPU:
		c.backendWrite(target)
	case commitPages:
		c.backendMeta(target)
	case commitMeta:
		c.backendDone(now, target)
	case sent:
		c.snapshotArrived(now, target, index)
	// Work that nothing waits for, such as syncing a snapshot.
	case ignored:
	}
}

func (c *Cluster) at(when vtime.Instant, w what, m *member, n uint64) {
	c.clock.At(when, c, event(w, m.index, n))
}

// Do starts an operation: a write is proposed, a read first confirms that the leader still leads.
func (c *Cluster) Do(op workload.Op) {
	now := c.clock.Now()
	slot := c.slots.Take(op, now)
	_, parsed := c.leader.host.CPU(now, c.cfg.CPU.Request.Std())
	kind := asked
	if op.Kind.Writes() {
		kind = requested
	}
	c.at(parsed, kind, c.leader, uint64(slot))
}

// confirm makes a read wait until a majority has confirmed the leader.
func (c *Cluster) confirm(now vtime.Instant, slot uint32) {
	c.slots.At(slot).Spend(now, database.WaitCPU)
	if c.cfg.Members == 1 {
		c.reply(now, slot)
		return
	}
	c.at(now.Add(c.cfg.RTT.Std()), confirmed, c.leader, uint64(slot))
}

func (c *Cluster) reply(now vtime.Instant, slot uint32) {
	_, written := c.leader.host.CPU(now, c.cfg.CPU.Reply.Std())
	c.at(written, replied, c.leader, uint64(slot))
}

func (c *Cluster) acknowledge(now vtime.Instant, slot uint32) {
	s := c.slots.At(slot)
	s.Spend(now, database.WaitCPU)
	c.client.Done(now, &s.Op, &s.Waits)
	c.slots.Give(slot)
}

// entrySize returns a put's size in the WAL, where records are aligned to 8 bytes.
func (c *Cluster) entrySize(op *workload.Op) units.Size {
	return (max(op.Size, 0) + c.cfg.Overhead + 7) &^ 7
}

// Cycles returns the leader's backend commits; in very long runs only the latest, up to
// [cyclesMax].
func (c *Cluster) Cycles() []database.Cycle { return c.cycles }
