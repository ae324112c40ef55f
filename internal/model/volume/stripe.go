package volume

import (
	"fmt"

	"plimsoll/internal/base/random"
	"plimsoll/internal/base/units"
	"plimsoll/internal/base/vtime"
)

// membersMax is the most that LVM stripes over (lvmcreate's stripes, lvm2 2.03) and the most
// volumes of an instance (EC2 user guide, "Volume limits", 2025).
const membersMax = 128

// A Stripe is several volumes as one (RAID 0, a striped logical volume): the first unit of bytes is
// on the first, the next on the second, and so on in turn. What is sequential on the stripe is
// sequential on each member, so a request is at most one on each, and is done when the last is.
type Stripe struct {
	members   []Volume
	unit      units.Size
	now       vtime.Instant // of the last submission
	submitted [Ops]int64
}

// NewStripe joins volumes. unit is the amount of data on one volume before the next begins: LVM's default is
// 64 KiB.
func NewStripe(unit units.Size, members ...Volume) (*Stripe, error) {
	if len(members) < 1 || len(members) > membersMax {
		return nil, fmt.Errorf("stripe of %d volumes: want 1 to %d", len(members), membersMax)
	}
	if unit < 512 || unit > units.GiB {
		return nil, fmt.Errorf("stripe unit of %d bytes: want 512B (a sector) to %s; LVM's default is 64KiB",
			int64(unit), units.GiB.Exact())
	}
	return &Stripe{members: members, unit: unit}, nil
}

// StripeOf joins n volumes with one configuration, each with its own name and random stream. Size and
// limits in cfg are those of a single volume.
func StripeOf(n int, unit units.Size, cfg Config, seed random.Seed, on *Instance) (*Stripe, error) {
	if n < 1 || n > membersMax {
		return nil, fmt.Errorf("volume %q: stripe of %d volumes: want 1 to %d", cfg.Name, n, membersMax)
	}

	members := make([]Volume, n)
	name := cfg.Name
	for i := range members {
		// A stripe of one keeps the plain name, and with it the random stream of an unstriped
		// volume.
		if n > 1 {
			cfg.Name = fmt.Sprintf("%s.%d", name, i)
		}
		v, err := New(cfg, seed, on)
		if err != nil {
			return nil, err
		}
		members[i] = v
	}

	return NewStripe(unit, members...)
}

// Instance returns the limits that its members share with other volumes; nil if there are none.
func (s *Stripe) Instance() *Instance {
	if m, ok := s.members[0].(interface{ Instance() *Instance }); ok {
		return m.Instance()
	}
	return nil
}

// Submit splits a request over the members. A flush goes to all.
func (s *Stripe) Submit(now vtime.Instant, request Request) Completion {
	now = max(now, s.now)
	s.now = now
	request = request.clamped()
	s.submitted[request.Op]++

	if request.Op == Flush {
		// A flush makes every member's cache durable, so it is as slow as the slowest member.
		c := s.members[0].Submit(now, request)
		for _, m := range s.members[1:] {
			c.join(m.Submit(now, request))
		}
		return c
	}

	width := units.Size(len(s.members))
	if request.Offset < 0 {
		request.Offset = 0
	}

	request.Length = min(request.Length, 1<<63-1-request.Offset)
	chunk, within := request.Offset/s.unit, request.Offset%s.unit
	if within+request.Length <= s.unit {
		request.Offset = chunk/width*s.unit + within
		// A request within one stripe unit needs no split.
		return s.members[chunk%width].Submit(now, request)
	}

	var done Completion

	// Chunks on one member are contiguous there, so each member gets at most one request.
	end := request.Offset + request.Length

	last, rest := (end-1)/s.unit, (end-1)%s.unit+1
	for i := range min(width, last-chunk+1) {
		from := chunk + i              // the first chunk on this member
		to := last - (last-from)%width // its last
		part := Request{Op: request.Op, Offset: from / width * s.unit}
		partEnd := (to/width + 1) * s.unit

		if i == 0 {
			part.Offset += within
		}

		if to == last {
			partEnd += rest - s.unit
		}

		part.Length = partEnd - part.Offset
		d := s.members[from%width].Submit(now, part)
		if i == 0 {
			done = d
		} else {
			done.join(d)
		}
	}

	return done
}

// join combines the completions of two parts of a request. The part that was done last determines
// what held the request.
func (c *Completion) join(d Completion) {
	if d.Done > c.Done {
		c.Held = d.Held
	}
	c.Admitted = max(c.Admitted, d.Admitted)
	c.Issued = max(c.Issued, d.Issued)
	c.Done = max(c.Done, d.Done)
	c.Operations += d.Operations
}

// State sums the members. The credits are those of the member with the fewest, because a stripe is as
// slow as that one, and the stripe is degraded if any of them is.
func (s *Stripe) State(now vtime.Instant) State {
	var sum State
	for _, m := range s.members {
		one := m.State(now)
		sum.Operations += one.Operations
		sum.Bytes += one.Bytes
		for l := range one.HeldBy {
			sum.HeldBy[l] = saturated(sum.HeldBy[l], one.HeldBy[l])
			sum.Mattered[l] = sum.Mattered[l] || one.Mattered[l]
		}
		if one.HasCredits && (!sum.HasCredits || one.Credits < sum.Credits) {
			sum.Credits, sum.HasCredits = one.Credits, true
		}
		sum.Degraded = sum.Degraded || one.Degraded
	}

	sum.Submitted = s.submitted
	return sum
}

// Member returns the number of the member that a request begins on.
func (s *Stripe) Member(r Request) int {
	return int(max(r.Offset, 0) / s.unit % units.Size(len(s.members)))
}

// Members returns the volumes of a stripe, in order.
func (s *Stripe) Members() []Volume { return s.members }

// Slots returns how many requests the block layer keeps in flight for all members together, 0 if
// unbounded.
func (s *Stripe) Slots() (n int) {
	for _, m := range s.members {
		if b, ok := m.(interface{ Slots() int }); ok {
			n += b.Slots()
		}
	}
	return n
}
