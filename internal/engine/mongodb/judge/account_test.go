package judge

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// The non-overlapping waits in a breakdown are parts of one whole. Together they never exceed it,
// whatever the counters say.
func TestAccountNeverExceedsTheWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(10, 40).Draw(t, "cells")
		values := func(name string) (out []float64) {
			for _, x := range rapid.SliceOfN(rapid.IntRange(-1, 1e4), n, n).Draw(t, name) {
				if out = append(out, float64(x)); x < 0 {
					out[len(out)-1] = math.NaN() // no sample
				}
			}
			return out
		}
		of := map[*rules.Signal][]float64{CacheMax: values("cache")}
		for _, w := range append(append([]waitCounter{}, outsideTicket...), insideTicket...) {
			of[w.signal] = values(w.name)
		}

		grid := timeline.NewGrid(time.Unix(0, 0), time.Unix(int64(n), 0), time.Second)
		c := rules.NewCase(nil, grid, func(s *rules.Signal) []timeline.Track {
			if v, ok := of[s]; ok {
				return []timeline.Track{{Values: v}}
			}
			return nil
		})
		waiting := values("waiting")
		c.Stall = rules.Stall{Class: rapid.SampledFrom([]rules.Class{rules.Writing, rules.Reading}).Draw(t, "class"),
			Waiting: waiting, Ops: values("ops"), Active: timeline.Known(waiting),
			Cells: rapid.SliceOfN(rapid.Bool(), n, n).Draw(t, "stalled")}

		sum, whole := 0.0, 0.0
		for _, s := range account(c) {
			if s.Seconds < 0 || s.Seconds > s.Of*(1+1e-9) {
				t.Errorf("%s: %g s of %g s", s.Share, s.Seconds, s.Of)
			}
			if whole = s.Of; !s.Overlaps {
				sum += s.Seconds
			}
		}
		if sum > whole*(1+1e-9) {
			t.Errorf("the parts are %g s of %g s", sum, whole)
		}
	})
}
