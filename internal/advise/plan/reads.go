package plan

import (
	"fmt"

	"plimsoll/internal/base/units"
	"plimsoll/internal/model/catalog"
	"plimsoll/internal/model/scenario"
	"plimsoll/internal/model/simulate"
)

// reading says why the databases' volume cannot take the reads, "" if nothing says so.
//
// Of the operations that come in the measured time answeredMin are to be answered in it. So all but
// so many of those reads are done in it, and no more pass than the volume's highest rate lets
// through, for which credits and what a limit lets one catch up with are taken as a second's worth
// and a twentieth more. Of a stripe, whose parts are neighbours too, nothing is said.
func reading(sc *scenario.Scenario, e *Profile, come simulate.Arrivals, reads func() int64) string {
	data := sc.Volumes.Get("data")
	if e.FirstReads == nil || data == nil || data.Members() > 1 {
		return ""
	}
	most := readsMax(data, sc.Instance())
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

// readsMax are the most reads a second that pass to a volume, 0 if nothing limits them.
func readsMax(o *catalog.Order, on *catalog.InstanceType) units.Frequency {
	l, err := o.Limits(on)
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
