package workload

import (
	"math"
	"time"

	"plimsoll/internal/base/random"
	"plimsoll/internal/base/units"
)

// Spec returns the specification with everything filled in.
func (w *Workload) Spec() Spec { return w.spec }

// IsClosed reports whether this is a closed loop: then Closed returns its clients, and Open
// nothing.
func (w *Workload) IsClosed() bool {
	a := w.spec.Arrivals
	return a.Clients > 0 || (len(a.Steps) > 0 && a.Steps[0].Rate == nil)
}

// Classes names the kinds of operations that have a share, in the order of Op.Class.
func (w *Workload) Classes() []string {
	out := make([]string, len(w.kinds))
	for i, k := range w.kinds {
		out[i] = k.String()
	}
	return out
}

// Connections returns how many operations the engine can have at the same time; the rest queue in front of
// it.
func (w *Workload) Connections() int {
	if !w.IsClosed() {
		return w.spec.Connections
	}
	n := w.spec.Arrivals.Clients
	for _, s := range w.spec.Arrivals.Steps {
		n = max(n, s.Clients)
	}
	return n
}

// Duration returns the time at which the workload ends; 0 means never.
func (w *Workload) Duration() units.Duration { return w.spec.Duration }

// Documents returns how many documents exist when the run begins: keys 0 ... Documents-1.
func (w *Workload) Documents() Count { return w.spec.Keys.Count }

// DocumentSize returns the mean size of a document when the run begins; for buckets, of a full one.
func (w *Workload) DocumentSize() units.Size {
	if w.spec.Buckets != nil {
		return w.spec.Buckets.full()
	}
	return newDocuments(w.spec.Document.fixed(), 0, 0).mean()
}

// Sizes returns how large each document is when the run begins, for callers that create them.
// (Documents that grow start at the size that the seed gives; with buckets, the newest are as full as
// filled_for says, and the others are full.)
func (w *Workload) Sizes(seed random.Seed) func(key uint64) units.Size {
	b := w.spec.Buckets
	if b == nil {
		return newDocuments(w.spec.Document.fixed(), 0, seed).original
	}

	full, newest, open := b.full(), b.full(), uint64(0)
	if entries := b.FilledFor % b.Span / b.Interval; entries > 0 {
		newest, open = b.Base+b.Entry*units.Size(entries), uint64(b.Sensors)
	}

	return func(key uint64) units.Size {
		if key+open >= uint64(w.spec.Keys.Count) {
			return newest
		}
		return full
	}
}

// Rate returns the mean rate of an open loop over its duration, or over its first day if it does
// not end; 0 for a closed loop without a rate limit.
func (w *Workload) Rate() units.Frequency {
	if w.IsClosed() {
		if r := w.spec.Arrivals.Rate; r != nil {
			return *r
		}
		return 0
	}
	end := int64(w.spec.Duration)
	if end == 0 {
		end = int64(24 * 60 * minute)
	}
	return units.Frequency(w.schedule.expected(end) / (float64(end) / 1e9))
}

// expected returns the mean number of arrivals in the first ns of a schedule.
func (s *schedule) expected(ns int64) float64 {
	var sum float64
	for origin, i, at := int64(0), 0, int64(0); at < ns; i++ {
		if i == len(s.pieces) {
			i, origin = 0, at
		}
		p := s.pieces[i]
		until := ns
		if s.repeats || i < len(s.pieces)-1 {
			until = min(ns, origin+int64(p.until))
		}
		sum += float64(float64(p.rate) * float64(until-at) / 1e9)
		at = max(at, until)
	}
	return sum
}

// Writes returns the share of operations that change anything.
func (w *Workload) Writes() units.Ratio {
	var sum units.Ratio
	for k, share := range w.spec.Mix.shares() {
		if Kind(k).Writes() {
			sum += share
		}
	}
	return units.Ratio(math.Min(1, float64(sum)))
}

// Expected returns the mean number of arrivals of an open loop from one time to another; 0 for a
// closed loop.
func (w *Workload) Expected(from, to time.Duration) float64 {
	if w.IsClosed() {
		return 0
	}
	return w.schedule.expected(int64(to)) - w.schedule.expected(int64(from))
}

// Period returns the time after which the rate of arrivals repeats; 0 if it does not.
func (w *Workload) Period() time.Duration {
	if n := len(w.schedule.pieces); w.schedule.repeats && n > 0 {
		return w.schedule.pieces[n-1].until
	}
	return 0
}

// Grows returns the bytes per second that an open loop adds, in new documents and in growth of existing
// ones.
func (w *Workload) Grows() float64 {
	s, mix := &w.spec, w.spec.Mix
	each := float64(float64(mix.Insert) * float64(w.DocumentSize()))
	switch {
	case s.Buckets != nil:
		each = float64(mix.Insert+mix.Push) * float64(s.Buckets.Entry)
	case s.Document != nil:
		each += float64(float64(mix.Update+mix.Push) * float64(s.Document.Growth))
	}
	return float64(float64(w.Rate()) * each)
}
