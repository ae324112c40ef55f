package rules

import (
	"math/rand/v2"
	"testing"

	"plimsoll/internal/record/timeline"
)

// Unrelated stalls and conditions pass the test about as often as it allows, however long either lasts.
func TestContrastsOfIndependentTimes(t *testing.T) {
	const n, tries = 1200, 400
	for _, of := range []struct{ stalls, stallCells, bursts, burstCells int }{{8, 1, 20, 20}, {8, 5, 40, 5}, {5, 20, 30, 10}, {20, 3, 100, 2}} {
		r := rand.New(rand.NewPCG(1, 2))
		passed := 0
		for range tries {
			draw := func(count, cells int) timeline.Mask {
				m := make(timeline.Mask, n)
				for range count {
					at := r.IntN(n - cells)
					for k := range cells {
						m[at+k] = true
					}
				}
				return m
			}

			all := make(timeline.Mask, n).Not()
			st := Stalls{Time: Time{Grid: timeline.Grid{StepMs: 1000, N: n}}, Stall: Stall{Cells: draw(of.stalls, of.stallCells), Active: all, Observed: all}}
			if st.Contrasts(draw(of.bursts, of.burstCells)) {
				passed++
			}
		}

		if share := float64(passed) / tries; share > MaxChance+0.03 {
			t.Errorf("%+v: %.0f %% of independent recordings pass, want at most %.0f %%", of, 100*share, 100*MaxChance)
		}
	}
}

// Stalls that repeatedly overlap a condition are not a coincidence, and neither is one long stall that
// begins and ends with it.
func TestContrastsOfCausedTimes(t *testing.T) {
	const n = 300
	mask := func(eps ...timeline.Episode) timeline.Mask { return timeline.MaskOf(n, eps) }

	all := make(timeline.Mask, n).Not()
	for _, of := range []struct {
		name               string
		stalled, condition timeline.Mask
	}{
		{"each of five checkpoints stalls for two seconds", mask(timeline.Episode{First: 20, Last: 21}, timeline.Episode{First: 80, Last: 81}, timeline.Episode{First: 140, Last: 141}, timeline.Episode{First: 200, Last: 201}, timeline.Episode{First: 260, Last: 261}),
			mask(timeline.Episode{First: 10, Last: 30}, timeline.Episode{First: 70, Last: 90}, timeline.Episode{First: 130, Last: 150}, timeline.Episode{First: 190, Last: 210}, timeline.Episode{First: 250, Last: 270})},
		{"one stall of 17 s in one checkpoint of 17 s", mask(timeline.Episode{First: 100, Last: 116}), mask(timeline.Episode{First: 101, Last: 117})},
	} {
		st := Stalls{Time: Time{Grid: timeline.Grid{StepMs: 1000, N: n}}, Stall: Stall{Cells: of.stalled, Active: all, Observed: all}}
		if !st.Contrasts(of.condition) {
			t.Errorf("%s: not a cause; chance %.3f", of.name, st.ChanceToMeet(of.condition))
		}
	}
}

// A condition whose signals are missing is an empty mask. It explains nothing and does not end a
// diagnosis.
func TestContrastsOfUnknownTimes(t *testing.T) {
	const n = 300
	st := Stalls{Time: Time{Grid: timeline.Grid{StepMs: 1000, N: n}}, Stall: Stall{
		Cells:  timeline.MaskOf(n, []timeline.Episode{{First: 20, Last: 21}, {First: 80, Last: 81}}),
		Active: make(timeline.Mask, n).Not(), Observed: make(timeline.Mask, n).Not(),
	}}
	unknown := timeline.Where(nil, func(x float64) bool { return x < 1 })
	if st.Contrasts(unknown) || st.MeetsByChance(unknown) || st.ChanceToMeet(unknown) != 1 {
		t.Errorf("contrasts %v, met by chance %v, chance %g; want false, false and 1", st.Contrasts(unknown),
			st.MeetsByChance(unknown), st.ChanceToMeet(unknown))
	}
}
