package prove

import (
	"fmt"
	"math"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"plimsoll/internal/base/random"
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
	"plimsoll/internal/testkit"
)

// A made recording is a synthetic database with checkpoints: within a cycle seconds resemble each
// other, and each cycle has a stall with a different length and height.
type made struct {
	seed   random.Seed
	cells  int     // seconds
	every  int     // seconds from a checkpoint to the next; 0: none
	slower float64 // factor on all latencies; 0 is 1
	rate   float64 // writes per second; 0 is 1,000
	from   time.Duration
}

// noise generates numbers with mean 0 and standard deviation 1. memory is the autocorrelation over one
// step.
func noise(s *random.Stream, memory float64) func() float64 {
	x := 0.0
	return func() float64 {
		u := 0.0
		for range 12 {
			u += s.Float()
		}
		x = memory*x + math.Sqrt(1-memory*memory)*(u-6)
		return x
	}
}

func (m made) side(word string) *side {
	if m.slower == 0 {
		m.slower = 1
	}

	if m.rate == 0 {
		m.rate = 1000
	}

	s := m.seed.Stream("made")
	level, load, disk, cache := noise(s, 0.5), noise(s, 0.3), noise(s, 0.6), noise(s, 0.8)
	names := []string{
		"mongodb_write_latency:seconds", "mongodb_writes:rate", "mongodb_read_latency:seconds", "mongodb_reads:rate",
		"memory_dirty:bytes", "wt_dirty:bytes", "wt_app_evictions:rate", "wt_log_sync_time:ratio", "wt_log_syncs:rate",
	}

	devices := []string{"disk_ops:rate", "disk_moved:bytes", "disk_busy:ratio", "disk_writes:rate", "disk_write_await:seconds"}
	if m.every > 0 {
		names = append(names, "wt_checkpoint_running:bool")
	}

	tracks := map[string][]timeline.Track{}
	for _, n := range names {
		tracks[rules.SignalPrefix+n] = []timeline.Track{{Values: make([]float64, m.cells)}}
	}

	for _, n := range devices {
		tracks[rules.SignalPrefix+n] = []timeline.Track{{Labels: labels.FromStrings("device", "nvme1n1"), Values: make([]float64, m.cells)}}
	}

	put := func(name string, k int, x float64) { tracks[rules.SignalPrefix+name][0].Values[k] = x }
	stalls := make(timeline.Mask, m.cells)

	checkpoint, height := 0, 0.0
	for k := range m.cells {
		busy := 0.0
		if m.every > 0 {
			if k%m.every == 0 {
				checkpoint, height = 4+int(s.Below(5)), 0.2*math.Exp(0.3*level())
			}
			if k%m.every < checkpoint {
				busy = 1
			}
			put("wt_checkpoint_running:bool", k, busy)
		}

		writes := m.rate * (1 + 0.05*load())
		latency := m.slower * (0.002*math.Exp(0.2*level()) + busy*height*(0.8+0.4*s.Float()))
		stalls[k] = latency >= 0.1
		put("mongodb_write_latency:seconds", k, latency)
		put("mongodb_writes:rate", k, writes)
		put("mongodb_read_latency:seconds", k, m.slower*(0.001*math.Exp(0.2*level())+0.1*busy*height))
		put("mongodb_reads:rate", k, writes/2)
		put("memory_dirty:bytes", k, 1e8*(1+0.2*cache()+busy))
		put("wt_dirty:bytes", k, 3e8*(1+0.1*cache()))
		put("wt_app_evictions:rate", k, max(0, 50*busy*disk()))
		put("wt_log_sync_time:ratio", k, min(1, 0.2*m.slower*(1+0.2*disk())))
		put("wt_log_syncs:rate", k, 200)
		put("disk_ops:rate", k, 1500*(1+0.1*disk()))
		put("disk_moved:bytes", k, 2e7*(1+0.3*disk()+2*busy))
		put("disk_busy:ratio", k, min(1, 0.5+0.1*disk()+busy))
		put("disk_writes:rate", k, 1200*(1+0.1*load()))
		put("disk_write_await:seconds", k, 0.001*m.slower*(1+0.1*disk()+5*busy))
	}

	all := make(timeline.Mask, m.cells)
	for k := range all {
		all[k] = true
	}

	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(m.from)
	c := rules.NewCase(testkit.Pack(), timeline.Grid{FromMs: start.Add(time.Second).UnixMilli(), StepMs: 1000, N: m.cells},
		func(of *rules.Signal) []timeline.Track { return tracks[of.Name] })
	c.Engines = []string{"mongodb"}
	c.Stall = rules.Stall{Rule: "mongodb/slow-writes", Subject: "MongoDB writes", Cells: stalls, Observed: all, Threshold: 0.1}

	return &side{word: word, c: c}
}

// binomialTail returns the probability of at least k of n events, each with probability p.
func binomialTail(k, n int, p float64) float64 {
	sum, term := 0.0, math.Pow(1-p, float64(n))
	for i := 0; i <= n; i++ {
		if i >= k {
			sum += term
		}
		term *= float64(n-i) / float64(i+1) * p / (1 - p)
	}
	return sum
}

func figure(r *Report, name string) *Figure {
	for i := range r.Figures {
		if r.Figures[i].Name == name {
			return &r.Figures[i]
		}
	}
	panic(fmt.Sprintf("no figure %s", name))
}
