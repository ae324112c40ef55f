package volume

import (
	"math"
	"math/bits"

	"plimsoll/internal/base/units"
	"plimsoll/internal/base/vtime"
)

// A meter is one limit, as the generic cell rate algorithm has it (ITU-T I.371, 2004): an instant up
// to which all that passed is paid for. What comes before that instant waits for it; what comes
// after finds the meter idle. With slack it waits for that much less, so that slack is
// the depth of a token bucket, in time: of a bucket of 5.4 million that refills at 300 a
// second, it is 18,000 s.
//
// A price is kept in 2^-32 of a nanosecond, rounded up, and nothing is rounded when it is added,
// so that 3,000 operations a second are 3,000 after an hour too, and never 3,000.0001. Issues are at
// whole nanoseconds; the part of one by which that is late is not lost.
type meter struct {
	at    vtime.Instant
	part  uint32 // of a nanosecond, to be added to at
	price uint64 // of one operation or byte
	slack int64  // nanoseconds
	bytes bool   // it counts bytes, otherwise operations
	limit Limit
}

// newMeter lets perSecond pass a second; what Config.Check let through fits in a price.
func newMeter(perSecond float64, slack units.Duration, bytes bool, limit Limit) meter {
	return meter{price: uint64(math.Ceil(1e9 * (1 << 32) / perSecond)), slack: int64(slack), bytes: bytes, limit: limit}
}

// paid is the instant up to which all is paid for, rounded up to nanoseconds.
func (m *meter) paid() vtime.Instant {
	if m.part != 0 {
		return m.at + 1
	}
	return m.at
}

// ready is when it lets the next pass.
func (m *meter) ready() vtime.Instant { return m.paid() - vtime.Instant(m.slack) }

// pay takes the price of n, which pass at the instant given.
func (m *meter) pay(at vtime.Instant, n int64) {
	if m.paid() < at {
		m.at, m.part = at, 0
	}
	high, low := bits.Mul64(uint64(n), m.price)
	low, carry := bits.Add64(low, uint64(m.part), 0)
	high += carry
	ns := high<<32 | low>>32
	next := m.at + vtime.Instant(ns)
	if high >= 1<<31 || next < m.at {
		m.at, m.part = vtime.Never, 0
		return
	}
	m.at, m.part = next, uint32(low)
}
