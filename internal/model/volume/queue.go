package volume

import (
	"fmt"

	"plimsoll/internal/base/random"
	"plimsoll/internal/base/units"
	"plimsoll/internal/base/vtime"
)

// A Queue is a volume that keeps the promises of its Config.
type Queue struct {
	now     vtime.Instant // of the last submission
	account account
	slots   slots
	meters  [Ops][]*meter // the limits that an operation passes; for a flush those of a write
	buckets []bucket      // of bursts; none if it has no burst
	on      *Instance

	latency [Ops]Latency
	chance  *random.Stream
	bad     *episodes
	fresh   *snapshot // nil: it was made empty
	state   State

	// Requests that share a meter are issued in the order of arrival. Reads and writes that share none have
	// separate orders: line gives the order of each of Ops.
	line [Ops]uint8
	last [2]order

	mergeUntil  vtime.Instant // when the operation that others may join is done
	flushQueues bool
}

// A bucket holds credits. It is a meter of the refill whose slack is the bucket's size.
type bucket struct {
	meter    *meter
	at, size float64       // a full burst's rate per second, and the bucket's size
	emptied  vtime.Instant // Never: it is not empty
}

// order describes the last request of a line.
type order struct {
	issued vtime.Instant
	held   Limit
}

// New makes a volume. Its randomness depends on the seed and on the name in the configuration: two
// volumes with one name are the same volume twice. on is the instance whose limits it shares with
// others, nil if there is none.
func New(cfg Config, seed random.Seed, on *Instance) (*Queue, error) {
	if err := cfg.Check(); err != nil {
		return nil, err
	}

	name := "volumes." + cfg.Name
	q := &Queue{
		account:     account{carries: cfg.Operation, merge: cfg.Merge},
		slots:       newSlots(cfg.Slots),
		on:          on,
		latency:     cfg.Latency,
		chance:      seed.Stream(name + ".latency"),
		flushQueues: cfg.FlushIsOperation,
	}

	if cfg.Episodes != nil {
		q.bad = newEpisodes(*cfg.Episodes, seed, name)
	}

	if i := cfg.Initialization; i != nil {
		q.fresh = &snapshot{Initialization: *i, there: map[int64]vtime.Instant{}}
	}

	q.limit(&cfg)
	return q, nil
}

// MustNew is New for configurations known to be valid, as in tests.
func MustNew(cfg Config, seed random.Seed, on *Instance) *Queue {
	q, err := New(cfg, seed, on)
	if err != nil {
		panic(fmt.Sprintf("volume.MustNew: %v", err))
	}
	return q
}

// limit makes the meters of a configuration.
func (q *Queue) limit(cfg *Config) {
	shared := cfg.Sustained
	if burst := cfg.Burst; burst != nil {
		// The burst replaces the sustained limit in the same unit: that limit becomes the refill
		// rate, and the meter enforces only the peak.
		refill := float64(shared.IOPS)
		if burst.Bytes {
			refill = float64(shared.Throughput)
			shared.Throughput = 0
		} else {
			shared.IOPS = 0
		}

		if burst.At.IOPS != 0 {
			shared.IOPS = burst.At.IOPS
		}

		if burst.At.Throughput != 0 {
			shared.Throughput = burst.At.Throughput
		}

		at := float64(burst.At.IOPS)
		if burst.Bytes {
			at = float64(burst.At.Throughput)
		}

		q.bucket(burst.Capacity, burst.Initial, refill, at, burst.Bytes)

		// A second bucket counts bytes. Config.Check has ensured that the first one counts
		// operations.
		if burst.BytesCapacity > 0 {
			q.bucket(burst.BytesCapacity, burst.BytesCapacity, float64(cfg.Sustained.Throughput),
				float64(burst.At.Throughput), true)
		}
	}

	q.pass(cfg.Slack, shared, Read, Write, Flush)
	q.pass(cfg.Slack, cfg.ReadOnly, Read)
	q.pass(cfg.Slack, cfg.WriteOnly, Write, Flush)

	// Only volumes whose reads and writes share no limit may reorder them.
	if q.on == nil && shared == (Rate{}) && cfg.Burst == nil {
		q.line[Write], q.line[Flush] = 1, 1
	}
}

