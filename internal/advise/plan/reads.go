package plan

import (
	"fmt"

	"plimsoll/internal/base/units"
	"plimsoll/internal/model/scenario"
	"plimsoll/internal/model/simulate"
)

// reading says why the databases' volume cannot take the reads, "" if nothing rules it out.
//
// Of the operations that arrive in the measured time, a share of answeredMin must be answered in
// it. So nearly all of these reads happen in it, and the volume's highest rate limits how many that
// can be. Credits, and what a limit allows to catch up, count as one second's worth and a twentieth
// more. A stripe is not judged, because its parts have neighbouring blocks too.
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
	needed := float64(reads()) - float64((1-answeredMin)*float64(come.Writes+come.Reads))
	if needed <= float64(float64(most)*(seconds+1))*1.05 {
		return ""
	}

	return fmt.Sprintf("the databases are read at %s or more, for blocks not touched before, and their volume allows %s",
		units.Frequency(needed/seconds), most)
}

// readsMax is the highest rate of reads of the databases' volumes, 0 if one has no limit.
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

// readsOf is the highest rate of reads of a member's data volume, 0 if it has no limit.
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
