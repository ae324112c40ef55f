package diagnose

import (
	"cmp"
	"slices"
	"time"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// A long recording is also reported by the hour or by the day.
const (
	byHourFrom      = 6 * time.Hour
	byDayFrom       = 4 * 24 * time.Hour
	worstMinutesMax = 10
	minutesFrom     = time.Hour // the incidents alone describe a shorter recording
)

// A Period is an hour or a day (UTC) of a long recording.
type Period struct {
	From       time.Time `json:"from"`
	To         time.Time `json:"to"`
	WatchedS   float64   `json:"watched_seconds"` // without gaps
	StalledS   float64   `json:"stalled_seconds"`
	Operations float64   `json:"operations"`
	WorstS     *float64  `json:"worst_seconds,omitempty"` // highest mean latency of an interval
}

// A Minute is one of the worst minutes.
type Minute struct {
	From time.Time `json:"from"`
	// Signal is the class whose operations waited most, and WaitedS how long, summed over
	// operations (over waiting clients if no latency is known).
	Signal  string   `json:"signal"`
	WaitedS float64  `json:"waited_seconds"`
	WorstS  *float64 `json:"worst_seconds,omitempty"`
}

// client returns the detectors that describe a long recording: those of databases, or of devices if
// there is no database.
func client(c *rules.Case) []rules.Stall {
	var out, devices []rules.Stall
	for _, s := range c.Symptoms {
		switch {
		case s.IsDatabase && !s.Aside:
			out = append(out, s)
		case !s.IsDatabase:
			devices = append(devices, s)
		}
	}
	if len(out) == 0 {
		return devices
	}
	return out
}

// periods returns the hours or days of a long recording in which anything was watched.
func periods(input *rules.Case) []Period {
	whole := input.Whole()
	length := whole.To.Sub(whole.From)

	unit := time.Hour
	switch {
	case length < byHourFrom:
		return nil
	case length >= byDayFrom:
		unit = 24 * time.Hour
	}

	var out []Period
	all := client(input)
	for k := range input.Grid.N {
		watched, stalled, ops, worst := false, false, 0.0, -1.0
		for _, s := range all {
			watched = watched || s.Observed[k]
			// As the samples show them: an interval stalled as a whole or not at all.
			stalled = stalled || s.AsSampled()[k]
			if s.Ops != nil && s.Ops[k] > 0 {
				ops += s.Ops[k]
			}
			if s.Latency != nil && s.Latency[k] > worst {
				worst = s.Latency[k]
			}
		}

		if !watched {
			continue
		}

		// Hours and days of UTC, as in the report's times.
		from := input.Grid.Start(k).Truncate(unit)
		if n := len(out); n == 0 || !out[n-1].From.Equal(from) {
			out = append(out, Period{From: from, To: from.Add(unit)})
		}

		p := &out[len(out)-1]
		step := input.Grid.StepSeconds()
		p.WatchedS += step
		p.Operations += ops * step

		if stalled {
			p.StalledS += step
		}

		// An infinite latency means that operations did not end; it is not a figure to print.
		if worst >= 0 && known(worst) == worst && (p.WorstS == nil || worst > *p.WorstS) {
			p.WorstS = &worst
		}
	}

	return out
}

// worstMinutes returns the minutes in which operations waited most in stalled time, in time order.
func worstMinutes(c *rules.Case) []Minute {
	if whole := c.Whole(); whole.To.Sub(whole.From) < minutesFrom || c.Grid.Step() > time.Minute {
		return nil
	}

	var out []Minute
	for _, s := range client(c) {
		if !s.Any() {
			continue
		}

		// Harm compares classes with and without a known latency.
		cost := harm(c, s)
		for _, e := range s.Cells.Episodes() {
			for k := e.First; k <= e.Last; k++ {
				from := c.Grid.Start(k).Truncate(time.Minute)
				if n := len(out); n == 0 || !out[n-1].From.Equal(from) || out[n-1].Signal != s.Called() {
					out = append(out, Minute{From: from, Signal: s.Called()})
				}
				m := &out[len(out)-1]
				m.WaitedS += known(cost[k])
				if s.Latency != nil {
					if x := s.Latency[k]; x >= 0 && known(x) == x && (m.WorstS == nil || x > *m.WorstS) {
						m.WorstS = &x
					}
				}
			}
		}
	}

	slices.SortStableFunc(out, func(a, b Minute) int { return cmp.Compare(b.WaitedS, a.WaitedS) })
	out = out[:min(len(out), worstMinutesMax)]
	slices.SortStableFunc(out, func(a, b Minute) int { return a.From.Compare(b.From) })

	return out
}

// watchedS is how long anything was watched, in seconds, gaps excluded.
func watchedS(c *rules.Case) float64 {
	m := make(timeline.Mask, c.Grid.N)
	for _, s := range c.Symptoms {
		m = m.Or(s.Observed)
	}
	return c.Seconds(m)
}