func (q *Queue) bucket(capacity, initial Credits, refill, at float64, bytes bool) {
	m := newMeter(refill, 0, bytes, VolumeCredits)
	// The meter runs on time, so credits become the nanoseconds that the refill takes to earn them.
	m.slack = int64(float64(capacity) / refill * 1e9)
	m.at = vtime.Instant(float64(capacity-initial) / refill * 1e9)
	q.buckets = append(q.buckets, bucket{meter: &m, at: at, size: float64(capacity), emptied: vtime.Never})
	q.state.HasCredits = true
	for op := range q.meters {
		q.meters[op] = append(q.meters[op], &m)
	}
}

// pass adds a rate's meters to operations.
func (q *Queue) pass(slack units.Duration, r Rate, ops ...Op) {
	var made []*meter
	if r.IOPS != 0 {
		m := newMeter(float64(r.IOPS), slack, false, VolumeIOPS)
		made = append(made, &m)
	}
	if r.Throughput != 0 {
		m := newMeter(float64(r.Throughput), slack, true, VolumeThroughput)
		made = append(made, &m)
	}
	for _, op := range ops {
		q.meters[op] = append(q.meters[op], made...)
	}
}

// Slots returns how many requests the block layer keeps in flight, 0 if unbounded.
func (q *Queue) Slots() int { return q.slots.most }

// Instance returns the limits that it shares with other volumes, or nil.
func (q *Queue) Instance() *Instance { return q.on }

// Submit accepts a request. Its cost does not depend on the backlog: nothing is queued, because the meters
// determine when a request will pass.
func (q *Queue) Submit(now vtime.Instant, request Request) Completion {
	// The meters require time that never goes back.
	now = max(now, q.now)
	q.now = now
	request = request.clamped()
	q.state.Submitted[request.Op]++
	done := Completion{Admitted: now}

	if q.slots.most > 0 {
		if free := q.slots.free(now); free > now {
			done.Admitted, done.Held = free, Slots
			q.held(Slots, now, free)
		}
	}

	done.Issued = done.Admitted
	if request.Op != Flush || q.flushQueues {
		q.issue(&done, request)
	}

	begins := done.Issued

	// Fetching a block from the snapshot comes after the limits: the request has been issued and
	// charged by then.
	if q.fresh != nil {
		if begins = q.fresh.touch(done.Issued, request); begins > done.Issued {
			done.Held = FirstTouch
			q.held(FirstTouch, done.Issued, begins)
		}
	}

	done.Done = begins.Add(q.takes(request.Op, &done).Std())
	if q.slots.most > 0 {
		q.slots.take(done.Done)
	}

	if done.Operations > 0 {
		q.mergeUntil = done.Done
	}

	return done
}

// issue finds when the limits let a request pass, and charges it.
func (q *Queue) issue(done *Completion, r Request) {
	var cost charge
	q.account.charge(&cost, r, done.Admitted <= q.mergeUntil)
	meters := q.meters[r.Op]

	// A request cannot overtake the previous one in its line, even if it costs nothing itself.
	line := &q.last[q.line[r.Op]]

	first, held, waits := done.Admitted, Unlimited, false
	if line.issued > first {
		first, held = line.issued, line.held
	}

	for _, m := range meters {
		// A request merged into the previous operation was admitted with it and waits only for
		// bytes.
		if all, _ := cost.of(m); all > 0 && (m.bytes || !cost.joins) {
			if t := m.ready(); t > first {
				first, held, waits = t, m.limit, true
			}
		}
	}

	if waits { // only for the last of them: the others were over by then
		q.state.Mattered[held] = true
	}

	at := first
	if cost.headBytes > 0 || cost.headOperations > 0 {
		at, held = q.head(meters, &cost, first, held)
	}

	if held != Unlimited {
		done.Held = held
		q.held(held, done.Admitted, at)
	}

	// The instance paces the request while the volume does, so the later of the two decides.
	if q.on != nil {
		if passed, by := q.on.pass(q.now, first, &cost); passed > at {
			done.Held = by
			q.held(by, at, passed)
			at, held = passed, by
		}
	}

	for _, m := range meters {
		all, head := cost.of(m)
		// head has already paid for the rest of the request.
		m.pay(at, all-head)
	}

	for k := range q.buckets {
		q.buckets[k].mark(at)
	}

	line.issued, line.held = at, held
	done.Issued = at
	done.Operations = cost.operations
	q.state.Operations += cost.operations
	q.state.Bytes += cost.bytes
}

