package judge

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// recordedSessions returns a recording with one sample every ten seconds. If fine is true, the grid's
// cells are a tenth of that, because another source was sampled every second.
func recordedSessions(values map[*rules.Signal][]float64, fine bool) *rules.Signals {
	grid, periods := timeline.Grid{StepMs: 10_000}, map[string]float64{}
	for s, v := range values {
		if periods[s.Name] = 10; fine {
			grid.StepMs, values[s] = 1000, tenfold(v)
		}
		grid.N = len(values[s])
	}

	c := rules.NewCase(nil, grid, func(s *rules.Signal) []timeline.Track {
		if v, ok := values[s]; ok {
			return []timeline.Track{{Values: v}}
		}
		return nil
	})
	c.Sampled(periods)
	return &c.Signals
}

// tenfold repeats each value ten times.
func tenfold[E any](values []E) (out []E) {
	for _, x := range values {
		out = append(out, slices.Repeat([]E{x}, 10)...)
	}
	return out
}

// handfuls returns samples of active sessions, of completed commits and of the oldest transaction's
// age: mostly quiet, sometimes a handful of sessions, sometimes a stall of one or several samples.
func handfuls(t *rapid.T) map[*rules.Signal][]float64 {
	var active, commits, oldest []float64
	for len(active) < 24 {
		switch rapid.IntRange(0, 5).Draw(t, "what") {
		case 0:
			active, commits, oldest = append(active, 40), append(commits, 2), append(oldest, 8)
		case 1:
			active, commits, oldest = append(active, 9), append(commits, 95), append(oldest, 0.06)
		case 2:
			active, commits, oldest = append(active, 60), append(commits, 60), append(oldest, 0.5)
		default:
			active, commits, oldest = append(active, 1), append(commits, 100), append(oldest, 0.002)
		}
	}
	return map[*rules.Signal][]float64{Active: active, Commits: commits, OldestTransaction: oldest}
}

// Stalls are judged by PostgreSQL's own samples. If another source was sampled every second, ten cells
// have the same values. Such cells count as one sample, not as ten independent ones.
func TestStallsOnAFinerGrid(t *testing.T) {
	unsure := 0
	rapid.Check(t, func(t *rapid.T) {
		values := handfuls(t)
		coarse := stalls(recordedSessions(values, false))
		fine := stalls(recordedSessions(values, true))
		if len(coarse) != 1 || len(fine) != 1 {
			t.Fatalf("%d and %d detectors", len(coarse), len(fine))
		}

		unsure += coarse[0].Unsure.Count()
		if want := tenfold(coarse[0].Cells); !slices.Equal(fine[0].Cells, timeline.Mask(want)) {
			t.Errorf("stalled\n%v\nwant\n%v", fine[0].Cells.Episodes(), timeline.Mask(want).Episodes())
		}
		if want := tenfold(coarse[0].Unsure); !slices.Equal(fine[0].Unsure, timeline.Mask(want)) {
			t.Errorf("unsure\n%v\nwant\n%v", fine[0].Unsure.Episodes(), timeline.Mask(want).Episodes())
		}
	})

	if unsure == 0 {
		t.Error("no sample was found by chance")
	}
}

// Whether sessions were active at the same time by chance does not depend on the direction of time or
// on the size of the load: twice the sessions with twice the commits wait equally long.
func TestByChanceIsSymmetric(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := handfuls(t)
		at := rules.Time{Grid: timeline.Grid{StepMs: 10_000, N: 24}}
		s := rules.Stall{Waiting: values[Active], Ops: values[Commits]}
		none := make(timeline.Mask, at.Grid.N)
		want := byChance(at, s, none)

		back := rules.Stall{Waiting: slices.Clone(s.Waiting), Ops: slices.Clone(s.Ops)}
		slices.Reverse(back.Waiting)
		slices.Reverse(back.Ops)
		got := byChance(at, back, none)
		if slices.Reverse(got); !slices.Equal(got, want) {
			t.Errorf("backwards %v, want %v", got.Episodes(), want.Episodes())
		}

		twice := rules.Stall{Waiting: doubled(s.Waiting), Ops: doubled(s.Ops)}
		if got := byChance(at, twice, none); !slices.Equal(got, want) {
			t.Errorf("at twice the load %v, want %v", got.Episodes(), want.Episodes())
		}
	})
}

func doubled(values []float64) (out []float64) {
	for _, x := range values {
		out = append(out, 2*x)
	}
	return out
}

// Whether missing commits are merely published later does not depend on the size of the load or on the
// grid of another source. In ten-second samples, a delay of one second explains no drop.
func TestPublishedLaterIsInvariant(t *testing.T) {
	later := 0
	rapid.Check(t, func(t *rapid.T) {
		commits := rapid.SliceOfN(rapid.Map(rapid.IntRange(0, 20), func(n int) float64 { return float64(n) }), 12, 12).Draw(t, "commits")
		usual := timeline.Quantile(commits, 0.5)
		at := func(stepMs int64, n int, periodS float64) rules.Time {
			return rules.Time{Grid: timeline.Grid{StepMs: stepMs, N: n}, Periods: map[string]float64{Commits.Name: periodS}}
		}

		for k := range commits {
			got := publishedLater(at(1000, 12, 1), commits, usual, k)
			if got && commits[k] < usual {
				later++
			}
			if twice := publishedLater(at(1000, 12, 1), doubled(commits), 2*usual, k); twice != got {
				t.Errorf("cell %d: %v, and %v at twice the load", k, got, twice)
			}
			if fine := publishedLater(at(100, 120, 1), tenfold(commits), usual, 10*k); fine != got {
				t.Errorf("cell %d: %v, and %v on a finer grid", k, got, fine)
			}
			if publishedLater(at(10_000, 12, 10), commits, usual, k) {
				t.Errorf("cell %d: published ten seconds later", k)
			}
		}
	})

	if later == 0 {
		t.Error("no commit was published later")
	}
}
