package plan

import (
	"context"
	"fmt"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"plimsoll/internal/base/units"
	"plimsoll/internal/model/scenario"
)

// A layout that counts as repeating another's run would be rejected at the same instant for the
// same reason.
func TestRepeatedIsTheSame(t *testing.T) {
	now := parsed(t, small)
	repeated, ran := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		layouts := func(name string) axis {
			a := axis{path: "volumes." + name}
			for _, iops := range []int{1000, 3000, 4000, 16000} {
				for _, mib := range []int{20, 125, 250, 1000} {
					latency := "{read: {p50: 500us}, write: {p50: 500us, max: 3ms}}"
					a.options = append(a.options, option{sets: []scenario.Set{{Path: a.path, Value: fmt.Sprintf(
						"{type: custom, size: 100GiB, iops: %d, throughput: %dMiB/s, operation: 256KiB, merge: true, latency: %s}", iops, mib, latency)}}})
				}
			}
			return a
		}

		s := &Space{axes: []axis{layouts("data"), layouts("journal")}}
		if rapid.Bool().Draw(t, "one volume") {
			s.axes = s.axes[:1]
		}

		want := []scenario.Bound{{Name: "write_p99", Most: units.Duration(rapid.SampledFrom([]int64{1e6, 2e6, 5e6, 2e7}).Draw(t, "most"))}}
		sim, fresh := newSimulator(&every, now, s, want, 1), newSimulator(&every, now, s, want, 1)
		for range 4 {
			choice := make([]int, len(s.axes))
			for i := range choice {
				choice[i] = rapid.IntRange(0, len(s.axes[i].options)-1).Draw(t, s.axes[i].path)
			}

			c := s.candidate(choice, choice, 0)
			o := sim.ruledOut(&c)
			if o == nil {
				sim.remember(sim.run(context.Background(), &c))
				ran++
				continue
			}

			repeated++
			got := fresh.run(context.Background(), &c)
			got.missed.Mattered, o.missed.Mattered = nil, nil

			if got.reason != o.reason || !reflect.DeepEqual(got.missed, o.missed) {
				t.Fatalf("%v: %s, reported as a repetition: %s", texts(s.sets(choice)), got.reason, o.reason)
			}
		}
	})

	if repeated < 10 || ran < 10 {
		t.Errorf("%d runs repeated of %d: this tests nothing", repeated, ran)
	}
}
