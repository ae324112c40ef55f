package rules

import (
	"fmt"
	"math"
	"time"

	"plimsoll/internal/base/units"
	"plimsoll/internal/record/timeline"
)

// Two sources' clocks may be off against each other. A refutation would then compare a stall with
// what the device did at another time, and refute with confidence what is true. Where moving the
// device's times by some minutes lays its saturated time upon the stalled time, nothing is refuted.
const (
	shiftMax      = 10 * time.Minute
	shiftBusy     = 0.9   // as the caps' rules have it
	shiftCells    = 2_000 // of the stalled ones that are looked at, evenly: bounds the work
	shiftApart    = 0.3   // of the stalled time saturated as the clocks stand, at most
	shiftTogether = 0.7   // and when moved, at least
	shiftCommon   = 0.5   // of all time saturated, at most: else any shift meets some of it
	shiftEpisodes = 3     // one burst and one stall fit each other at some shift always
)

// A Shift is how far a device's times would have to move to fit the stalled time.
type Shift struct {
	Device string
	By     time.Duration // to add to the device's times
	Now    float64       // share of the stalled time in which the device is saturated
	Then   float64       // the same, moved
}

// ClockShift looks for a device whose saturated time is the stalled time moved by the same
// distance everywhere, the least distance that fits. Sources that share one clock have none.
func (c *Case) ClockShift() (Shift, bool) {
	if c.Clocks < 2 || !c.Stall.IsDatabase || len(c.Stall.Cells.Episodes()) < shiftEpisodes {
		return Shift{}, false
	}
	for _, t := range c.Signal(DiskBusy) {
		busy := timeline.Where(t.Values, func(x float64) bool { return x > shiftBusy })
		now := Share(busy, c.Stall.Cells)
		if now > shiftApart || Share(busy, timeline.Known(t.Values)) > shiftCommon || len(busy.Episodes()) < shiftEpisodes {
			continue
		}
		if cells, then := c.bestShift(busy); then >= shiftTogether {
			return Shift{Device: t.Labels.Get("device"), By: time.Duration(cells) * c.Grid.Step(), Now: now, Then: then}, true
		}
	}
	return Shift{}, false
}

// bestShift is the number of cells to move a mask by so that it covers the most of the stalled
// time, and that share. Among shifts that are as good within a tenth the least is taken: what
// recurs fits again a period further.
func (c *Case) bestShift(busy timeline.Mask) (cells int, share float64) {
	var stalled []int
	for k, in := range c.Stall.Cells {
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
	for d := 1; d <= c.Cells(shiftMax); d++ {
		for _, by := range []int{-d, d} {
			hit := 0
			for _, k := range stalled {
				if from := k - by; from >= 0 && from < len(busy) && busy[from] {
					hit++
				}
			}
			if s := float64(hit) / float64(len(stalled)); s > share+0.1 || s > share && math.Abs(float64(by-cells)) <= 3 {
				cells, share = by, s
			}
		}
	}
	return cells, share
}

// trouble is the remark of evidence/gap about a shift.
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
