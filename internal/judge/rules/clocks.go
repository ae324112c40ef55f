package rules

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"plimsoll/internal/base/units"
	"plimsoll/internal/record/timeline"
)

// Two sources' clocks may differ. A refutation would then compare a stall with what the device did
// at another time, and confidently refute what is true. If shifting the device's times by some
// minutes aligns its saturated time with the stalled time, nothing is refuted.
const (
	shiftMax      = 10 * time.Minute
	shiftBusy     = 0.9  // as in the caps' rules
	shiftCells    = 500  // of the stalled cells that are examined, evenly spaced: bounds the work
	shiftApart    = 0.3  // of the stalled time saturated without a shift, at most
	shiftTogether = 0.7  // and when moved, at least
	shiftCommon   = 0.5  // of all time saturated, at most: else any shift matches some of it
	shiftEpisodes = 3    // one burst and one stall always match at some shift
	shiftDraws    = 100  // placements of the stalls
	shiftChance   = 0.05 // of them that match as well, at most
)

// A Shift is how far a device's times would have to move to match the stalled time.
type Shift struct {
	Device string
	By     time.Duration // to add to the device's times
	Now    float64       // share of the stalled time in which the device is saturated
	Then   float64       // the same, moved
}

// ClockShift looks for a device whose saturated time matches the stalled time after one shift for
// all of it, the smallest that does. Sources that share a clock have no shift.
func (c *Case) ClockShift() (Shift, bool) {
	if c.Clocks < 2 || !c.Stall.IsDatabase || len(c.Stall.Cells.Episodes()) < shiftEpisodes {
		return Shift{}, false
	}

	for _, t := range c.Signal(DiskBusy) {
		busy := timeline.Where(t.Values, func(x float64) bool { return x > shiftBusy })
		now := Share(busy, c.Stall.Cells)
		if now > shiftApart || Share(busy, timeline.Known(t.Values)) > shiftCommon ||
			len(busy.Episodes()) < shiftEpisodes {
			continue
		}
		cells, then := bestShift(c.Stall.Cells, busy, c.Cells(shiftMax))
		if then >= shiftTogether && !c.shiftByChance(busy, then) {
			return Shift{Device: t.Labels.Get("device"), By: time.Duration(cells) * c.Grid.Step(), Now: now,
				Then: then}, true
		}
	}

	return Shift{}, false
}

// bestShift returns the number of cells to move a mask by so that it covers most of the stalled
// time, and the share it covers. Among shifts within a tenth of the best it takes the smallest,
// because a recurring pattern matches again one period further.
func bestShift(stalls, busy timeline.Mask, most int) (cells int, share float64) {
	var stalled []int
	for k, in := range stalls {
		if in {
			stalled = append(stalled, k)
		}
	}

	if over := (len(stalled) + shiftCells - 1) / shiftCells; over > 1 {
		few := stalled[:0]
		for i := 0; i < len(stalled); i += over {
			few = append(few, stalled[i])
		}
		stalled = few
	}

	for d := 1; d <= most; d++ {
		for _, by := range []int{-d, d} {
			hit := 0
			for _, k := range stalled {
				if from := k - by; from >= 0 && from < len(busy) && busy[from] {
					hit++
				}
			}
			if s := float64(hit) / float64(len(stalled)); s > share+0.1 ||
				s > share && math.Abs(float64(by-cells)) <= 3 {
				cells, share = by, s
			}
		}
	}

	return cells, share
}

// shiftByChance reports whether stalls at other times would often match the device's saturated time as well
// at the best of all shifts: so many are tried that a device which is saturated much of the time matches
// a few stalls at one of them. (Two things of one period always match at some shift, and no count can tell
// whether that is the clocks.)
func (c *Case) shiftByChance(busy timeline.Mask, share float64) bool {
	n, as := c.Grid.N, 0
	r := rand.New(rand.NewPCG(1, 1)) // the same draws each time
	for range shiftDraws {
		elsewhere := make(timeline.Mask, n)
		for _, e := range c.Stall.Cells.Episodes() {
			first := r.IntN(max(1, n-e.Cells()))
			for k := first; k < min(n, first+e.Cells()); k++ {
				elsewhere[k] = true
			}
		}
		if _, s := bestShift(elsewhere, busy, c.Cells(shiftMax)); s >= share {
			as++
		}
	}

	return float64(as) > shiftChance*shiftDraws
}

// trouble is the text of evidence/gap about a shift.
func (s Shift) trouble(whole Span) Trouble {
	return Trouble{Kind: "clock", Source: "clocks", Span: whole, Text: fmt.Sprintf(
		"%s is saturated in %s of the stalled time, but in %s of it if its clock were %s: if the clocks of its source and the database's differ, give --offset SOURCE=%s; until then the disk is not ruled out",
		s.Device, units.Percent(s.Now), units.Percent(s.Then), forward(s.By), s.By)}
}

func forward(d time.Duration) string {
	if d < 0 {
		return units.Seconds(-d.Seconds()) + " earlier"
	}
	return units.Seconds(d.Seconds()) + " later"
}
