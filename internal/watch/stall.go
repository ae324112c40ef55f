package watch

import (
	"math"
	"time"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

const (
	// A stall begins if at least beginLeast of the newest beginSpan is stalled. Single stalled
	// seconds are left to the diagnosis, which reports them if there are many.
	beginSpan  = 5 * time.Second
	beginLeast = 2 * time.Second
	// It ends once none of the newest endSpan is stalled. That is longer because waits are only
	// counted when they end.
	endSpan = 10 * time.Second
	// nowSpan is the time over which the current latency is measured.
	nowSpan = 15 * time.Second
	// reportedMost is how many stalls are reported individually within reportSpan; the rest are
	// only counted, and their number is reported at the end of the span.
	reportedMost = 3
	reportSpan   = 10 * time.Minute
)

// stallState describes how long clients currently wait.
type stallState struct {
	Server  string // "" if there is only one
	Subject string // what was judged: "MongoDB writes"; "" while not measurable
	// Latency and Highest are the mean, and the highest mean of an interval, over the newest 15 s,
	// in seconds, or NaN if unknown; Usual is the median over the window; Threshold is the latency
	// from which an interval counts as stalled.
	Latency, Highest, Usual float64
	// Rate is the number of completions per second over the newest 15 s, or NaN if unknown.
	Rate    float64
	Going   bool // a stall is in progress
	Since   time.Time
	Count   int64   // stalls that began since the watch started
	Stalled float64 // their total duration in seconds
}

// stalls detects the beginning and end of stalls.
type stalls struct {
	state stallState
	worst float64 // highest latency of the current stall
	last  time.Time
	// begun and unreported count the stalls within the current reportSpan.
	spanFrom   time.Time
	begun      int
	unreported int
	reported   bool // whether the current one was reported
}

// A stallEvent is the beginning or end of a stall, or a summary of those not reported individually.
type stallEvent struct {
	began, ended, more bool
	state              stallState
	lasted             time.Duration
	worst              float64 // seconds
	unreported         int
}

// observe evaluates a window that ends now.
func (s *stalls) observe(c *rules.Case) (out []stallEvent) {
	stall, grid := c.Stall, c.Grid
	now := grid.Time(grid.N - 1)
	s.present(stall, grid)

	// Report the stalls that were only counted before the span restarts.
	if s.unreported > 0 && now.Sub(s.spanFrom) >= reportSpan {
		out = append(out, stallEvent{more: true, unreported: s.unreported, state: s.state})
	}

	if now.Sub(s.spanFrom) >= reportSpan {
		s.spanFrom, s.begun, s.unreported = now, 0, 0
	}

	cells := func(span time.Duration) int { return int(span / grid.Step()) }

	// Gaps shorter than endSpan do not split a stall, as for its end below.
	first, last := newest(stall.Cells, max(1, cells(endSpan)))

	recent := countFrom(stall.Cells, grid.N-max(1, cells(beginSpan)))
	switch {
	// Cells of the previous stall may still be within beginSpan, so a new stall must begin after
	// it.
	case !s.state.Going && recent >= max(1, cells(beginLeast)) && grid.Start(first).After(s.last):
		s.state.Going, s.state.Since, s.worst = true, grid.Start(first), 0
		s.state.Count++
		s.begun++
		s.reported = s.begun <= reportedMost
		if s.reported {
			out = append(out, stallEvent{began: true, state: s.state})
		} else {
			s.unreported++
		}
	// Measured from the last stalled cell, so the time without stalls does not count as part of it.
	case s.state.Going && now.Sub(grid.Time(max(0, last))) >= endSpan:
		s.state.Going = false
		s.last = grid.Time(max(0, last))
		lasted := s.last.Sub(s.state.Since)
		s.state.Stalled += max(0, lasted.Seconds())
		if s.reported {
			out = append(out, stallEvent{ended: true, state: s.state, lasted: lasted, worst: s.worst})
		}
	}

	if s.state.Going {
		s.worst = max(s.worst, s.state.Highest)
	}

	return out
}

// present updates the current latency and rate.
func (s *stalls) present(stall rules.Stall, grid timeline.Grid) {
	from := max(0, grid.N-int(max(1, nowSpan/grid.Step())))
	st := &s.state
	st.Subject = stall.Subject
	st.Latency, st.Highest, st.Usual, st.Rate = math.NaN(), math.NaN(), math.NaN(), math.NaN()
	var waited, ops float64

	known := false
	for k := from; k < grid.N; k++ {
		if k >= len(stall.Ops) || math.IsNaN(stall.Ops[k]) {
			continue
		}

		known = true
		ops += stall.Ops[k]
		if k < len(stall.Latency) && stall.Latency[k] >= 0 {
			waited += stall.Latency[k] * stall.Ops[k]
			// Written so that it is also true while Highest is NaN.
			if !(st.Highest >= stall.Latency[k]) {
				st.Highest = stall.Latency[k]
			}
		}
	}

	if !known {
		return
	}

	// Unknown cells count as zero, which underestimates the rate rather than overestimating it.
	st.Rate = ops / float64(grid.N-from)
	if st.Highest >= 0 && ops > 0 {
		st.Latency = waited / ops
	}

	if stall.Latency != nil {
		st.Usual = timeline.Quantile(stall.Latency, 0.5)
	}
}

// newest returns the first and last cell of the newest run of marked cells, ignoring gaps up to
// gap; -1 if there is none.
func newest(m timeline.Mask, gap int) (first, last int) {
	first, last = -1, -1
	for k := len(m) - 1; k >= 0; k-- {
		switch {
		case m[k] && last < 0:
			first, last = k, k
		case m[k]:
			first = k
		case last >= 0 && first-k > gap:
			return first, last
		}
	}
	return first, last
}

func countFrom(m timeline.Mask, from int) (n int) {
	for _, on := range m[max(0, min(from, len(m))):] {
		if on {
			n++
		}
	}
	return n
}
