package results

import (
	"slices"
	"testing"

	"plimsoll/internal/advise/budget"
	"plimsoll/internal/advise/plan"
	"plimsoll/internal/check/golden"
	"plimsoll/internal/model/simulate"
	"plimsoll/internal/present/document"
	"plimsoll/internal/present/text"
)

// laid is a layout with a predicted write p99; the model is off by up to a factor of two.
func laid(usd, p99 float64, sets ...string) *plan.Layout {
	return &plan.Layout{Sets: sets, MonthlyUSD: usd, Predicted: map[string]plan.Prediction{
		"write_p99_seconds":         {Value: p99, Low: p99 / 2, High: p99 * 2},
		"operations_per_second":     {Value: 612, Low: 600, High: 620},
		"checkpoint_median_seconds": {Value: 9.4, Low: 9, High: 10}}}
}

// planned is a plan that moves the journal to a separate volume.
func planned() *plan.Plan {
	chosen := laid(55, 0.02, "volumes.wal={type: gp3, size: 10GiB}")
	chosen.Changes = []plan.Change{
		{Path: "volumes.wal", To: "{type: gp3, size: 10GiB, iops: 3000}", USD: 15, Needs: "restart"},
		{Path: "engine.mongodb.journal_on", To: "wal", Free: true, Needs: "restart"},
		{Path: "volumes.data.throughput", From: "250MiB/s", Free: true, Needs: "online"},
		{Path: "volumes.none"}}
	chosen.Risks = []plan.Risk{{Kind: "first-touch", Text: "data moves to a new volume"}}
	chosen.Budget = []budget.Budget{
		{Volume: "data", IOPS: 3000, IOPSBy: "volume", BytesPerSec: 125 << 20, BytesBy: "machine"},
		{Volume: "wal", IOPS: 1500, IOPSBy: "burst"},
	}
	dear, cheap := laid(120, 0.004, "volumes.data.iops=16000"), laid(30, 9, "volumes.data.type=st1")
	return &plan.Plan{
		Scenario:   plan.Document{File: "telemetry.yaml"},
		Region:     "us-east-1",
		Objectives: []plan.Objective{{Name: "write_p99", MostSeconds: 0.1}},
		Now:        laid(40, 1.8),
		Chosen:     chosen,
		Frontier:   []*plan.Layout{cheap, laid(40, 1.8), chosen, dear},
		Rejected: []plan.Rejected{
			{Layout: laid(41, 0.9, "volumes.data.iops=4000", "host.cores=4"), Reason: "write_p99 900 ms"},
			{Layout: laid(40, 1.7, "host.cores=4"), Reason: "write_p99 1.70 s"},
		},
		Statements: []plan.Statement{{Kind: "tune-first", Text: "more IOPS alone do not help"}},
		Searched: plan.SearchStats{
			Space:     29_184,
			Simulated: 12,
			Pruned:    340,
		},
		ModelError: "p99s were off by up to 3.2 times",
	}
}

// withoutAccuracy omits how accurate the models are, which is measured again from time to time.
func withoutAccuracy(d *document.Document) *document.Document {
	d.Sections = slices.DeleteFunc(d.Sections, func(s document.Section) bool { return s.ID == "trust" })
	return d
}

