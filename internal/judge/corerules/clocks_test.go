package corerules

import (
	"math/rand/v2"
	"testing"

	"github.com/prometheus/prometheus/model/labels"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// A device with its own saturation pattern matches a few stalls at some clock shift. That must not
// prevent ruling it out. If every burst meets a stall after the same shift, it must.
func TestClockShiftByChance(t *testing.T) {
	const n, tries = 1800, 60
	shifted, byChance := 0, 0

	r := rand.New(rand.NewPCG(3, 4))
	for range tries {
		bursts, stalls := make(timeline.Mask, n), make(timeline.Mask, n)
		for range 30 {
			from := 60 + r.IntN(n-100)
			for k := from; k < from+18; k++ {
				bursts[k] = true
			}
		}

		for range 4 {
			from := r.IntN(n - 10)
			for k := from; k < from+3; k++ {
				stalls[k] = true
			}
		}

		if _, off := clockShift(clockCase(bursts, stalls)); off {
			byChance++
		}

		// The same bursts, with stalls in eight of them, timed by a clock that is 45 s ahead.
		stalls = make(timeline.Mask, n)
		for i, e := range bursts.Episodes() {
			for k := e.First - 45; k < e.Last-45 && i%2 == 0; k++ {
				if k >= 0 {
					stalls[k] = true
				}
			}
		}

		c := clockCase(bursts, stalls)
		if rules.Share(bursts, stalls) > shiftApart {
			continue // it happens to match without a shift, too
		}

		if _, off := clockShift(c); off {
			shifted++
		}
	}

	if byChance > tries/10 {
		t.Errorf("of %d independent devices, %d match at a shift", tries, byChance)
	}

	if shifted < tries/3 {
		t.Errorf("a clock that is off was found in %d of at most %d cases", shifted, tries)
	}
}

func clockCase(bursts, stalls timeline.Mask) *rules.Case {
	busy := make([]float64, len(bursts))
	for k, on := range bursts {
		if on {
			busy[k] = 1
		}
	}

	grid := timeline.Grid{StepMs: 1000, N: len(bursts)}
	c := rules.NewCase(nil, grid, func(s *rules.Signal) []timeline.Track {
		if s != rules.DiskBusy {
			return nil
		}
		return []timeline.Track{{Labels: labels.FromStrings("device", "sda"), Values: busy}}
	})

	c.Clocks = 2
	all := make(timeline.Mask, grid.N).Not()
	c.Stall = rules.Stall{Cells: stalls, Active: all, Observed: all, IsDatabase: true}

	return c
}
