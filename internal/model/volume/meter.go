package volume

import (
	"math"
	"math/bits"

	"plimsoll/internal/base/units"
	"plimsoll/internal/base/vtime"
)

// A meter is one limit, as in the generic cell rate algorithm (ITU-T I.371, 2004): an instant up to
// which everything that passed is paid for. What comes before that instant waits for it; what comes
// after finds the meter idle. With slack it waits that much less, so slack is the depth of a token
// bucket, as time: for a bucket of 5.4 million that refills at 300 per second, it is 18,000 s.
//
// A price is kept in 2^-32 of a nanosecond, rounded up, and sums are not rounded, so that 3,000
// operations per second are 3,000 after an hour too, and never 3,000.0001. Issues are at whole
// nanoseconds; the fraction by which that is late is not lost.
type meter struct {
	at    vtime.Instant
	part  uint32 // of a nanosecond, to be added to at
	price uint64 // of one operation or byte
	slack int64  // nanoseconds
	bytes bool   // it counts bytes, otherwise operations
	limit Limit
}

// newMeter makes a meter with a rate per second. Rates that Config.Check accepts fit in a price.
func newMeter(perSecond float64, slack units.Duration, bytes bool, limit Limit) meter {
	return meter{price: uint64(math.Ceil(1e9 * (1 << 32) / perSecond)), slack: int64(slack), bytes: bytes,
		limit: limit}
}

// paid returns the instant up to which everything is paid, rounded up to nanoseconds.
func (m *meter) paid() vtime.Instant {
	if m.part != 0 {
		return m.at + 1
	}
	return m.at
}

// ready returns the instant from which the next request may pass.
func (m *meter) ready() vtime.Instant { return m.paid() - vtime.Instant(m.slack) }

// pay charges n operations or bytes that pass at the given instant.
func (m *meter) pay(at vtime.Instant, n int64) {
	// An idle meter saves up nothing beyond its slack.
	if m.paid() < at {
		m.at, m.part = at, 0
	}

	// The product is in 2^-32 ns and needs up to 128 bits.
	high, low := bits.Mul64(uint64(n), m.price)
	low, carry := bits.Add64(low, uint64(m.part), 0)
	high += carry
	ns := high<<32 | low>>32

	next := m.at + vtime.Instant(ns)

	// A sum past the end of virtual time saturates.
	if high >= 1<<31 || next < m.at {
		m.at, m.part = vtime.Never, 0
		return
	}

	m.at, m.part = next, uint32(low)
}
