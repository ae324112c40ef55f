package results

import (
	"testing"

	"plimsoll/internal/check/golden"
	"plimsoll/internal/model/database"
	"plimsoll/internal/model/simulate"
	"plimsoll/internal/present/text"
)

// simulated is a run whose checkpoints stall its writes.
func simulated() *simulate.Result {
	latency := func(n int64, p50, p99, most float64) simulate.Latency {
		return simulate.Latency{
			Operations:  n,
			P50Seconds:  at(p50),
			P95Seconds:  at(2 * p50),
			P99Seconds:  at(p99),
			P999Seconds: at((p99 + most) / 2),
			MaxSeconds:  at(most),
		}
	}
	return &simulate.Result{
		Scenario: "telemetry", Engine: "mongodb", Seed: 7, Seconds: 600, WarmupSeconds: 120,
		Host:     simulate.HostResult{Machine: "m6i.xlarge", DirtyBytesMax: 412e6, CPUBusy: 0.31},
		OpenLoop: true, AskedPerSec: 612, DonePerSec: 611.5, Unanswered: 3,
		Writes: simulate.Class{
			All:               latency(366_900, 0.0012, 1.8, 7.6),
			DuringCheckpoint:  latency(61_000, 0.4, 6.1, 7.6),
			OutsideCheckpoint: latency(305_900, 0.0011, 0.009, 0.08),
			SinceCheckpoint: []simulate.Phase{
				{Name: "0-6s", ToSeconds: 6, Latency: latency(40_000, 0.5, 6.5, 7.6)},
				{Name: "6-12s", FromSeconds: 6, ToSeconds: 12, Latency: simulate.Latency{}}},
		},
		Reads: simulate.Class{All: latency(12_000, 0.0004, 0.02, 0.3)},
		Checkpoints: simulate.Cycles{
			Count:         10,
			Requested:     2,
			MedianSeconds: at(9.4),
			MaxSeconds:    at(12),
			PeriodSeconds: at(60),
			DirtyBytesMax: at(1.6e9),
			WrittenBytes:  16e9,
			ShareOfTime:   0.157,
		},
		Waits: []simulate.WaitResult{
			{Name: "journal sync", Share: 0.8, SlowShare: 0.93, SlowSeconds: 3.1, SlowCauseShare: 0.02},
			{
				Name:           "page cache throttling",
				Share:          0.0004,
				SlowShare:      0.0008,
				SlowCauseShare: 0.91,
			},
			{Name: "CPU", Share: 0.0001},
		},
		Volumes: []simulate.VolumeResult{
			{
				Name:           "data",
				IOPS:           2950,
				IOPSMax:        3000,
				BytesPerSec:    48e6,
				BytesPerSecMax: 125e6,
				Busy:           0.6,
				BusyMax:        1,
				QueueMean:      31.2,
				AwaitSeconds:   at(0.0105),
				Credits:        at(0.4),
				HeldBy: []simulate.HeldBy{
					{Name: "IOPS", Seconds: 9000},
					{Name: "throughput", Seconds: 900},
					{Name: "machine", Seconds: 10},
				},
			},
		},
		EngineFigures: map[string]*float64{
			"cache_dirty_max": at(0.2),
			"evicted":         nil,
		}, FigureUnits: map[string]string{"cache_dirty_max": "ratio"},
		MonthlyUSD: at(
			180,
		), MonthlyVolumesUSD: at(40), Objectives: []simulate.ObjectiveResult{{Name: "write_p99", Wanted: 0.1, Got: at(1.8), Unit: "seconds"}},
		ModelError: "p99s were off by up to 3.2 times", Warnings: []string{"The volume is faster than its instance."},
		Queries: database.Queries{
			CycleMedian: "quantile_over_time(0.5, cycle[$span])",
			CycleNote:   "The median of samples.",
		},
	}
}

