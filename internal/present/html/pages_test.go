package html

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/advise/casebook"
	"plimsoll/internal/advise/plan"
	"plimsoll/internal/advise/prove"
	"plimsoll/internal/base/latency"
	"plimsoll/internal/base/vtime"
	"plimsoll/internal/engine"
	"plimsoll/internal/engine/mongodb"
	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/judge/fleet"
	"plimsoll/internal/lab/run"
	"plimsoll/internal/model/simulate"
	"plimsoll/internal/present/diagnosis"
	"plimsoll/internal/present/document"
	"plimsoll/internal/present/results"
	"plimsoll/internal/testkit"
)

var start = time.Date(2026, 7, 20, 15, 0, 0, 0, time.UTC)

func at(s float64) time.Time { return start.Add(time.Duration(s * float64(time.Second))) }

func pointer(x float64) *float64 { return &x }

// stalledReport is a diagnosis of a recording of the given length that stalls for fourteen of every
// sixty seconds, with the given name for everything.
func stalledReport(seconds int, name string) *diagnose.Report {
	track := func(title, unit string, low, high float64) diagnose.Track {
		t := diagnose.Track{Name: title, Unit: unit, From: start, To: at(float64(seconds)), StepS: 1}
		for k := range seconds {
			v := low * (1 + 0.3*math.Sin(float64(k)))
			if k%60 >= 42 && k%60 < 56 {
				v = high * (1 - 0.2*math.Abs(math.Cos(float64(k))))
			}
			t.Values = append(t.Values, &v)
		}

		if seconds > 20 {
			t.Values[17] = nil
		}

		return t
	}

	var windows []diagnose.Span
	for s := 42; s < seconds; s += 60 {
		windows = append(windows, diagnose.Span{From: at(float64(s)), To: at(float64(min(s+14, seconds)))})
	}

	operations := track("operations", "", 900, 150)
	r := &diagnose.Report{
		Version: diagnose.Version,
		Verdict: "Writes of " + name + " stalled for 14.0 s of every 60.0 s. Why: the volume's IOPS cap binds (" + name + ").",
		Span:    diagnose.Span{From: start, To: at(float64(seconds))},
		Sources: []diagnose.Source{{Kind: "ftdc", Name: name, Engine: "mongodb", Version: "8.0", Host: name, From: start, To: at(float64(seconds)), PeriodS: 1, Samples: int64(seconds),
			Facts: map[string]string{"cores": "8", name: name}}},
		Stalls: diagnose.StallSummary{Signal: name, ThresholdS: 0.02, Seconds: 14 * float64(len(windows)), Of: float64(seconds), Episodes: len(windows), LongestS: 14, PeriodS: 60, Windows: windows[:min(8, len(windows))]},
		Account: []diagnose.Share{
			{Share: name, Seconds: 6, Of: 10, Overlaps: true, Note: name},
			{Share: "unexplained", Seconds: 4, Of: 10},
		},
		Missing:  []diagnose.NotMeasured{{Rule: "disk/instance-capped", Missing: []string{"aws_ebs_csi_ec2_exceeded_iops_seconds_total"}}},
		Timeline: []diagnose.Track{track(name+" latency", "seconds", 0.0012, 8.13)},
		Detail: &diagnose.Detail{
			Stalled: windows, Checkpoints: windows,
			Plots: []diagnose.Plot{
				{Title: name + ", mean latency", Unit: "seconds", LimitS: 0.02, Tracks: []diagnose.Track{track("mean latency", "seconds", 0.0012, 8.13)}},
				{Title: "client writes of " + name + ", latency", Unit: "seconds", Signal: "plimsoll:client_write_classes:rate", Percentiles: true, Operations: &operations,
					Tracks: []diagnose.Track{track("p50", "seconds", 0.0011, 2), track("p99", "seconds", 0.004, 8.13)}},
				{Title: "completed", Unit: "1/s", Tracks: []diagnose.Track{track("completed", "1/s", 900, 40)}},
				{Title: "page cache dirty", Unit: "bytes", Signal: "plimsoll:memory_dirty:bytes", Tracks: []diagnose.Track{track("dirty", "bytes", 2e7, 5e8)}},
				{Title: "devices' busy", Unit: "ratio", Signal: "plimsoll:disk_busy:ratio", Tracks: []diagnose.Track{track(name, "ratio", 0.3, 1), track("nvme2n1", "ratio", 0.1, 0.2)}},
			},
			Latencies: []*diagnose.Spread{
				{Subject: name, From: start, StepS: 30, BoundsS: []float64{0.001, 0.002, 0.004, 8, 16},
					Operations: [][]float64{{0, 20000, 400, 0, 0, 0}, {0, 18000, 900, 120, 30, 1}}},
				{Subject: "client writes of " + name, Signal: "plimsoll:client_write_classes:rate", From: start, StepS: 30, BoundsS: []float64{0.001, 0.002, 0.004, 8, 16},
					Operations: [][]float64{{500, 20000, 400, 0, 0, 0}, {0, 18000, 900, 120, 30, 1}}, Stalled: []float64{0, 20, 100, 100, 30, 1}},
			},
		},
	}

	r.Findings = []diagnose.Finding{{
		Rule: "disk/iops-capped", Severity: diagnose.Critical, Kind: diagnose.Cause, Subject: name, Title: "The volume's IOPS cap binds", Weight: 0.94,
		Summary: name + " stands at 3,003 IOPS and goes no higher.", Cause: "A rented volume serves so many requests a second.",
		Evidence: []diagnose.Evidence{
			{Text: "the plateau of " + name, Metric: "plimsoll:disk_ops:rate", Value: pointer(3003), Unit: "1/s", From: at(42), To: at(56)},
			{Text: "3,003 IOPS is gp3's baseline", From: start, To: at(float64(seconds))},
			{Text: "a metric of its own", Metric: "some_metric{device=\"" + name + "\"}", Value: pointer(math.NaN()), Unit: "seconds", From: start, To: at(float64(seconds))},
		},
		Fixes:   []diagnose.Fix{{Summary: "Pace the checkpoint", Expect: "the same bytes over more seconds", TradeOff: "less coalescing"}},
		Windows: windows[:min(3, len(windows))], PeriodS: 60, Docs: "docs/rules/disk-iops-capped.md",
	}, {
		Rule: "mongodb/slow-writes", Severity: diagnose.Warning, Kind: diagnose.Symptom, Subject: name, Title: "Writes stall", Summary: "Often.", Evidence: []diagnose.Evidence{},
	}, {
		Rule: "wiredtiger/cache-pressure", Severity: diagnose.Info, Kind: diagnose.Refutation, Subject: "mongodb", Title: "The cache is large enough", Summary: "It was 71 % full.",
		Evidence: []diagnose.Evidence{{Text: "cache fill, most", Metric: "plimsoll:wt_cache_fill:ratio", Value: pointer(0.71), Unit: "ratio", From: start, To: at(float64(seconds))}},
	}}

	return r
}

