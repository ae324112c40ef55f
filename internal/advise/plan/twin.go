package plan

import (
	"encoding/json"
	"fmt"
	"sync"

	"plimsoll/internal/model/scenario"
	"plimsoll/internal/model/volume"
)

// Many layouts differ from one that was rejected in nothing but more of what that one never lacked:
// 250 MiB/s where 125 held nobody back. They need no run of their own.
//
// A limit of a volume is an instant up to which all that passed is paid for; what comes before it
// waits, until the latest of these instants. Let a run have ended in which some limits were never
// that latest, and take another run in which these are higher, by overHead at least, and nothing
// else is other. Up to any request let both be the same: what passed, and when. Then a higher
// limit's instant is, rounded up to nanoseconds as it is read, no later than it was, since it
// charges less for each (by more than the nanosecond that rounding may take, which is what overHead
// is for); the latest of them is of a limit that is the same in both, or none is later than what
// the request waited for besides, so it passes at the same time. By induction the two runs are the
// same up to where the first was ended, and the other is ended there too, for the same reason. The
// instance's limits, which volumes share, see the same requests at the same times.

// overHead is by how many times a limit has to be higher to count as such.
const overHead = 1.1

// twins are the rejected layouts, by all that is not a volume's IOPS or throughput.
type twins struct {
	mu       sync.Mutex
	rejected map[string][]*twin
}

// A twin is a layout as far as its volumes' limits go, in the order of members and of each one's
// volumes.
type twin struct {
	key      string
	limits   []volume.Rate
	mattered [][volume.Limits]bool
	outcome  *outcome
}

// twinOf describes a layout; nil if it has a volume whose limits are not simple.
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
			if err != nil || l.Burst != nil || l.ReadOnly != (volume.Rate{}) || l.WriteOnly != (volume.Rate{}) {
				return nil
			}
			o := v.Value
			o.IOPS, o.IOPSPerGB, o.Throughput = 0, 0, 0
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

// add remembers a layout that was rejected.
func (all *twins) add(t *twin) {
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.rejected == nil {
		all.rejected = map[string][]*twin{}
	}
	all.rejected[t.key] = append(all.rejected[t.key], t)
}

// find gives what became of a layout whose run a given one's would repeat, nil if none is known.
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

// repeats tells whether a layout differs from this one in higher limits alone, of those that did
// not matter.
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