// A plan begins with what to do, what it costs and what it improves.
func TestPlan(t *testing.T) {
	golden.Inline(
		t,
		set(
			t,
			withoutAccuracy(Plan(planned(), Origin{Command: []string{"plan", "telemetry.yaml"}})),
			text.Options{Width: 110},
		),
		`
A separate 10 GiB gp3 volume for the wal with 3000 IOPS; engine.mongodb.journal_on = wal;
volumes.data.throughput = (not set), for 15 USD more a month: write p99 1.80 s to 20.0 ms, objective 100 ms.
telemetry.yaml, in us-east-1. Considered 29,184 layouts: simulated 12, ruled out 340 without simulation.

  now, a month        40 USD
  chosen, a month     55 USD  +15 USD
  write p99, chosen  20.0 ms  10.0 ms to 40.0 ms with the model's error; now 1.80 s

WHAT TO CHANGE
──────────────────────────────────────────────────────────────────────────────────────────────────────────────
   setting                    now       then                                  a month  requires
   volumes.wal                –         {type: gp3, size: 10GiB, iops: 3000}  +15 USD  a restart
   engine.mongodb.journal_on  –         wal                                      free  a restart
   volumes.data.throughput    250MiB/s  (not set)                                free  nothing: applied online
   Risk: data moves to a new volume.

PREDICTED EFFECT
──────────────────────────────────────────────────────────────────────────────────────────────────────────────
                             now   chosen  with the model's error  change
   write p99              1.80 s  20.0 ms      10.0 ms to 40.0 ms  1/90.0
   checkpoint median      9.40 s   9.40 s        9.00 s to 10.0 s
   operations per second   612/s    612/s          600/s to 620/s

PRICE AGAINST WRITE P99
──────────────────────────────────────────────────────────────────────────────────────────────────────────────
    30 USD   9.00 s  ██████████████████████████████  volumes.data.type=st1
    40 USD   1.80 s  ████████████████████████        as is
    55 USD  20.0 ms  ███████                         volumes.wal={type: gp3, size: 10GiB} (chosen)
   120 USD  4.00 ms  █                               volumes.data.iops=16000
   No layout that was simulated in full is both cheaper and better than one of these. The bars' scale is
   logarithmic.

WHAT TO KNOW
──────────────────────────────────────────────────────────────────────────────────────────────────────────────
   More IOPS alone do not help.

PREFERRED, BUT NOT ENOUGH
──────────────────────────────────────────────────────────────────────────────────────────────────────────────
   layout                                           a month  why not
   --set host.cores=4                                40 USD  write_p99 1.70 s
   --set volumes.data.iops=4000 --set host.cores=4   41 USD  write_p99 900 ms

SUSTAINED I/O BUDGET
──────────────────────────────────────────────────────────────────────────────────────────────────────────────
   volume         IOPS  limited by                   throughput  limited by
   volumes.data  3,000  the volume                     131 MB/s  the machine, all volumes together
   volumes.wal   1,500  the volume, after its burst           –
   Each figure is the lowest of the sustained limits of the volume and the machine. Pace checkpoints and
   cleaning by it.

   As settings of the engine and of the kernel:
   plimsoll plan telemetry.yaml -o json > plan.json
   plimsoll emit plan.json --target budget

NEXT STEPS
──────────────────────────────────────────────────────────────────────────────────────────────────────────────
   Run it again:
   plimsoll simulate telemetry.yaml --set 'volumes.wal={type: gp3, size: 10GiB}'
   Write the files that apply it:
   plimsoll plan telemetry.yaml -o json > plan.json
   plimsoll emit plan.json --help
`,
	)
}

// Without a layout that is enough, the plan shows the nearest and how far it is from the objective.
func TestPlanThatIsNotEnough(t *testing.T) {
	p := planned()
	p.Nearest, p.Chosen, p.Frontier, p.Rejected = p.Chosen, nil, nil, nil
	p.Nearest.Predicted["write_p99_seconds"] = plan.Prediction{Value: 0.3, Low: 0.1, High: 0.9}
	p.Nearest.Caveats = []simulate.Caveat{{Text: "its cores are saturated"}}
	golden.Inline(t, set(t, withoutAccuracy(Plan(p, Origin{})), text.Options{Width: 110}), `
No layout considered reaches write_p99 < 100 ms. The nearest: its cores are saturated.
telemetry.yaml, in us-east-1. Considered 29,184 layouts: simulated 12, ruled out 340 without simulation.

  now, a month        40 USD
  nearest, a month    55 USD  +15 USD
  write p99, nearest  300 ms  100 ms to 900 ms with the model's error; now 1.80 s

PREDICTED EFFECT
──────────────────────────────────────────────────────────────────────────────────────────────────────────────
                             now  nearest  with the model's error  change
   write p99              1.80 s   300 ms        100 ms to 900 ms   −83 %
   checkpoint median      9.40 s   9.40 s        9.00 s to 10.0 s
   operations per second   612/s    612/s          600/s to 620/s

WHAT TO KNOW
──────────────────────────────────────────────────────────────────────────────────────────────────────────────
   More IOPS alone do not help.

SUSTAINED I/O BUDGET
──────────────────────────────────────────────────────────────────────────────────────────────────────────────
   volume         IOPS  limited by                   throughput  limited by
   volumes.data  3,000  the volume                     131 MB/s  the machine, all volumes together
   volumes.wal   1,500  the volume, after its burst           –
   Each figure is the lowest of the sustained limits of the volume and the machine. Pace checkpoints and
   cleaning by it.

   As settings of the engine and of the kernel:
   plimsoll ... -o json > plan.json
   plimsoll emit plan.json --target budget
`)
}

