package corerules

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"plimsoll/internal/base/units"
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// Two sources' clocks may differ. A refutation would then compare a stall with what the device did
// at another time, and confidently rule out the true cause. So if shifting the device's times by a
// few minutes aligns its saturated time with the stalled time, nothing is refuted.
const (
	shiftMax      = 10 * time.Minute
	shiftBusy     = 0.9  // as in the caps' rules
	shiftCells    = 500  // stalled cells to examine, evenly spaced: bounds the work
	shiftApart    = 0.3  // at most this share of the stalled time is saturated without a shift
	shiftTogether = 0.7  // and at least this share with the shift
	shiftCommon   = 0.5  // at most this share of all time is saturated: otherwise any shift matches
	shiftEpisodes = 3    // one burst and one stall always match at some shift
	shiftDraws    = 100  // random placements of the stalls
	shiftChance   = 0.05 // at most this share of them matches as well
)

// A shift is how far a device's times have to move to match the stalled time.
type shift struct {
	Device string
	By     time.Duration // to add to the device's times
	Now    float64       // share of the stalled time in which the device is saturated
	Then   float64       // the same, after the shift
}

// clockShift looks for a device whose saturated time matches the stalled time after a single shift,
// and returns the smallest such shift. Sources that share a clock have no shift.
func clockShift(c *rules.Case) (shift, bool) {
	if c.Clocks < 2 || !c.Stall.IsDatabase || len(c.Stall.Cells.Episodes()) < shiftEpisodes {
		return shift{}, false
	}

	for _, t := range c.Signal(rules.DiskBusy) {
		busy := timeline.Where(t.Values, func(x float64) bool { return x > shiftBusy })
		now := rules.Share(busy, c.Stall.Cells)

		// A device that already matches needs no shift, and one that is mostly busy matches at any
		// shift.
		if now > shiftApart || rules.Share(busy, timeline.Known(t.Values)) > shiftCommon ||
			len(busy.Episodes()) < shiftEpisodes {
			continue
		}

		cells, then := bestShift(c.Stall.Cells, busy, c.Cells(shiftMax))
		if then >= shiftTogether && !shiftByChance(c, busy, then) {
			return shift{Device: t.Labels.Get("device"), By: time.Duration(cells) * c.Grid.Step(), Now: now,
				Then: then}, true
		}
	}

	return shift{}, false
}

// bestShift returns the number of cells by which to move a mask so that it covers most of the
// stalled time, and the share it covers. Among shifts within a tenth of the best it prefers the
// smallest, because a recurring pattern matches again one period later.
func bestShift(stalls, busy timeline.Mask, most int) (cells int, share float64) {
	var stalled []int
	for k, in := range stalls {
		if in {
			stalled = append(stalled, k)
		}
	}

	// Evenly spaced cells keep the pattern, and bound the work for long recordings.
	if over := (len(stalled) + shiftCells - 1) / shiftCells; over > 1 {
		few := stalled[:0]
		for i := 0; i < len(stalled); i += over {
			few = append(few, stalled[i])
		}
		stalled = few
	}

	// Small shifts first: a larger one has to be clearly better, or next to the best so far.
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

// shiftByChance reports whether randomly placed stalls would often match the device's saturated
// time as well at their best shift. So many shifts are tried that a device that is often saturated
// matches a few stalls at one of them. (Two patterns with the same period always match at some
// shift, and no count can show whether the clocks are the reason.)
func shiftByChance(c *rules.Case, busy timeline.Mask, share float64) bool {
	n, matches := c.Grid.N, 0
	r := rand.New(rand.NewPCG(1, 1)) // a fixed seed: the verdict must not change from run to run
	for range shiftDraws {
		placed := make(timeline.Mask, n)
		for _, e := range c.Stall.Cells.Episodes() {
			first := r.IntN(max(1, n-e.Cells()))
			for k := first; k < min(n, first+e.Cells()); k++ {
				placed[k] = true
			}
		}
		if _, s := bestShift(placed, busy, c.Cells(shiftMax)); s >= share {
			matches++
		}
	}

	return float64(matches) > shiftChance*shiftDraws
}

// trouble reports a shift as a text of evidence/gap.
func (s shift) trouble(whole rules.Span) rules.Trouble {
	return rules.Trouble{Kind: "clock", Source: "clocks", Span: whole, Text: fmt.Sprintf(
		"%s is saturated in %s of the stalled time, but would be in %s of it if its clock were %s: if its source's clock and the database's differ, set --offset SOURCE=%s; until then the disk is not ruled out",
		s.Device, units.Percent(s.Now), units.Percent(s.Then), forward(s.By), s.By)}
}

func forward(d time.Duration) string {
	if d < 0 {
		return units.Seconds(-d.Seconds()) + " earlier"
	}
	return units.Seconds(d.Seconds()) + " later"
}
