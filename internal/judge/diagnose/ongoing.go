package diagnose

import (
	"time"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/recording"
)

// An alert about something that is over helps no one, so reports state what was still ongoing at
// the end of the recording. Stalls come and go: one that has just paused is not over.

const (
	// lingerLeast and lingerCells are how long something counts as ongoing after its last stalled
	// interval: waits are counted when they end, and one sample may be lost.
	lingerLeast = 30 * time.Second
	lingerCells = 3
	// lingerPeriods is the same for regular recurrences, in periods: one recurrence may be too mild
	// to notice.
	lingerPeriods = 1.5
	// lingerApart is the same for irregular recurrences, in mean distances. It needs at least
	// lingerEpisodes of them, and lingerApartMax bounds it.
	lingerApart    = 1.5
	lingerApartMax = 2 * time.Minute
	lingerEpisodes = 3
)

// A linger describes how something recurs, which determines how long it may pause and still be
// ongoing. The zero value does not recur.
type linger struct {
	periodS  float64
	episodes int
	spanS    float64 // from the first to the last
	marked   bool    // the user changed something since the last one, which may have ended it
}

// pause is how long ago the last occurrence may be while something is ongoing.
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

// ongoing reports whether something last seen at a time was still ongoing at the end.
func (l linger) ongoing(c *rules.Case, last time.Time) bool {
	return c.Whole().To.Sub(last) <= l.pause(c)
}

// incidentsOngoing marks the incidents, and their findings, that were ongoing at the end. After a
// user's mark no recurrence is expected: the change may have ended it.
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

// markOngoing marks the findings that held at the end. A finding that lists all of its windows says
// when it last held; any other is true of the whole time.
func markOngoing(c *rules.Case, findings []Finding, l linger) {
	for i := range findings {
		f := &findings[i]
		n := len(f.Windows)
		f.Ongoing = n == 0 || n >= rules.WindowsMax || l.ongoing(c, f.Windows[n-1].To)
	}
}