// The result of one run: its verdict, its load, its figures with the limits behind them, and how far to
// trust them.
func TestSimulation(t *testing.T) {
	golden.Inline(
		t,
		set(
			t,
			Simulation(
				[]*simulate.Result{simulated()},
				Origin{File: "telemetry.yaml", Program: "plimsoll 1.0.0"},
			),
			text.Options{Width: 110},
		),
		`
Objective not met: write_p99 is 1.80 s, objective 100 ms.
telemetry, mongodb on m6i.xlarge, 10m measured after 2m of warm-up. Open loop: 612/s arrived, 612/s completed;
3 unanswered at the end.

  write p99            1.80 s  median 1.20 ms
  slowest write        7.60 s  of 366,900
  checkpoint, median   9.40 s  16 % of the time
  data busy             100 %  in the worst 10 s; 2,950 IO/s on average
  a month             180 USD  volumes 40 USD

LATENCY
──────────────────────────────────────────────────────────────────────────────────────────────────────────────
                           operations      p50      p95      p99    p99.9      max
   writes                     366,900  1.20 ms  2.40 ms   1.80 s   4.70 s   7.60 s
   writes in a checkpoint      61,000   400 ms   800 ms   6.10 s   6.85 s   7.60 s
   writes outside             305,900  1.10 ms  2.20 ms  9.00 ms  44.5 ms  80.0 ms
   reads                       12,000   400 us   800 us  20.0 ms   160 ms   300 ms
   writes 0-6 s                40,000   500 ms   1.00 s   6.50 s   7.05 s   7.60 s
   Rows with a time span: writes by intended start, counted from the start of a checkpoint.

CHECKPOINTS
──────────────────────────────────────────────────────────────────────────────────────────────────────────────
   10 completed, median 9.40 s, longest 12.0 s; running 16 % of the time; one starts every 60.0 s; 2 were
   requested early; up to 1.60 GB dirty at the start; 16.0 GB written in total.

WHERE WRITES WAITED
──────────────────────────────────────────────────────────────────────────────────────────────────────────────
   where                  slowest 1 %                   all writes  per slow write  root wait
   journal sync           ██████████████████▋     93 %        80 %          3.10 s      2.0 %
   page cache throttling                        0.08 %      0.04 %             0 s       91 %
   Root wait: the slowest 1 %. Time spent waiting for a connection or for a sync in progress counts towards
   whatever its holder was waiting for.

VOLUMES AND HOST
──────────────────────────────────────────────────────────────────────────────────────────────────────────────
   volume   IO/s  busiest second      bytes  busiest second  busy  worst 10 s  queue    await
   data    2,950           3,000  48.0 MB/s        125 MB/s  60 %       100 %   31.2  10.5 ms
     held back for 9,910 s in total, 53 % of the requests' time: IOPS 91 %, throughput 9.1 %; 40 % of its
     burst credits left
   Host: page cache up to 412 MB dirty; cores 31 % busy; cache dirty max 20 %.

HOW ACCURATE THIS IS
──────────────────────────────────────────────────────────────────────────────────────────────────────────────
   Error bar: p99s were off by up to 3.2 times.
   The volume is faster than its instance.
   Seed 7, plimsoll 1.0.0: the same scenario, seed and version give identical bytes.
`,
	)
}

// Variants are columns next to the scenario as written, with their changes; their own sections would need
// too much room on a terminal.
func TestSimulationOfVariants(t *testing.T) {
	faster, local := simulated(), simulated()
	faster.Variant, faster.Volumes[0].IOPS, faster.Volumes[0].BusyMax = "6,000 IOPS", 5900, 0.71
	faster.Writes.All.P99Seconds, faster.Writes.All.P50Seconds = at(0.018), at(0.00126)
	faster.Writes.All.MaxSeconds = at(7.6)
	faster.Objectives = []simulate.ObjectiveResult{
		{Name: "write_p99", Wanted: 0.1, Got: at(0.018), Unit: "seconds", Met: true},
	}
	faster.MonthlyUSD, faster.MonthlyVolumesUSD = at(195), at(55)
	local.Variant, local.Volumes[0].Name, local.MonthlyUSD, local.MonthlyVolumesUSD = "local disks", "local", nil, at(
		0,
	)
	local.Writes.DuringCheckpoint, local.Objectives, local.Host.DirtyBytesMax, local.DonePerSec = simulate.Latency{}, nil, 0, 9000
	golden.Inline(
		t,
		set(
			t,
			Simulation([]*simulate.Result{simulated(), faster, local}, Origin{}),
			text.Options{Width: 110},
		),
		`
Objective not met: write_p99 is 1.80 s, objective 100 ms.
telemetry, mongodb on m6i.xlarge, 10m measured after 2m of warm-up. Open loop: 612/s arrived, 612/s completed;
3 unanswered at the end.

  write p99            1.80 s  median 1.20 ms
  slowest write        7.60 s  of 366,900
  checkpoint, median   9.40 s  16 % of the time
  data busy             100 %  in the worst 10 s; 2,950 IO/s on average
  a month             180 USD  volumes 40 USD

VARIANTS
──────────────────────────────────────────────────────────────────────────────────────────────────────────────
                              as written  6,000 IOPS  local disks
   write_p99 within 100 ms     ✕ not met       ✓ met    ✕ not met
   done                            612/s       612/s      9,000/s
                                                           × 14.7
   write p50                     1.20 ms     1.26 ms      1.20 ms
                                                +5 %
   write p99                      1.80 s     18.0 ms       1.80 s
                                               1/100
   write p99 in a checkpoint      6.10 s      6.10 s            –
   write p99 outside             9.00 ms     9.00 ms            –
   slowest write                  7.60 s      7.60 s       7.60 s
   read p50                       400 us      400 us       400 us
   read p99                      20.0 ms     20.0 ms      20.0 ms
   checkpoint, median             9.40 s      9.40 s       9.40 s
   page cache dirty, most         412 MB      412 MB          0 B
                                                           −100 %
   data IO/s                       2,950       5,900            –
                                              +100 %
   data busy, worst 10 s           100 %        71 %            –
                                               −29 %
   local IO/s                          –           –        2,950
   local busy, worst 10 s              –           –        100 %
   volumes a month                40 USD      55 USD        0 USD
                                             +15 USD      −40 USD
   all a month                   180 USD     195 USD            –
                                             +15 USD

HOW ACCURATE THIS IS
──────────────────────────────────────────────────────────────────────────────────────────────────────────────
   Error bar: p99s were off by up to 3.2 times.
   The volume is faster than its instance.
   Seed 7: the same scenario, seed and version give identical bytes.
`,
	)
}
