package judge

import (
	"math/rand/v2"
	"testing"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// A moment is what one sample of a server shows.
type moment struct {
	commits, active, oldest     float64
	heldBack, queued, queuedAge float64
}

// healthy are servers that resemble a stalled one most of the time, sampled once a second.
var healthy = map[string]func(k int, r *rand.Rand) moment{
	"busy": func(_ int, r *rand.Rand) moment {
		return moment{commits: 3000 + 300*r.NormFloat64(), active: 20 + float64(r.IntN(16)), oldest: 0.02 * r.Float64()}
	},
	"a pool that swings, with steady commits": func(k int, r *rand.Rand) moment {
		return moment{commits: 1000 + 50*r.NormFloat64(), active: [2]float64{2, 30}[k/20%2], oldest: 0.05 * r.Float64()}
	},
	"a pool that swings every second sample": func(k int, r *rand.Rand) moment {
		return moment{commits: 1000 + 50*r.NormFloat64(), active: [3]float64{2, 30, 30}[k%3], oldest: 0.05 * r.Float64()}
	},
	"batch jobs of five seconds": func(_ int, r *rand.Rand) moment {
		return moment{commits: float64(r.IntN(7)), active: 17, oldest: 4 + r.Float64()}
	},
	"batch jobs for two thirds of the time": func(k int, r *rand.Rand) moment {
		if k/40%3 == 0 {
			return moment{commits: 600 + 30*r.NormFloat64(), active: 4, oldest: 0.01 * r.Float64()}
		}
		return moment{commits: 3 * r.Float64(), active: 17, oldest: 4 + r.Float64()}
	},
	"a nightly bulk load that writes much WAL": func(k int, r *rand.Rand) moment {
		if k < 80 || k > 280 {
			return moment{commits: 600 + 30*r.NormFloat64(), active: 4, oldest: 0.01 * r.Float64()}
		}
		return moment{commits: 8 + 3*r.Float64(), active: 17, oldest: 2 + r.Float64(), queued: 4 + float64(r.IntN(10)),
			queuedAge: 1 + 2*r.Float64()}
	},
	"a nightly bulk load next to transactions": func(k int, r *rand.Rand) moment {
		if k < 80 || k > 280 {
			return moment{commits: 600 + 30*r.NormFloat64(), active: 4, oldest: 0.01 * r.Float64()}
		}
		return moment{commits: 300 + 20*r.NormFloat64(), active: 10, oldest: 2 + r.Float64(), queued: 4,
			queuedAge: 2 * r.Float64()}
	},
	"rows that every client updates": func(_ int, r *rand.Rand) moment {
		return moment{commits: 600 + 50*r.NormFloat64(), active: 17, oldest: 0.06, heldBack: 12, queued: 13,
			queuedAge: 0.05 * r.Float64()}
	},
	"bursts": func(k int, r *rand.Rand) moment {
		if k%4 == 0 {
			return moment{commits: 2000 + 100*r.NormFloat64(), active: 8, oldest: 0.01 * r.Float64()}
		}
		return moment{commits: 100 + 10*r.NormFloat64(), active: 3, oldest: 0.3 * r.Float64()}
	},
	"bursts of reports": func(k int, r *rand.Rand) moment {
		if k%4 == 0 {
			return moment{commits: 2000 + 100*r.NormFloat64(), active: 8, oldest: 0.01 * r.Float64()}
		}
		return moment{commits: 100 + 10*r.NormFloat64(), active: 4, oldest: 2 * r.Float64()}
	},
}

// Sessions that execute for long are not held back, however few transactions complete meanwhile. Each
// server is judged with wait events and, unless sessions wait there, as older exporters report it.
func TestNotHeldBack(t *testing.T) {
	for name, at := range healthy {
		for _, events := range []bool{true, false} {
			t.Run(name, func(t *testing.T) {
				values := map[*rules.Signal][]float64{}
				r := rand.New(rand.NewPCG(1, 2))
				for k := range 360 {
					m := at(k, r)
					for sig, x := range map[*rules.Signal]float64{Commits: m.commits, Active: m.active,
						OldestTransaction: m.oldest} {
						values[sig] = append(values[sig], x)
					}
					if events {
						for sig, x := range map[*rules.Signal]float64{WaitEvents: m.active, HeldBack: m.heldBack,
							Queued: m.queued, QueuedAge: m.queuedAge} {
							values[sig] = append(values[sig], x)
						}
					}
				}

				for _, s := range stalls(everySecond(values)) {
					if s.Any() {
						t.Errorf("with wait events %v: stalled in %v", events, s.Cells.Episodes())
					}
				}
			})
		}
	}
}

// everySecond returns a recording with one sample a second.
func everySecond(values map[*rules.Signal][]float64) *rules.Signals {
	c := rules.NewCase(nil, timeline.Grid{StepMs: 1000, N: len(values[Commits])}, func(s *rules.Signal) []timeline.Track {
		if v, ok := values[s]; ok {
			return []timeline.Track{{Values: v}}
		}
		return nil
	})
	return &c.Signals
}
