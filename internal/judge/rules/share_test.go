package rules

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"plimsoll/internal/record/timeline"
)

// A counter's growth in calm time is not part of a stall, and the share never exceeds the whole. In
// coarse intervals, in which a wait is credited next to its stall, only the cells furthest away are
// calm.
func TestWaitShare(t *testing.T) {
	counter := &Signal{Name: "counter"}
	for name, c := range map[string]struct {
		every      int     // cells from one stall to the next
		calm, near float64 // the counter's growth per second, and in the cells next to a stall
		stalled    float64
		share      float64
	}{
		"only in the stall":      {20, 0, 0, 80, 0.8},
		"steady":                 {20, 80, 80, 80, 0},
		"steady, and more":       {20, 40, 40, 80, 0.28}, // (80 - 40) of 100, and no rise next to it; the whole is 100 + 2 x 20
		"beyond the whole":       {20, 0, 0, 1e6, 1},
		"credited next to it":    {4, 0, 40, 60, 1},
		"steady in coarse cells": {4, 30, 30, 30, 0},
	} {
		t.Run(name, func(t *testing.T) {
			const cells = 200
			rate, waiting := make([]float64, cells), make([]float64, cells)

			stalled := make(timeline.Mask, cells)
			for k := range rate {
				switch k % c.every {
				case 0:
					rate[k], waiting[k], stalled[k] = c.stalled, 100, k > 0
				case 1, c.every - 1:
					rate[k], waiting[k] = c.near, 20
				default:
					rate[k], waiting[k] = c.calm, 20
				}
			}

			if waiting[0], rate[0] = 20, c.calm; c.share == 0.8 || c.share == 1 {
				for k := range waiting {
					if !stalled[k] {
						waiting[k] = 0
					}
				}
			}

			grid := timeline.NewGrid(time.Unix(0, 0), time.Unix(cells, 0), time.Second)
			x := NewCase(nil, grid, func(*Signal) []timeline.Track { return []timeline.Track{{Values: rate}} })
			x.Stall = Stall{Waiting: waiting, Cells: stalled, Active: timeline.Known(waiting)}

			share, seconds, of, ok := x.WaitShare(counter)
			if !ok || math.Abs(share-c.share) > 0.03 || seconds > of {
				t.Errorf("share %.2f, %.0f of %.0f; want %.2f", share, seconds, of, c.share)
			}
		})
	}
}

// Whatever the counters say, and with any gaps, a share is between nothing and the whole.
func TestShareNeverExceedsTheWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 60).Draw(t, "cells")
		values := func(name string) (out []float64) {
			for _, x := range rapid.SliceOfN(rapid.IntRange(-1, 1e6), n, n).Draw(t, name) {
				if out = append(out, float64(x)); x < 0 {
					out[len(out)-1] = math.NaN() // no sample
				}
			}
			return out
		}
		counter, other := &Signal{Name: "counter"}, &Signal{Name: "other"}
		of := map[*Signal][]float64{counter: values("counter"), other: values("other")}

		grid := timeline.NewGrid(time.Unix(0, 0), time.Unix(int64(n), 0), time.Second)
		c := NewCase(nil, grid, func(s *Signal) []timeline.Track { return []timeline.Track{{Values: of[s]}} })
		waiting := values("waiting")
		c.Stall = Stall{Waiting: waiting, Ops: values("ops"), Active: timeline.Known(waiting),
			Cells: rapid.SliceOfN(rapid.Bool(), n, n).Draw(t, "stalled")}

		check := func(share, seconds, whole float64, ok bool) {
			t.Helper()
			if ok && (!(share >= 0 && share <= 1) || !(seconds >= 0 && seconds <= whole)) {
				t.Errorf("share %g, %g s of %g s", share, seconds, whole)
			}
		}
		check(c.WaitShare(counter))
		check(c.WaitShare(counter, other))
		check(c.WaitShareOfOwn(counter))
		if f, in, out := c.Attributable(timeline.Mask(rapid.SliceOfN(rapid.Bool(), n, n).Draw(t, "condition"))); !(f >= 0 && f <= 1) {
			t.Errorf("attributable %g of in %g, out %g", f, in, out)
		}
	})
}
