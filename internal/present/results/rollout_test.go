package results_test

import (
	"testing"

	"plimsoll/internal/advise/rollout"
	"plimsoll/internal/advise/rollout/steps"
	"plimsoll/internal/present/results"
)

// The recordings' content appears once, with its verdict.
func TestRolloutSaysTheProof(t *testing.T) {
	for want, r := range map[string]*rollout.Report{
		"The recordings before and after: Better: write p99 fell by 90 %.":                 {Proof: steps.Better, ProofText: "Better: write p99 fell by 90 %."},
		"The recordings before and after: not compared: before is too short (record).":     {Proof: steps.NotCompared, ProofText: "before is too short (record)"},
		"The recordings before and after: No change is proved: p99 was 1 s, which may be.": {Proof: "can't tell", ProofText: "No change is proved: p99 was 1 s, which may be."},
		"The recordings before and after: worse.":                                          {Proof: "worse"}, // by an earlier version
	} {
		r.Recordings, r.Direction, r.Done = &rollout.Recordings{Before: "a", After: "b"}, "forward", true
		if lead := results.Rollout(r).Lead; len(lead) != 2 || lead[0] != want || lead[1] != "Details: plimsoll prove a b." {
			t.Errorf("%q, want %q", lead, want)
		}
	}
}