// A new deployment has an order instead of changes, and no current figures.
func TestPlanOfNewDeployment(t *testing.T) {
	p := planned()
	p.New, p.Now = true, nil
	p.Chosen.Changes = []plan.Change{
		{Path: "volumes.data", To: "{type: gp3, size: 500GiB}", USD: 40, Needs: "new volume"},
		{Path: "host.instance", To: "m6i.xlarge", USD: 140, Needs: plan.NewMachine},
	}
	p.Chosen.Risks, p.Chosen.Budget, p.Rejected, p.Statements, p.Frontier = nil, nil, nil, nil, nil
	golden.Inline(t, set(t, withoutAccuracy(Plan(p, Origin{})), text.Options{Width: 110}), `
Buy volumes.wal={type: gp3, size: 10GiB}, 55 USD a month: write p99 20.0 ms, objective 100 ms.
telemetry.yaml, in us-east-1. Considered 29,184 layouts: simulated 12, ruled out 340 without simulation.

  chosen, a month     55 USD
  write p99, chosen  20.0 ms  10.0 ms to 40.0 ms with the model's error

WHAT TO BUY
──────────────────────────────────────────────────────────────────────────────────────────────────────────────
   what           order                      a month  requires
   volumes.data   {type: gp3, size: 500GiB}   40 USD  a new volume
   host.instance  m6i.xlarge                 140 USD  a new machine

PREDICTED EFFECT
──────────────────────────────────────────────────────────────────────────────────────────────────────────────
                           chosen  with the model's error
   write p99              20.0 ms      10.0 ms to 40.0 ms
   checkpoint median       9.40 s        9.00 s to 10.0 s
   operations per second    612/s          600/s to 620/s

NEXT STEPS
──────────────────────────────────────────────────────────────────────────────────────────────────────────────
   Run it again:
   plimsoll simulate telemetry.yaml --set 'volumes.wal={type: gp3, size: 10GiB}'
   Write the files that apply it:
   plimsoll ... -o json > plan.json
   plimsoll emit plan.json --help
`)
}

// The verdict for each way in which a plan can end.
func TestPlanVerdict(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*plan.Plan)
		want   string
	}{
		{"nothing to change", func(p *plan.Plan) { p.Chosen = p.Now }, "No change needed for write_p99 < 100 ms: 40 USD a month as is."},
		{"nothing to change, without prices", func(p *plan.Plan) { p.Chosen, p.Unpriced = p.Now, true }, "No change needed for write_p99 < 100 ms."},
		{"for a while", func(p *plan.Plan) {
			p.Chosen = p.Now
			p.Now.Caveats = []simulate.Caveat{{Text: "the credits run out", HoldsSeconds: 7200}}
		}, "No change needed for write_p99 < 100 ms: 40 USD a month as is. Met for 2h, then missed: the credits run out."},
		{"nothing found", func(p *plan.Plan) { p.Chosen = nil }, "No layout considered reaches write_p99 < 100 ms."},
		{"two objectives", func(p *plan.Plan) {
			p.Chosen, p.Objectives = nil, append(p.Objectives, plan.Objective{Name: "read_p99", MostSeconds: 0.01})
		}, "No layout considered reaches write_p99 < 100 ms and read_p99 < 10.0 ms."},
		{"cheaper", func(p *plan.Plan) {
			p.Chosen.MonthlyUSD, p.Chosen.Changes = 30, []plan.Change{{Path: "volumes.data.type", From: "io2", To: "gp3"}}
		}, "Type gp3 for the data volume, for 10 USD less a month: write p99 1.80 s to 20.0 ms, objective 100 ms."},
		{"free", func(p *plan.Plan) {
			p.Chosen.MonthlyUSD, p.Chosen.Changes = 40.004, []plan.Change{{Path: "engine.mongodb.cache", To: "4GiB"}}
		}, "engine.mongodb.cache = 4GiB, at the same price: write p99 1.80 s to 20.0 ms, objective 100 ms."},
		{"not measured today", func(p *plan.Plan) {
			delete(p.Now.Predicted, "write_p99_seconds")
			p.Chosen.Changes = []plan.Change{{Path: "volumes.data.iops", To: "6000"}}
		}, "6000 IOPS for the data volume, for 15 USD more a month: write p99 20.0 ms, objective 100 ms."},
		{"without prices", func(p *plan.Plan) {
			p.Unpriced, p.Chosen.Predicted = true, nil
			p.Chosen.Changes = []plan.Change{{Path: "volumes.data.throughput", To: "250MiB/s"}}
		}, "Throughput of 250MiB/s for the data volume, without prices."},
	} {
		p := planned()
		c.change(p)
		if got := Plan(p, Origin{}).Verdict; got != c.want {
			t.Errorf("%s: %s\nwant %s", c.name, got, c.want)
		}
	}
}