// simulated is a possible result of a simulation of 40 s, with stalls that are longer by a factor.
func simulated(variant string, slower float64) *simulate.Result {
	of := func(n int64, p50 float64) simulate.Latency {
		return simulate.Latency{Operations: n, MeanSeconds: pointer(p50), P50Seconds: pointer(p50), P95Seconds: pointer(2 * p50), P99Seconds: pointer(900 * p50 * slower), P999Seconds: pointer(1000 * p50 * slower), MaxSeconds: pointer(1200 * p50 * slower)}
	}
	r := &simulate.Result{
		Version: 1, Scenario: "telemetry", Variant: variant, Engine: "mongodb", CycleWord: mongodb.Engine.Cycle, Queries: mongodb.Engine.Queries, Seed: 1, Seconds: 40, WarmupSeconds: 5, OpenLoop: true, AskedPerSec: 500, DonePerSec: 499.9, Unanswered: 7,
		Writes:      simulate.Class{All: of(20000, 0.0028), DuringCheckpoint: of(2000, 0.9), OutsideCheckpoint: of(18000, 0.0027), SinceCheckpoint: []simulate.Phase{{Name: "0-6s", ToSeconds: 6, Latency: of(500, 0.9)}}},
		Checkpoints: simulate.Cycles{Count: 2, MedianSeconds: pointer(3.1), MaxSeconds: pointer(3.4), ShareOfTime: 0.15, PeriodSeconds: pointer(20)},
		Volumes: []simulate.VolumeResult{{Name: "data", IOPS: 1553, IOPSMax: 3000, BytesPerSec: 2e7, BytesPerSecMax: 1.3e8, Busy: 0.4, BusyMax: 0.99, QueueMean: 12, AwaitSeconds: pointer(0.0028),
			HeldBy: []simulate.HeldBy{{Name: "volume throughput", Seconds: 90}, {Name: "volume iops", Seconds: 10}}, Credits: pointer(0.4)}},
		Waits:         []simulate.WaitResult{{Name: "journal", Share: 0.7, SlowShare: 0.9, SlowSeconds: 2.2, CauseShare: 0.2, SlowCauseShare: 0.1}, {Name: "negligible"}},
		EngineFigures: map[string]*float64{"cache_fill": pointer(0.8)}, FigureUnits: map[string]string{"cache_fill": "ratio"},
		Host: simulate.HostResult{Machine: "m6i.xlarge", DirtyBytesMax: 5e8, CPUBusy: 0.2}, MonthlyUSD: pointer(180), MonthlyVolumesUSD: pointer(40 * slower),
		Objectives: []simulate.ObjectiveResult{{Name: "write_p99", Wanted: 0.025, Got: pointer(2.44 * slower), Met: slower < 0.01, Unit: "seconds"}}, ModelError: "half of the p99s were off by less than 18 %",
		Warnings: []string{"the volume is faster than its instance"},
	}

	cells := latency.NewSeries(0, vtime.Instant(40e9))
	x := &simulate.Series{StepSeconds: 1, Busy: map[string][]*float64{"data": nil}, Checkpoints: [][2]float64{{5, 8.1}, {25, 28.4}}}
	for k := range 40 {
		slow := 0.003
		if k%20 >= 5 && k%20 < 9 {
			slow = 2.4 * slower
		}
		for i := range 50 {
			cells.Add(vtime.Instant(int64(k)*1e9), int64(1e9*slow)*int64(i+1)/50)
		}
		x.WriteP99, x.WriteMax = append(x.WriteP99, pointer(slow)), append(x.WriteMax, pointer(slow*1.1))
		x.HostDirty, x.EngineDirty = append(x.HostDirty, pointer(float64(k%20)*2e7)), append(x.EngineDirty, nil)
		x.Busy["data"] = append(x.Busy["data"], pointer(min(1, 200*slow)))
	}

	x.Writes, r.Series = cells.Cells, x
	return r
}