// head passes all of a request but its last part, as one lump that begins at first, and returns the instant
// from which the last part may pass.
func (q *Queue) head(meters []*meter, cost *charge, first vtime.Instant, held Limit) (vtime.Instant, Limit) {
	at := first
	for _, m := range meters {
		all, head := cost.of(m)
		if head > 0 {
			m.pay(first, head)
		}
		if t := m.ready(); all > 0 && t > at {
			at, held = t, m.limit
		}
	}
	if at > first {
		q.state.Mattered[held] = true
	}
	return at, held
}

// takes draws the latency of an issued operation.
func (q *Queue) takes(op Op, c *Completion) units.Duration {
	// Drawn even if an episode decides, so that everything else is the same with and without
	// episodes.
	d := q.latency[op].Draw(q.chance)
	if q.bad != nil && q.bad.strikes(op, c.Issued) {
		d = q.bad.latency()
		c.Held = Degraded
		q.state.HeldBy[Degraded] = saturated(q.state.HeldBy[Degraded], d)
	}
	return d
}

// held adds a wait to the volume's totals.
func (q *Queue) held(by Limit, from, to vtime.Instant) {
	q.state.HeldBy[by] = saturated(q.state.HeldBy[by], units.Duration(to.Sub(from)))
}

// saturated adds two nonnegative durations without overflow.
func saturated(a, b units.Duration) units.Duration {
	if s := a + b; s >= a {
		return s
	}
	return units.Duration(vtime.Never)
}

// mark records when the bucket became empty, considering all requests issued so far.
func (b *bucket) mark(at vtime.Instant) {
	switch empty := b.meter.ready() > at; {
	case !empty:
		b.emptied = vtime.Never
	case b.emptied == vtime.Never:
		b.emptied = at
	}
}

// State returns the volume's current state.
func (q *Queue) State(now vtime.Instant) State {
	s := q.state
	for k := range q.buckets {
		if fill := q.buckets[k].fill(now, q.last[0].issued); k == 0 || fill < s.Credits {
			s.Credits = fill
		}
	}
	s.Degraded = q.bad != nil && q.bad.bad(now)
	return s
}

// fill returns how full the bucket is. The meter gives it for the last request issued, which may be
// later than now; until then, the burst ran at its limit.
func (b *bucket) fill(now, issued vtime.Instant) units.Ratio {
	// The meter reflects every issued request, including those to be issued after now.
	last := max(now, issued)
	perSecond := 1e9 * (1 << 32) / float64(b.meter.price)
	credits := b.size

	if owed := b.meter.at.Sub(last); owed > 0 {
		credits -= float64(float64(owed) / 1e9 * perSecond)
	}

	switch {
	case b.emptied <= now && last > now:
		return 0
	case last > now && b.at > perSecond:
		// Undo the consumption between now and the last request, assuming the volume ran at its
		// burst limit until then.
		since := min(last, b.emptied)
		credits += float64(float64(since.Sub(now)) / 1e9 * (b.at - perSecond))
	}

	return units.Ratio(min(max(credits/b.size, 0), 1))
}
