package results

import (
	"strings"
	"testing"

	"plimsoll/internal/model/simulate"
	"plimsoll/internal/present/document"
)

// The verdict is about the objectives if there are any, and otherwise about the latencies that clients see.
func TestVerdictOfRun(t *testing.T) {
	objective := func(name string, got *float64, met bool, caveat string) simulate.ObjectiveResult {
		return simulate.ObjectiveResult{
			Name:   name,
			Wanted: 0.1,
			Got:    got,
			Met:    met,
			Caveat: caveat,
			Unit:   "seconds",
		}
	}
	p99 := simulate.Class{All: simulate.Latency{Operations: 9, P50Seconds: at(0.001), P99Seconds: at(0.02)}}
	backlog := []simulate.Caveat{{Kind: simulate.Backlog, Text: "30 % of the writes are unanswered"}}
	for _, c := range []struct {
		name string
		r    simulate.Result
		want string
	}{
		{"no objective", simulate.Result{Writes: p99}, "Writes take 1.00 ms at the median and 20.0 ms at p99."},
		{"only reads", simulate.Result{Reads: p99}, "Reads take 1.00 ms at the median and 20.0 ms at p99."},
		{"too few for a p99", simulate.Result{Writes: simulate.Class{All: simulate.Latency{Operations: 9, P50Seconds: at(0.001)}}}, "Writes take 1.00 ms at the median and – at p99."},
		{"met", simulate.Result{Objectives: []simulate.ObjectiveResult{objective("write_p99", at(0.02), true, ""), objective("read_p99", at(0.01), true, "")}},
			"Objective met: write_p99 is 20.0 ms, objective 100 ms; read_p99 is 10.0 ms, objective 100 ms."},
		{"one missed", simulate.Result{Objectives: []simulate.ObjectiveResult{objective("write_p99", at(0.02), true, ""), objective("read_p99", at(0.2), false, "")}},
			"Objective not met: read_p99 is 200 ms, objective 100 ms."},
		{"missed for a reason", simulate.Result{Caveats: backlog, Objectives: []simulate.ObjectiveResult{objective("write_p99", at(0.2), false, "")}},
			"Objective not met: write_p99 is 200 ms, objective 100 ms; 30 % of the writes are unanswered."},
		{"not known", simulate.Result{Objectives: []simulate.ObjectiveResult{objective("write_p99", nil, false, "")}},
			"Objective not met: write_p99 is unknown, objective 100 ms."},
		{"of the answered", simulate.Result{Caveats: backlog, Objectives: []simulate.ObjectiveResult{objective("write_p99", at(0.02), false, "backlog")}},
			"Objective not met: 30 % of the writes are unanswered. For completed operations, write_p99 is 20.0 ms, objective 100 ms."},
		{"for a while", simulate.Result{Caveats: []simulate.Caveat{{Kind: simulate.Burst, Text: "the burst credits run out", HoldsSeconds: 5400}}, Objectives: []simulate.ObjectiveResult{objective("write_p99", at(0.02), false, "credits")}},
			"Objective met for 1h30m, then missed: the burst credits run out; write_p99 is 20.0 ms, objective 100 ms."},
		{"too few cycles", simulate.Result{Caveats: []simulate.Caveat{{Kind: simulate.Few, Text: "the run saw one checkpoint"}}, Objectives: []simulate.ObjectiveResult{objective("write_p99", at(0.02), false, "cycles")}},
			"Objective not judged: the run saw one checkpoint. Among them, write_p99 is 20.0 ms, objective 100 ms."},
		{"saturated", simulate.Result{Caveats: []simulate.Caveat{{Kind: simulate.Processor, Text: "its cores are saturated"}}, Objectives: []simulate.ObjectiveResult{objective("write_p99", at(0.02), false, "processor")}},
			"Objective not met: its cores are saturated. In the model, write_p99 is 20.0 ms, objective 100 ms."},
		{"nothing", simulate.Result{Seconds: 60}, "No operation completed."},
	} {
		if got := verdictOf(&c.r); got != c.want {
			t.Errorf("%s: %s\nwant %s", c.name, got, c.want)
		}
	}
}

// An overloaded run completes only operations that began before the measured time. That is not reported
// as "no operation".
func TestVerdictOfRunThatLags(t *testing.T) {
	r := &simulate.Result{Seconds: 60, DonePerSec: 8.33}
	if got := verdictOf(r); !strings.HasPrefix(
		got,
		"The engine does not keep up: 8.33 operations per second completed, all of them started during warm-up",
	) {
		t.Errorf("8.33/s completed: %q", got)
	}
}

