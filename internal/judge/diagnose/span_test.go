package diagnose

import (
	"testing"
	"time"

	"plimsoll/internal/record/recording"
)

// One metric with a sample from another century does not decide the span of a diagnosis. Two halves of
// a capture that are years apart both count.
func TestUsualSpan(t *testing.T) {
	from := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	to := from.Add(20 * time.Minute)

	var metrics []recording.Metric
	for range 40 {
		metrics = append(metrics, recording.Metric{From: from, To: to, Period: time.Second})
	}

	metrics[7].To = time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)
	metrics[8].From = time.Unix(0, 0).UTC()
	if a, b := usualSpan(metrics, metrics[8].From, metrics[7].To); !a.Equal(from) || !b.Equal(to) {
		t.Errorf("from %s to %s", a, b)
	}

	for i := range 10 {
		metrics[i].From, metrics[i].To = from.AddDate(-3, 0, 0), to.AddDate(-3, 0, 0)
	}

	if a, b := usualSpan(metrics, metrics[0].From, to); !a.Equal(metrics[0].From) || !b.Equal(to) {
		t.Errorf("from %s to %s", a, b)
	}
}
