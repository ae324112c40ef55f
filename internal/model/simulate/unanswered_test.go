package simulate

import (
	"testing"

	"pgregory.net/rapid"

	"plimsoll/internal/base/vtime"
	"plimsoll/internal/model/database"
	"plimsoll/internal/model/workload"
)

// TestUnanswered: the waiting operations are those that were sent and neither answered nor refused, the
// oldest first.
func TestUnanswered(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var u unanswered
		var want []vtime.Instant

		now := vtime.Instant(0)
		for range rapid.IntRange(0, 200).Draw(t, "steps") {
			switch now++; rapid.IntRange(0, 3).Draw(t, "what") {
			case 0, 1:
				u.add(now, true)
				want = append(want, now)
			case 2:
				u.add(now, true)
				u.refuse(now)
			default:
				if len(want) > 0 {
					i := rapid.IntRange(0, len(want)-1).Draw(t, "which")
					u.answer(want[i])
					want = append(want[:i:i], want[i+1:]...)
				}
			}
		}

		var got []vtime.Instant
		u.older(now+1, func(at vtime.Instant, _ bool) { got = append(got, at) })
		if len(got) != len(want) {
			t.Fatalf("%v wait, want %v", got, want)
		}

		for i := range got {
			if got[i] != want[i] {
				t.Fatalf("%v wait, want %v", got, want)
			}
		}
	})
}

// TestUnfinishedCounts: an operation without an answer at the end, or a checkpoint that is still
// running, counts with the time that it has taken so far.
func TestUnfinishedCounts(t *testing.T) {
	const ms = vtime.Instant(1e6)
	m := newMeter(0, 10_000*ms)
	cycles := []database.Cycle{{Start: 1000 * ms, End: 1187 * ms}, {Start: 6200 * ms, End: vtime.Never}}
	m.cycles = func() []database.Cycle { return cycles }

	for i := range 1000 {
		op := workload.Op{At: vtime.Instant(i) * ms, Kind: workload.Update}
		m.arrived(&op)
		if i < 993 {
			m.done(op.At+3*ms, &op, &database.Waits{}, nil, false)
		}
	}

	m.finish()
	if got := m.sorted.Writes.All().Max(); got < int64(9000*ms) {
		t.Errorf("write_max is %v ns with seven writes unanswered for over 9 s", got)
	}

	if got := m.sorted.Writes.All().Percentile(50); got > int64(4*ms) {
		t.Errorf("median %v ns", got)
	}

	if got := sumCycles(cycles, m); got.MaxSeconds == nil || *got.MaxSeconds != 3.8 || got.Count != 1 {
		t.Errorf("%+v: want a checkpoint of 3.8 s, and one that ended", got)
	}
}
