package diagnose

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"plimsoll/internal/base/units"
	"plimsoll/internal/judge/rules"
)

// Stalls of which mostlyWithin or more falls within checkpoints belong to them unless that is chance.
const mostlyWithin = 0.8

// mayStart limits the chance with which independent stalls all fall within checkpoints: above it, a
// verdict with other causes does not mention checkpoints. No claim depends on it, so it is laxer than
// rules.MaxChance.
const mayStart = 0.25

// usual is the share of the whole time that checkpoints run, which is how often an independent stall falls
// within one.
func usual(within *Share, stalls StallSummary) float64 {
	return (within.Seconds + within.Otherwise*(stalls.Of-within.Of)) / stalls.Of
}

// cyclesMore is how many more checkpoints, each with a stall, would exclude chance; 0 if there were enough,
// or if the stalls are not mostly within checkpoints.
func cyclesMore(within *Share, stalls StallSummary) int {
	if within.Seconds < mostlyWithin*within.Of || stalls.Of <= 0 {
		return 0
	}

	share := usual(within, stalls)
	if share <= 0 || share >= 1 {
		return 0
	}
	return max(0, int(math.Ceil(math.Log(rules.MaxChance)/math.Log(share)))-stalls.Episodes)
}

func moreCheckpoints(n int) string {
	if n == 1 {
		return "one more has"
	}
	return fmt.Sprintf("%d more have", n)
}

// alsoCheckpoints is a sentence for a verdict whose causes do not include checkpoints, if the stalls fall
// within them and only their number leaves room for chance. It is "" if a rule judged checkpoints.
func alsoCheckpoints(findings []Finding, account []Share, stalls StallSummary) string {
	judged := func(f Finding) bool {
		return f.Kind != Symptom && strings.Contains(f.Rule, "checkpoint")
	}
	if stalls.Seconds == 0 || rules.Trifle(stalls.Seconds, stalls.Of) || slices.ContainsFunc(findings, judged) {
		return ""
	}

	i := slices.IndexFunc(account,
		func(s Share) bool { return s.Share == duringCheckpoint && s.Note == wallClockNote })
	if i < 0 || account[i].Seconds < probableRatio*account[i].Otherwise*account[i].Of {
		return ""
	}

	more := cyclesMore(&account[i], stalls)
	if more == 0 || math.Pow(usual(&account[i], stalls), float64(stalls.Episodes)) > mayStart {
		return ""
	}
	return fmt.Sprintf(" Checkpoints may start it: %s of the stalled time falls within one. To be sure, record until %s run.",
		units.Percent(account[i].Seconds/account[i].Of), moreCheckpoints(more))
}