func examplePlan() *plan.Plan {
	layout := func(usd, p99 float64, sets ...string) *plan.Layout {
		return &plan.Layout{Sets: sets, MonthlyUSD: usd, Predicted: map[string]plan.Prediction{
			"write_p99_seconds":     {Value: p99, Low: p99 / 2, High: p99 * 2},
			"operations_per_second": {Value: 2000, Low: 1740, High: 2301},
		}}
	}

	now, apart, dear := layout(180, 2.44), layout(180.8, 0.0048, "volumes.journal={type: gp3}"), layout(441, 0.00269, "volumes.journal={type: io2}")
	apart.Changes = []plan.Change{{Path: "volumes.journal", To: "{type: gp3}", USD: 0.8, Needs: "new volume"}}
	apart.Risks = []plan.Risk{{Kind: "snapshot", Text: "a snapshot of one volume is no backup any more"}}

	return &plan.Plan{
		Scenario: plan.Document{File: "telemetry.yaml"}, Region: "us-east-1", Objectives: []plan.Objective{{Name: "write_p99", MostSeconds: 0.025}},
		Now: now, Chosen: apart, Frontier: []*plan.Layout{now, apart, dear},
		Rejected:   []plan.Rejected{{Layout: layout(180, 2.1, "engine.mongodb.cache=2GiB"), Reason: "write_p99 is 2.10 s"}},
		Statements: []plan.Statement{{Kind: "more-iops", Text: "more IOPS will not help"}},
		Searched:   plan.SearchStats{Space: 29184, Simulated: 12, Complete: true}, ModelError: "half of the p99s were off by less than 18 %",
	}
}

