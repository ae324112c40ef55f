package accuracy_test

import (
	"testing"
	"time"

	"plimsoll/internal/judge/accuracy"
)

func TestTruth(t *testing.T) {
	for _, c := range []struct {
		stalled, without  time.Duration
		cause, refutation accuracy.Truth
	}{
		{100 * time.Second, 0, accuracy.Right, accuracy.Wrong},
		{100 * time.Second, 20 * time.Second, accuracy.Right, accuracy.Wrong},
		{100 * time.Second, 50 * time.Second, accuracy.Unclear, accuracy.Unclear},
		{100 * time.Second, 80 * time.Second, accuracy.Wrong, accuracy.Right},
		{100 * time.Second, 300 * time.Second, accuracy.Wrong, accuracy.Right},
		{0, 0, accuracy.Wrong, accuracy.Right},
	} {
		if got := accuracy.Cause(c.stalled, c.without); got != c.cause {
			t.Errorf("cause of %s, %s without: %d, want %d", c.stalled, c.without, got, c.cause)
		}
		if got := accuracy.Refutation(c.stalled, c.without); got != c.refutation {
			t.Errorf("refutation at %s, %s granted: %d, want %d", c.stalled, c.without, got, c.refutation)
		}
	}
}

func TestTabulate(t *testing.T) {
	trial := func(rule string, truth accuracy.Truth, said bool) accuracy.Trial {
		return accuracy.Trial{Rule: rule, Sampling: time.Second, Truth: truth, Said: said}
	}
	rows := accuracy.Tabulate([]accuracy.Trial{
		trial("a", accuracy.Right, true), trial("a", accuracy.Right, true), trial("a", accuracy.Wrong, true), trial("a", accuracy.Right, false),
		trial("a", accuracy.Wrong, false), trial("a", accuracy.Unclear, true),
		trial("b", accuracy.Wrong, false),
	})

	want := []accuracy.Row{{Sampling: time.Second, Hits: 2, Alarms: 1, Misses: 1}, {Rule: "a", Sampling: time.Second, Hits: 2, Alarms: 1, Misses: 1}, {Rule: "b", Sampling: time.Second}}
	if len(rows) != len(want) {
		t.Fatalf("rows are %+v", rows)
	}

	for i, r := range rows {
		if r != want[i] {
			t.Errorf("row %d is %+v, want %+v", i, r, want[i])
		}
	}

	if f1, ok := rows[1].F1(); !ok || f1 != 2./3 {
		t.Errorf("F1 is %v, %v", f1, ok)
	}

	if _, ok := rows[2].F1(); ok {
		t.Error("a rule that had nothing to say and said nothing has an F1")
	}
}
