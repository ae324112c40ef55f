package diagnose

import (
	"time"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/recording"
)

// What was true of a recording is one thing, what was true at its end another: an alert about
// something that is over helps nobody. Stalls come and go, so what has just paused is not over.

const (
	// lingerLeast and lingerCells are how long after its last stalled interval something is still
	// under way: waits are counted when they end, and one sample may be lost.
	lingerLeast = 30 * time.Second
	lingerCells = 3
	// lingerPeriods is the same in periods of what recurs regularly: one recurrence may be mild.
	lingerPeriods = 1.5
	// lingerApart is the same in mean distances of what recurs irregularly, of which there have to be
	// a few, and lingerApartMax bounds it.
	lingerApart    = 1.5
	lingerApartMax = 2 * time.Minute
	lingerEpisodes = 3
)

// A linger is how something recurs, which tells how long a pause may be; zero: it does not.
type linger struct {
	periodS  float64
	episodes int
	spanS    float64 // from the first to the last
	marked   bool    // somebody changed something since the last: it need not recur
}

// pause is how long ago the last of it may be while it is under way.
func (l linger) pause(c *rules.Case) time.Duration {
	least := max(lingerLeast, lingerCells*c.Grid.Step())
	switch {
	case l.marked:
	case l.periodS > 0:
		return max(least, time.Duration(lingerPeriods*l.periodS*float64(time.Second)))
	case l.episodes >= lingerEpisodes:
		apart := time.Duration(lingerApart * l.spanS / float64(l.episodes-1) * float64(time.Second))
		return max(least, min(apart, lingerApartMax))
	}
	return least
}

// ongoing reports whether something that was last seen at a time was under way at the end.
func (l linger) ongoing(c *rules.Case, last time.Time) bool {
	return c.Whole().To.Sub(last) <= l.pause(c)
}

// incidentsOngoing marks the incidents that were under way at the end, and what of their findings was.
// After a mark no recurrence is expected: what was changed may have ended it.
func incidentsOngoing(c *rules.Case, all []Incident, marks []recording.Mark) {
	for i := range all {
		x := &all[i]
		l := linger{x.Stalls.PeriodS, x.Stalls.Episodes, x.To.Sub(x.From).Seconds(),
			len(marks) > 0 && !marks[len(marks)-1].At.Before(x.To)}
		if x.Ongoing = l.ongoing(c, x.To); x.Ongoing {
			markOngoing(c, x.Findings, l)
		}
	}
}

// markOngoing marks the findings that held at the end. What lists all of its windows says when it
// held last; anything else is true of the whole time.
func markOngoing(c *rules.Case, findings []Finding, l linger) {
	for i := range findings {
		f := &findings[i]
		n := len(f.Windows)
		f.Ongoing = n == 0 || n >= rules.WindowsMax || l.ongoing(c, f.Windows[n-1].To)
	}
}
