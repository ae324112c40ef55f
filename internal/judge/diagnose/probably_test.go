package diagnose

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// The verdict does not say "No cause found" when its breakdown explains all of the stalled time.
func TestVerdictAgreesWithAccount(t *testing.T) {
	checkpoint := func(seconds, otherwise float64) []Share {
		return []Share{{Share: duringCheckpoint, Seconds: seconds, Of: 14, Overlaps: true, Note: wallClockNote, Otherwise: otherwise}, {Share: unexplained, Seconds: 14 - seconds, Of: 14}}
	}
	for _, c := range []struct {
		name     string
		account  []Share
		episodes int
		want     string
	}{
		{"one checkpoint, all of the stall", checkpoint(14, 0.02), 1, "Probably checkpoints: 100 % of the stalled time falls within one, but one stall is too few to be sure."},
		{"three stalls, and checkpoints run a third of the time", checkpoint(14, 0.3), 3, "Probably checkpoints, not sure yet: 100 % of the stalled time falls within one. Record until one more has run."},
		{"enough stalls, so it is not their number", checkpoint(14, 0.3), 4, "Possibly checkpoints"},
		{"many stalls, by chance", checkpoint(10, 0.2), 9, "Possibly checkpoints"},
		{"checkpoints run nearly always", checkpoint(14, 0.9), 1, "No certain cause: this held for 100 % of the stalled time, but also for 90 % of the remaining time: during a checkpoint."},
		{"a small part of it", checkpoint(3, 0), 1, "No cause found"},
		{"nothing measured", nil, 1, "No cause found"},
		{"a saturated device", []Share{{Share: "a device saturated", Seconds: 12, Of: 14, Note: wallClockNote}}, 3, "No certain cause, but this held for 86 % of the stalled time: a device saturated."},
	} {
		got := why(nil, StallSummary{Seconds: 14, Of: 75, Episodes: c.episodes}, nil, c.account)
		if !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// A verdict with other causes mentions checkpoints that no rule judged, while their number leaves room for chance.
func TestCheckpointsNextToOtherCauses(t *testing.T) {
	account := []Share{{Share: duringCheckpoint, Seconds: 14, Of: 14, Overlaps: true, Note: wallClockNote, Otherwise: 0.3}}
	capped := Finding{Rule: "disk/iops-capped", Kind: Cause, Severity: Critical, Title: "The IOPS cap binds", Weight: 1}
	burst := Finding{Rule: "x/checkpoint-burst", Kind: Cause, Severity: Info}
	const says = "Checkpoints may start it: 100 % of the stalled time falls within one. To be sure, record until 2 more have run."

	for _, c := range []struct {
		findings []Finding
		episodes int
		want     bool
	}{
		{[]Finding{capped}, 2, true},
		{[]Finding{capped}, 1, false},        // checkpoints run 43 % of the time, so one stall says little
		{[]Finding{capped}, 4, false},        // chance is excluded, so other reasons spoke against it
		{[]Finding{capped, burst}, 2, false}, // a rule judged it
	} {
		got := why(c.findings, StallSummary{Seconds: 14, Of: 75, Episodes: c.episodes}, nil, account)
		if strings.Contains(got, says) != c.want || strings.Contains(got, "Checkpoints may") != c.want {
			t.Errorf("%d findings, %d stalls: %q", len(c.findings), c.episodes, got)
		}
	}
}

// Stalls that have nothing to do with checkpoints are seldom said to be started by them.
func TestCheckpointsByChance(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	capped := []Finding{{Rule: "disk/iops-capped", Kind: Cause, Severity: Critical, Title: "The IOPS cap binds", Weight: 1}}

	const recordings = 2000
	for _, running := range []float64{0.05, 0.15, 0.24, 0.3, 0.5, 0.7} {
		for episodes := 1; episodes <= 6; episodes++ {
			said := 0
			for range recordings {
				within := 0
				for range episodes {
					if random.Float64() < running {
						within++
					}
				}

				share := Share{Share: duringCheckpoint, Seconds: float64(within), Of: float64(episodes), Note: wallClockNote, Otherwise: running}
				stalls := StallSummary{Seconds: share.Of, Of: 100 * share.Of, Episodes: episodes}
				if strings.Contains(why(capped, stalls, nil, []Share{share}), "Checkpoints may") {
					said++
				}
			}

			if got := float64(said) / recordings; got > mayStart+0.03 {
				t.Errorf("%d stalls, checkpoints run %.0f %% of the time: said for %.0f %% of the recordings", episodes, 100*running, 100*got)
			}
		}
	}
}
