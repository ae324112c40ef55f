package plan

import (
	"encoding/json"
	"fmt"

	"plimsoll/internal/model/scenario"
	"plimsoll/internal/model/volume"
)

// Many layouts differ from a rejected one only by more of something that it never lacked: 250 MiB/s
// instead of 125 that held nothing back. Their runs would repeat its run, so they need none.
//
// A limit of a volume is an instant up to which everything that passed is paid for; a request that
// arrives earlier waits until the latest of these instants. Take a finished run in which some
// limits were never that latest, and another run in which these are higher, by at least a factor of
// clearlyMore, and nothing else differs. Suppose both are the same up to some request: what passed,
// and when. Then a higher limit's instant, rounded up to nanoseconds as it is read, is no later
// than in the first run, because it charges less per request (by more than the nanosecond of
// rounding, which is what clearlyMore is for). The latest instant belongs to a limit that is the same
// in both, or none is later than what the request waited for otherwise, so it passes at the same
// time. By induction the two runs are the same up to where the first one ended, and the other ends
// there too, for the same reason. The instance's limits, which volumes share, see the same requests
// at the same times.

// clearlyMore is the factor by which a limit has to be higher to count as higher.
const clearlyMore = 1.1

// volumeLimits are those of a layout's volumes, in the order of members and of each one's volumes.
type volumeLimits struct {
	key    string // everything else about the layout: only layouts with the same key are compared
	limits []volume.Rate
}

// A pastRun is a run with the limits that ever decided in it when a request passed.
type pastRun struct {
	volumeLimits
	mattered [][volume.Limits]bool
	outcome  *outcome
}

// limitsOf returns the limits of a layout's volumes, false if they cannot be compared. A volume with
// bursts, or with separate limits for reads or writes, is part of the key.
func limitsOf(s *Space, c *candidate, sc *scenario.Scenario) (volumeLimits, bool) {
	out := volumeLimits{}
	for i, k := range c.choice {
		if !within(s.axes[i].path, "volumes") {
			out.key += fmt.Sprint(k, " ")
		}
	}

	for k := 1; k <= sc.MemberCount(); k++ {
		for _, v := range sc.VolumesOf(k) {
			l, err := v.Value.Limits(sc.Instance())
			if err != nil {
				return out, false
			}

			o := v.Value
			if l.Burst == nil && l.ReadOnly == (volume.Rate{}) && l.WriteOnly == (volume.Rate{}) {
				o.IOPS, o.IOPSPerGB, o.Throughput = 0, 0, 0
			}

			text, err := json.Marshal(o)
			if err != nil {
				return out, false
			}

			out.key += v.Name + string(text)
			out.limits = append(out.limits, l.Sustained)
		}
	}

	return out, true
}

// repeatedBy reports whether a layout differs only by higher values of limits that did not matter.
func (r *pastRun) repeatedBy(of *volumeLimits) bool {
	if r.key != of.key {
		return false
	}
	more := func(x, y float64, mattered bool) bool { return x == y || !mattered && x > 0 && y >= clearlyMore*x }
	for i, x := range r.limits {
		y, by := of.limits[i], &r.mattered[i]
		if !more(float64(x.IOPS), float64(y.IOPS), by[volume.VolumeIOPS]) ||
			!more(float64(x.Throughput), float64(y.Throughput), by[volume.VolumeThroughput]) {
			return false
		}
	}
	return true
}

// ruledOut rejects a layout because of the outcome of another: its machine is saturated whatever its
// volumes are, or its run would repeat that of a rejected layout.
func (s *simulator) ruledOut(c *candidate) *outcome {
	if s.unbounded || s.present != nil && c.isPresent() {
		return nil
	}

	if why, saturated := s.saturated[s.space.machine(c.choice)]; saturated {
		return &outcome{candidate: c, repeated: true, reason: why}
	}

	sc, err := s.parse(c.choice)
	if err != nil {
		return nil // prune refused it
	}

	limits, ok := limitsOf(s.space, c, sc)
	if !ok {
		return nil
	}

	for _, r := range s.rejected[limits.key] {
		if r.repeatedBy(&limits) {
			return &outcome{candidate: c, repeated: true, reason: r.outcome.reason, missed: r.outcome.missed}
		}
	}

	return nil
}

// remember keeps what an outcome rules out. It is called in the order of the search, so that the
// answer does not depend on the number of workers.
func (s *simulator) remember(o *outcome) {
	if o.met || s.unbounded {
		return
	}
	if o.saturated {
		s.saturated[s.space.machine(o.choice)] = o.reason
	}

	if r := s.pastRunOf(o); r != nil {
		s.rejected[r.key] = append(s.rejected[r.key], r)
	}
}

// pastRunOf is the run of an outcome, nil if no other can be said to repeat it.
func (s *simulator) pastRunOf(o *outcome) *pastRun {
	mattered := [][volume.Limits]bool(nil)
	switch {
	case o.missed != nil:
		mattered = o.missed.Mattered
	case o.result != nil:
		mattered = o.result.Mattered
	}

	sc, err := s.parse(o.choice)
	if err != nil {
		return nil
	}

	limits, ok := limitsOf(s.space, o.candidate, sc)
	if !ok || len(mattered) != len(limits.limits) {
		return nil
	}

	return &pastRun{limits, mattered, o}
}

// repeats reports whether further assignments to a layout would repeat its run.
func (s *simulator) repeats(o *outcome, more []scenario.Set) bool {
	r := s.pastRunOf(o)
	sc, err := s.over.With(append(s.space.sets(o.choice), more...)...)
	if s.unbounded || r == nil || err != nil {
		return false
	}
	limits, ok := limitsOf(s.space, o.candidate, sc)
	return ok && r.repeatedBy(&limits)
}
