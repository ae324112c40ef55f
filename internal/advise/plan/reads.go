package plan

import (
	"fmt"

	"plimsoll/internal/base/units"
	"plimsoll/internal/model/scenario"
	"plimsoll/internal/model/simulate"
)

// reading returns why the data volume cannot sustain the reads, or "" if nothing rules it out.
//
// A share of at least answeredMin of the operations that arrive in the measured time must be answered
// within it. So nearly all of the first reads happen within it, and the volume's peak rate limits how
// many that can be. Credits, and the burst that a limit allows for catching up, are covered by one
// extra second and 5 %. Stripes are never rejected: adjacent blocks also share a stripe unit, so a
// stripe may merge reads that FirstReads counts separately.
func reading(sc *scenario.Scenario, e *Profile, come simulate.Arrivals, reads func() int64) string {
	data := sc.Volumes.Get("data")
	if e.FirstReads == nil || data == nil || data.Members() > 1 {
		return ""
	}

	most := readsMax(sc)
	if most == 0 {
		return ""
	}

	seconds := float64(sc.Run.Duration) / 1e9

	// Every operation that may stay unanswered saves at most one read.
	needed := float64(reads()) - float64((1-answeredMin)*float64(come.Writes+come.Reads))
	if needed <= float64(float64(most)*(seconds+1))*1.05 {
		return ""
	}

	return fmt.Sprintf("the databases need at least %s of first reads of blocks, but their volume allows only %s",
		units.Frequency(needed/seconds), most)
}

// readsMax returns the highest read rate of any member's data volume, or 0 if one has no limit.
func readsMax(sc *scenario.Scenario) units.Frequency {
	most := units.Frequency(0)
	for k := 1; k <= sc.MemberCount(); k++ {
		r := readsOf(sc, k)
		if r == 0 {
			return 0
		}
		most = max(most, r)
	}
	return most
}

// readsOf returns the peak read rate of a member's data volume, or 0 if it has no limit.
func readsOf(sc *scenario.Scenario, k int) units.Frequency {
	l, err := sc.LimitsOf(k, "data")
	if err != nil {
		return 0
	}
	most := l.Sustained.IOPS
	if l.Burst != nil && most != 0 {
		most = max(most, l.Burst.At.IOPS)
	}
	if r := l.ReadOnly.IOPS; r != 0 && (most == 0 || r < most) {
		most = r
	}
	return most
}
