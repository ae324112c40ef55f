package plan

import (
	"encoding/json"
	"fmt"

	"plimsoll/internal/model/scenario"
	"plimsoll/internal/model/volume"
)

// Many layouts differ from a rejected one only in a higher limit that was never the bottleneck: 250
// MiB/s instead of 125 MiB/s that never delayed a request. Their runs would repeat the rejected run,
// so the search skips them.
//
// Proof: the model keeps, for each limit of a volume, the instant up to which all admitted requests
// are paid for. A request that arrives earlier waits until the latest of these instants. Take a
// finished run in which some limits never had the latest instant, and a second run that differs only
// in that these limits are higher, by at least a factor of clearlyMore. Assume that both runs are
// identical up to some request. A higher limit charges less per request, so its instant in the second
// run is no later than in the first. (Instants are rounded up to nanoseconds; clearlyMore makes the
// difference larger than the rounding.) So either the latest instant belongs to a limit that is equal
// in both runs, or the request waits longer for something other than limits. In both cases it is
// admitted at the same time in both runs. By induction the runs are identical up to the end of the
// first one, and the second ends there too, for the same reason. Limits of the instance, which its
// volumes share, see the same requests at the same times.

// clearlyMore is the minimum factor by which a limit must exceed another to count as higher.
const clearlyMore = 1.1

// volumeLimits are the limits of a layout's volumes, in the order of members and their volumes.
type volumeLimits struct {
	key    string // everything else about the layout: only layouts with equal keys are comparable
	limits []volume.Rate
}

// A pastRun is a run together with the limits that mattered in it: those that ever determined when a
// request was admitted.
type pastRun struct {
	volumeLimits
	mattered [][volume.Limits]bool
	outcome  *outcome
}

// limitsOf returns the limits of a layout's volumes, or false if they cannot be compared. The proof does
// not cover bursts or separate limits for reads or writes, so volumes that have them are part of the
// key and must be equal.
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

// repeatedBy reports whether a layout differs from the run's only in higher values of limits that did
// not matter.
func (r *pastRun) repeatedBy(of *volumeLimits) bool {
	if r.key != of.key {
		return false
	}
	// Zero means unlimited: it equals only itself.
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

// ruledOut rejects a layout because of another's outcome: the same machine was saturated regardless of
// the volumes, or the run would repeat that of a rejected layout.
func (s *simulator) ruledOut(c *candidate) *outcome {
	if s.opt.unbounded || s.present != nil && c.isPresent() {
		return nil
	}

	if why, saturated := s.saturated[s.space.machine(c.choice)]; saturated {
		return &outcome{candidate: c, repeated: true, reason: why}
	}

	sc, err := s.parse(c.choice)
	if err != nil {
		return nil // prune has rejected it already
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

// remember records what an outcome rules out. The search calls it in its own order, so that the answer
// does not depend on the number of workers.
func (s *simulator) remember(o *outcome) {
	if o.met || s.opt.unbounded {
		return
	}
	if o.saturated {
		s.saturated[s.space.machine(o.choice)] = o.reason
	}

	if r := s.pastRunOf(o); r != nil {
		s.rejected[r.key] = append(s.rejected[r.key], r)
	}
}

// pastRunOf returns the run of an outcome, or nil if it cannot be compared with others.
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

// repeats reports whether a layout with further assignments would repeat its run.
func (s *simulator) repeats(o *outcome, more []scenario.Set) bool {
	r := s.pastRunOf(o)
	sc, err := s.over.With(append(s.space.sets(o.choice), more...)...)
	if s.opt.unbounded || r == nil || err != nil {
		return false
	}
	limits, ok := limitsOf(s.space, o.candidate, sc)
	return ok && r.repeatedBy(&limits)
}