func exampleProof() *prove.Report {
	estimate := func(v, low, high float64) prove.Estimate { return prove.Estimate{Value: &v, Low: &low, High: &high} }
	return &prove.Report{
		Verdict: prove.Better, Sentence: "Better: write p99 fell 509-fold, from 2.47 s to 4.86 ms.", Confidence: 0.95, Seed: 1,
		Method: prove.Method{Units: "checkpoint cycles", Correction: "Holm", Family: 3, Margin: 0.05, Assumptions: []string{"cycles are alike"}},
		Before: prove.Side{Span: diagnose.Span{From: start, To: at(600)}, Units: 9, UnitSeconds: 63, UsedSeconds: 570, CyclesOfOwn: true},
		After:  prove.Side{Span: diagnose.Span{From: at(900), To: at(1500)}, Units: 600, UnitSeconds: 1, UsedSeconds: 600},
		Workload: prove.Workload{Comparable: true, Checks: []prove.Check{
			{Name: "rate", Unit: "1/s", OK: true, Text: "2,000/s before, 2,001/s after (tolerance 10 %)"}, {Name: "mix", Text: "half the reads"}}},
		Figures: []prove.Figure{
			{Name: "write_p99", Title: "write p99", Unit: "seconds", Wanted: "less", Basis: "histogram, summed over the run", Signals: []string{"plimsoll:client_write_classes:rate"}, Before: estimate(2.47, 2, 2.8), After: estimate(0.00486, 0.0045, 0.005),
				Ratio: estimate(1.0/509, 1.0/619, 1.0/402), Difference: estimate(-2.46, -2.8, -2), P: pointer(0.0001), Verdict: prove.Better},
			{Name: "checkpoint", Title: "checkpoint", Unit: "seconds", Wanted: "less", Before: estimate(3.18, 3.07, 3.29), After: estimate(3.09, 2.88, 3.3),
				Ratio: estimate(0.971, 0.9, 1.046), Difference: estimate(-0.09, -0.3, 0.1), P: pointer(0.3), Verdict: prove.CantTell, Record: &prove.Advice{Seconds: 882, For: "a change of 10 %"}},
			{Name: "write_await", Title: "device write await", Unit: "seconds", Wanted: "less", Before: estimate(0.00283, 0.00276, 0.00289), After: estimate(0.0626, 0.0624, 0.0629),
				Ratio: estimate(22.2, 21.7, 22.7), Difference: estimate(0.06, 0.06, 0.06), P: pointer(0.0001), Verdict: prove.Worse},
			{Name: "stalled", Title: "stalled an hour", Unit: "seconds/h", Wanted: "less", Before: prove.Estimate{Value: pointer(0)}, After: prove.Estimate{Value: pointer(0)}, Difference: prove.Estimate{Value: pointer(0)}, Verdict: prove.NoChange},
		},
		Requirements: []prove.Requirement{{Text: "write_p99 < 25ms", Name: "write_p99", Less: true, Bound: 0.025, Unit: "seconds", After: estimate(0.00486, 0.0045, 0.005), Outcome: prove.Met}},
		Cost:         &prove.Cost{BeforeUSD: pointer(40), AfterUSD: pointer(40.8), ChangeUSD: pointer(0.8)},
		Warnings:     []string{"one of the clocks is off"},
		OnlyAfter:    []string{"read p99"},
	}
}

func exampleWalk(t testing.TB) *casebook.Walk {
	t.Helper()
	c, err := casebook.Open("1", engine.All().Plans())
	if err != nil {
		t.Fatal(err)
	}

	k := &casebook.Walk{Case: c, Diagnosis: &casebook.Diagnosis{Verdict: "Writes stall.", Rules: []string{"disk/iops-capped"}}}
	for _, s := range c.Steps {
		w := casebook.WalkedStep{Step: s.Step, Text: s.Text}
		for _, f := range s.Figures {
			w.Figures = append(w.Figures, casebook.WalkedFigure{Figure: f, Got: pointer(0.25), Deviation: pointer(-0.5)})
		}
		k.Steps = append(k.Steps, w)
	}

	for _, x := range c.Corrections {
		k.Corrections = append(k.Corrections, casebook.WalkedCorrection{Claim: x.Claim, Truth: x.Truth})
	}

	p := examplePlan()
	k.Plan = &casebook.Planned{Objectives: p.Objectives, Now: p.Now, Chosen: p.Chosen, Frontier: p.Frontier, Statements: p.Statements, Searched: p.Searched, ErrorBar: p.ErrorBar(),
		Sizing: &plan.Sizing{Rows: []plan.SizingRow{{Text: "data", Bytes: 800e9}, {Text: "needed", Bytes: 2341e9, Sum: true}}}}
	k.Files = []casebook.Written{{Path: "README.md"}, {Path: "kubernetes/storageclass-journal.yaml", Lines: []string{`iops: "3000"`, "type: gp3 </pre><script>"}}}
	k.Proof = exampleProof()

	return k
}

