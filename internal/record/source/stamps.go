package source

import "time"

// stepMin is the minimum clock step to report: ntpd slews anything less (ntpd(8): the step
// threshold, 128 ms).
const stepMin = 128 * time.Millisecond

// Stamps give samples their times: those of the wall clock, but never less than the real time that
// has passed since the previous sample. So a clock that is set back causes neither two samples at
// one time nor an interval that is too short.
type stamps struct {
	begun   bool
	last    time.Time
	ahead   time.Duration // how far last is ahead of the wall clock
	elapsed time.Duration
}

// next returns the time of a sample, in whole milliseconds, and by how much the wall clock was set
// since the last one, or 0.
func (t *stamps) next(wall time.Time, elapsed time.Duration) (at time.Time, step time.Duration) {
	at = wall
	if t.begun {
		even := t.last.Add(elapsed - t.elapsed)
		if step = wall.Add(t.ahead).Sub(even); step.Abs() < stepMin {
			step = 0
		}
		if at.Before(even) {
			at = even
		}
		// Times are stored in whole milliseconds, so two samples need at least one between them.
		if least := t.last.Truncate(time.Millisecond).Add(time.Millisecond); at.Before(least) {
			at = least
		}
	}

	t.begun, t.last, t.ahead, t.elapsed = true, at, at.Sub(wall), elapsed
	return at, step
}
