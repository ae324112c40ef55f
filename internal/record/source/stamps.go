package source

import "time"

// stepMin is the smallest clock step that is reported: ntpd slews anything less (ntpd(8): the step
// threshold, 128 ms).
const stepMin = 128 * time.Millisecond

// Stamps give samples their times: the wall clock's, but never less than the time that has really
// passed since the previous sample. So a clock that is set back causes neither two samples at one
// time nor an interval that is too short.
type stamps struct {
	begun   bool
	last    time.Time
	ahead   time.Duration // of the wall clock
	elapsed time.Duration
}

// next returns the time of a sample, in whole milliseconds, and by how much the wall clock was set
// since the last one, 0 if it was not.
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
		if least := t.last.Truncate(time.Millisecond).Add(time.Millisecond); at.Before(least) {
			at = least
		}
	}

	t.begun, t.last, t.ahead, t.elapsed = true, at, at.Sub(wall), elapsed
	return at, step
}
