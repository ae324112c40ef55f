package plan

import (
	"encoding/json"
	"fmt"
	"sync"

	"plimsoll/internal/model/scenario"
	"plimsoll/internal/model/volume"
)

// Many layouts differ from a rejected one only by more of something that it never lacked: 250 MiB/s
// instead of 125 that held nothing back. They need no run of their own.
//
// A limit of a volume is an instant up to which everything that passed is paid for; a request that
// arrives earlier waits until the latest of these instants. Take a finished run in which some
// limits were never that latest, and another run in which these are higher, by at least a factor of
// overHead, and nothing else differs. Suppose both are the same up to some request: what passed,
// and when. Then a higher limit's instant, rounded up to nanoseconds as it is read, is no later
// than in the first run, because it charges less per request (by more than the nanosecond of
// rounding, which is what overHead is for). The latest instant belongs to a limit that is the same
// in both, or none is later than what the request waited for otherwise, so it passes at the same
// time. By induction the two runs are the same up to where the first one ended, and the other ends
// there too, for the same reason. The instance's limits, which volumes share, see the same requests
// at the same times.

// overHead is the factor by which a limit has to be higher to count as higher.
const overHead = 1.1

// twins are the rejected layouts, by everything except their volumes' IOPS and throughput.
type twins struct {
	mu       sync.Mutex
	rejected map[string][]*twin
}

// A twin is a layout's volume limits, in the order of members and of each one's volumes.
type twin struct {
	key      string
	limits   []volume.Rate
	mattered [][volume.Limits]bool
	outcome  *outcome
}

// twinOf describes a layout. Only a layout whose volumes with bursts or with limits of their own for
// reads or writes are ordered alike can repeat its run.
func twinOf(s *Space, c *candidate, sc *scenario.Scenario) *twin {
	t := &twin{}
	for i, k := range c.choice {
		if !within(s.axes[i].path, "volumes") {
			t.key += fmt.Sprint(k, " ")
		}
	}
	for k := 1; k <= sc.MemberCount(); k++ {
		for _, v := range sc.VolumesOf(k) {
			l, err := v.Value.Limits(sc.Instance())
			if err != nil {
				return nil
			}
			o := v.Value
			if simple := l.Burst == nil && l.ReadOnly == (volume.Rate{}) && l.WriteOnly == (volume.Rate{}); simple {
				o.IOPS, o.IOPSPerGB, o.Throughput = 0, 0, 0
			}
			text, err := json.Marshal(o)
			if err != nil {
				return nil
			}
			t.key += v.Name + string(text)
			t.limits = append(t.limits, l.Sustained)
		}
	}
	return t
}

// add remembers a rejected layout.
func (all *twins) add(t *twin) {
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.rejected == nil {
		all.rejected = map[string][]*twin{}
	}
	all.rejected[t.key] = append(all.rejected[t.key], t)
}

// find returns the outcome of a layout whose run this one would repeat, nil if none is known.
func (all *twins) find(t *twin) *outcome {
	if t == nil {
		return nil
	}
	all.mu.Lock()
	defer all.mu.Unlock()
	for _, r := range all.rejected[t.key] {
		if r.repeats(t) {
			return r.outcome
		}
	}
	return nil
}

// repeats reports whether a layout differs only by higher values of limits that did not matter.
func (r *twin) repeats(t *twin) bool {
	more := func(x, y float64, mattered bool) bool { return x == y || !mattered && x > 0 && y >= overHead*x }
	for i, x := range r.limits {
		y, by := t.limits[i], &r.mattered[i]
		if !more(float64(x.IOPS), float64(y.IOPS), by[volume.VolumeIOPS]) || !more(float64(x.Throughput), float64(y.Throughput), by[volume.VolumeThroughput]) {
			return false
		}
	}
	return true
}