// Percentiles of an open loop that leaves more than 1 % unanswered are lower bounds.
func TestUnsettledRun(t *testing.T) {
	for _, c := range []struct {
		open             bool
		answered, behind int64
		want             bool
	}{{true, 1000, 10, false}, {true, 1000, 11, true}, {false, 1000, 500, false}, {true, 0, 1, true}, {true, 0, 0, false}} {
		r := &simulate.Result{OpenLoop: c.open, Unanswered: c.behind}
		r.Writes.All.Operations = c.answered
		if got := unsettled(r) != ""; got != c.want {
			t.Errorf("%+v: unsettled is %v", c, got)
		}
	}
}

// The text about the load says whether clients wait, because the latencies of a closed loop hide stalls.
func TestLoadText(t *testing.T) {
	r := simulated()
	if got, want := loadText(r), "telemetry, mongodb on m6i.xlarge, 10m measured after 2m of warm-up. Open loop: 612/s arrived, 612/s completed; 3 unanswered at the end."; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	r.OpenLoop, r.Unanswered, r.Host.Machine = false, 0, ""
	if got, want := loadText(r), "telemetry, mongodb, 10m measured after 2m of warm-up. Closed loop: 612/s, each client waits for its answer, so it does not show what users would feel during a stall."; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// The headline of a read-only workload is about reads, and a price without machines says that it covers only
// volumes.
func TestFactsOfRun(t *testing.T) {
	labels := func(r *simulate.Result) string {
		var out []string
		for _, f := range resultFacts(r, newLedger(Origin{})) {
			text := f.Label + " " + f.Value
			if f.Level != "" {
				text += " " + string(f.Level)
			}
			out = append(out, text)
		}
		return strings.Join(out, "; ")
	}

	r := simulated()
	if got, want := labels(r), "write p99 1.80 s critical; slowest write 7.60 s; checkpoint, median 9.40 s; data busy 100 %; a month 180 USD"; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	r.Objectives[0].Met = true
	r.Writes, r.MonthlyUSD, r.CycleWord = simulate.Class{}, nil, "flush"
	if got, want := labels(r), "read p99 20.0 ms; slowest read 300 ms; flush, median 9.40 s; data busy 100 %; volumes a month 40 USD"; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	r.Objectives[0].Name = "read_p99"
	if got := labels(r); !strings.HasPrefix(got, "read p99 20.0 ms good;") {
		t.Error(got)
	}
}

// The limits that held back a volume's requests are shown as shares of that time; a share of less than 2 % is
// noise.
func TestHeldText(t *testing.T) {
	v := simulated().Volumes[0]
	if got, want := heldText(&v, 600), "held back for 9,910 s in total, 53 % of the requests' time: IOPS 91 %, throughput 9.1 %; 40 % of its burst credits left"; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	// If limits overlap, their times add up to more than the requests took, and a share would be over 100 %.
	if got, want := heldText(&v, 60), "held back for 9,910 s in total: IOPS 91 %, throughput 9.1 %; 40 % of its burst credits left"; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	v.HeldBy = nil
	if got := heldText(&v, 600); got != "40 % of its burst credits left" {
		t.Error(got)
	}
	v.Credits = nil
	if got := heldText(&v, 600); got != "" {
		t.Error(got)
	}
}

// The words for a change: percent, a factor from ten on, an amount of money, or nothing.
func TestChangeWords(t *testing.T) {
	for _, c := range []struct {
		base, x *float64
		unit    string
		want    string
	}{
		{nil, at(1), "seconds", ""}, {at(1), nil, "seconds", ""}, {at(1), at(1), "seconds", ""}, {at(0), at(1), "seconds", ""},
		{at(1), at(1.5), "seconds", "+50 %"}, {at(1), at(0.5), "seconds", "−50 %"}, {at(1), at(0), "seconds", "−100 %"},
		{at(1), at(9.99), "seconds", "+899 %"}, {at(1), at(10), "seconds", "× 10.0"}, {at(10), at(1), "seconds", "1/10.0"}, {at(1), at(1234), "seconds", "× 1,234"},
		{at(1), at(1.004), "seconds", ""}, {at(1), at(0.996), "seconds", ""}, {at(1), at(1.006), "seconds", "+1 %"},
		{at(40), at(55), "USD", "+15 USD"}, {at(55), at(40.5), "USD", "−14.5 USD"}, {at(0), at(5), "USD", "+5 USD"}, {at(40), at(400), "USD", "+360 USD"},
	} {
		if got := change(c.base, c.x, c.unit); got != c.want {
			t.Errorf("from %s to %s: %q, want %q", optional(c.base, c.unit), optional(c.x, c.unit), got, c.want)
		}
	}
}

// The name of a cycle phase uses the unit that distinguishes the phase from the next one.
func TestPhaseText(t *testing.T) {
	for want, p := range map[string]simulate.Phase{
		"0-6 s": {Name: "0-6s", ToSeconds: 6}, "54-60 s": {Name: "54-60s", FromSeconds: 54, ToSeconds: 60}, "0-50 ms": {Name: "0-0s", ToSeconds: 0.05}, "50-100 ms": {Name: "0-0s", FromSeconds: 0.05, ToSeconds: 0.1},
	} {
		if got := phaseText(&p); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// For a cluster, only the log volumes are compared, and a volume is looked up in the variant that has it.
func TestVolumesCompared(t *testing.T) {
	of := func(names ...string) *simulate.Result {
		r := &simulate.Result{}
		for i, name := range names {
			r.Volumes = append(r.Volumes, simulate.VolumeResult{Name: name, IOPS: float64(i + 1)})
		}
		return r
	}
	a, b := of("data"), of("wal", "data")
	if got := strings.Join(volumesCompared([]*simulate.Result{a, b}), " "); got != "data wal" {
		t.Error(got)
	}
	if having([]*simulate.Result{a, b}, "wal") != b || having([]*simulate.Result{a, b}, "none") != a {
		t.Error("a volume is of the first variant that has it")
	}
	cluster := of("1/wal", "1/data", "2/wal", "2/data", "3/wal")
	if got := strings.Join(volumesCompared([]*simulate.Result{cluster}), " "); got != "1/wal 2/wal 3/wal" {
		t.Error(got)
	}
	iops := ofVolume("data", func(v *simulate.VolumeResult) *float64 { return &v.IOPS })
	if got := iops(b); *got != 2 || iops(of("wal")) != nil {
		t.Errorf("the rate of a volume: %v", got)
	}
}

// Charts overlay the variants that have the same step, on one axis, with the objective as a line.
func TestSimulatedTimeline(t *testing.T) {
	values := func(all ...float64) (out []*float64) {
		for i := range all {
			out = append(out, &all[i])
		}
		return append(out, nil)
	}
	r, other, coarse := simulated(), simulated(), simulated()
	r.Seconds = 3
	r.Series = &simulate.Series{
		StepSeconds: 1,
		WriteP99:    values(0.1, 0.2),
		HostDirty:   values(1e6, 2e6),
		EngineDirty: make([]*float64, 3),
		Busy:        map[string][]*float64{"data": values(0.5, 1)},
		Checkpoints: [][2]float64{{1, 2}},
	}
	other.Variant, other.Series = "other", &simulate.Series{StepSeconds: 1, WriteP99: values(0.3)}
	coarse.Variant, coarse.Series = "coarse", &simulate.Series{StepSeconds: 10, WriteP99: values(0.3)}

	line := simulatedTimeline([]*simulate.Result{r, other, coarse}, newLedger(Origin{}))
	var got []string
	for _, c := range line.Charts {
		text := c.Title
		for _, s := range c.Series {
			text += ", " + s.Name
		}
		got = append(got, text)
	}
	want := "write p99, as written, other; page cache dirty, as written; data busy, as written"
	if strings.Join(got, "; ") != want {
		t.Errorf("charts: %s\nwant %s", strings.Join(got, "; "), want)
	}
	if line.Charts[0].Limit != 0.1 || !line.Charts[0].Log || line.Charts[1].Log ||
		line.Charts[0].Series[1].Style != 2 {
		t.Errorf("%+v", line.Charts[0])
	}
	if want := "Each point covers 1.00 s of the measured time; a latency is plotted at its operation's intended start. Bands show the scenario as written."; line.Note != want {
		t.Error(line.Note)
	}

	five := simulatedTimeline([]*simulate.Result{r, other, other, other, other}, newLedger(Origin{}))
	if len(five.Charts[0].Series) != chartedMax ||
		!strings.Contains(five.Note, "Only the first 4 of 5 are drawn.") {
		t.Errorf("of five variants %d are drawn: %s", len(five.Charts[0].Series), five.Note)
	}

	r.Series.StepSeconds = 0
	if simulatedTimeline([]*simulate.Result{r}, newLedger(Origin{})) != nil {
		t.Error("a timeline without a step")
	}
}

// A terminal shows the table of variants; the sections of the first are for a page.
func TestVariantsOnTerminal(t *testing.T) {
	other := simulated()
	other.Variant = "other"
	for _, s := range Simulation([]*simulate.Result{simulated(), other}, Origin{}).Sections {
		if terminal := s.Only.Has(document.Terminal); terminal != (s.ID == "variants" || s.ID == "trust" || s.ID == "evidence") {
			t.Errorf("%s on a terminal: %v", s.ID, terminal)
		}
	}
}