func exampleFleet() *fleet.Report {
	return &fleet.Report{
		Server: "http://thanos:9090", By: []string{"instance"}, Span: diagnose.Span{From: start, To: at(86400)}, Verdict: "2 of 3 databases stalled. In one of them the volume's IOPS cap binds.",
		Found: 3, Read: 3, Stalled: 2, StalledS: 400, WatchedS: 3 * 86400, Samples: 12_390_000,
		Groups: []fleet.Group{{Rule: "disk/iops-capped", Title: "The volume's IOPS cap binds", Kind: diagnose.Cause, Severity: diagnose.Critical, ExplainedS: 300, Names: []string{"db-1", "db-<2>"},
			Fixes: []fleet.FleetFix{{Fix: diagnose.Fix{Summary: "Raise the volume's IOPS"}, Databases: 1}}, Price: &fleet.Price{MonthlyUSD: 15, Of: "3,000 IOPS more"}, Example: "nvme1n1 goes no higher."}},
		Databases: []fleet.Database{{Name: "db-1", StalledS: 300, WatchedS: 86400, LongestS: 14, PeriodS: 60}, {Name: "db-<2>", StalledS: 100, WatchedS: 86400, LongestS: 3}, {Name: "db-3", WatchedS: 86400}},
		Missing:   []fleet.Missing{{Rule: "disk/instance-capped", Databases: 3, Metrics: []string{"aws_ebs_csi_ec2_exceeded_iops_seconds_total"}}},
	}
}

func pageOf(t testing.TB, d *document.Document) string {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, d); err != nil {
		t.Fatalf("%s: %v", d.Title, err)
	}
	return b.String()
}

// A generated page of each kind, by name.
func pages(t testing.TB) map[string]string {
	t.Helper()
	out := map[string]string{}
	for name, d := range documents(t) {
		out[name] = pageOf(t, d)
	}
	return out
}

// documents are the documents of the pages.
func documents(t testing.TB) map[string]*document.Document {
	t.Helper()
	of := func(command ...string) results.Origin {
		return results.Origin{File: "telemetry.yaml", Text: []byte("# two volumes\nplimsoll: 1\nvolumes:\n  wal: {type: gp3}\n  data: {type: gp3}\nengine: {mongodb: {}}\nworkload: {preset: telemetry}\n"),
			Sets: [][]string{nil, {"volumes.journal={type: gp3, size: 10 GiB}"}}, Command: command,
			Prices: []results.Price{{Product: "gp3", Source: "price list, 2026"}, {Product: "io2", Source: "price list, 2026"}, {Product: "m6i.xlarge", Source: "on-demand prices, 2026-07-20"}}}
	}

	written, faster := simulated("", 1), simulated("journal apart", 0.002)
	out := map[string]*document.Document{
		"diagnosis":  diagnosis.Document(stalledReport(300, "nvme1n1"), diagnosis.Options{Pack: testkit.Pack()}),
		"hour":       diagnosis.Document(stalledReport(3600, "nvme1n1"), diagnosis.Options{Pack: testkit.Pack()}),
		"nothing":    diagnosis.Document(&diagnose.Report{Verdict: "Nothing here tells how long writes took."}, diagnosis.Options{Pack: testkit.Pack()}),
		"simulation": results.Simulation([]*simulate.Result{written}, of()),
		"variants":   results.Simulation([]*simulate.Result{written, faster}, of()),
		"lab": results.LabRun(&run.Result{Result: written, Model: faster, Lab: run.Lab{Server: "etcd 3.6", FileSystem: "ext4", Backing: "memory", Kernel: "Linux 6.18", Remarks: []string{"the machine stood still once"},
			Volumes: []run.Emulation{{Name: "data", LateP50: 2e-5, LateP99: 8e-5, LateMax: 0.002, LateShare: 0.001}}}},
			of("lab", "run", "telemetry.yaml")),
		"plan":  results.Plan(examplePlan(), of("plan", "telemetry.yaml", "--objective", "write_p99 < 25ms")),
		"fleet": results.Fleet(exampleFleet(), time.UTC),
		"proof": results.Proof(testkit.Pack(), exampleProof(), nil, "after", nil),
		"case":  results.Case(testkit.Pack(), exampleWalk(t), of("casebook", "1")),
	}

	for _, d := range out {
		d.Program = "plimsoll 1.0.0"
	}

	return out
}

// body returns a page without the style and scripts that all pages share.
func body(page string) string {
	_, page, _ = strings.Cut(page, "</head>")
	for _, open := range []string{"<script>", `<script type="application/json" id="data">`} {
		for {
			before, rest, found := strings.Cut(page, open)
			if !found {
				break
			}
			_, after, _ := strings.Cut(rest, "</script>")
			page = before + after
		}
	}
	return page
}
