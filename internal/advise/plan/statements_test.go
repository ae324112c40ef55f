package plan

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"plimsoll/internal/model/scenario"
	"plimsoll/internal/model/simulate"
)

// tuned is a planner with an axis of settings and one of volumes, whose current deployment costs ten dollars.
func tuned(chosen *outcome, rejected ...*outcome) *planner {
	p := searched(writeP99, chosen, rejected...)
	p.space = &Space{axes: []axis{
		{path: "engine.a", setting: true, options: []option{{}, {sets: make([]scenario.Set, 2)}}},
		{path: "volumes.data", options: []option{{}, {sets: make([]scenario.Set, 1)}}}}}
	p.current = picked(10, 0, 0)
	p.found.complete = true
	return p
}

// picked is an outcome of the space of tuned.
func picked(usd float64, setting, volume int) *outcome {
	o := ran(usd, 0.2, 0)
	o.choice, o.values = []int{setting, volume}, 2*setting+volume
	return o
}

// The plan says whether tuning is enough, helps, or is not enough.
func TestVerdictOnTuning(t *testing.T) {
	for _, c := range []struct {
		name string
		p    *planner
		want string
	}{
		{"nothing changes", tuned(picked(10, 0, 0)), "nothing-to-change: the current layout meets the objective, and nothing cheaper that was considered does"},
		{"settings only", tuned(picked(10, 1, 0)), "tune-first: tune first: it costs nothing"},
		{"settings and a volume", tuned(picked(20, 1, 1)), "tune-first: tune first: 2 of 3 changes cost nothing, and the others are not enough without them"},
		{"a volume, settings were tried", tuned(picked(20, 0, 1), picked(10, 1, 0), picked(10, 0, 0)), "tune-first: tuning alone is not enough: none of 1 layouts with other settings at the current price meets the objective"},
		{"a volume, settings were not tried", tuned(picked(20, 0, 1), picked(15, 1, 1)), ""},
		{"a cheaper volume", tuned(picked(5, 0, 1), picked(10, 1, 0)), ""},
	} {
		got := ""
		for _, s := range c.p.verdict() {
			got += s.Kind + ": " + s.Text
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}

	p := tuned(picked(20, 1, 1))
	p.found.complete, p.found.runs = false, 400
	if got := p.verdict(); len(got) != 1 || got[0].Kind != "incomplete" ||
		!strings.Contains(got[0].Text, "only the 400 cheapest layouts were simulated") {
		t.Errorf("%+v", got)
	}
}

// If no layout is enough, the plan says how far the nearest is from the objective, what limits it, and what
// no layout can change.
func TestUnmet(t *testing.T) {
	near := picked(20, 0, 1)
	near.result.Waits = []simulate.WaitResult{{Name: "journal sync", SlowCauseShare: 0.7}}
	near.result.Caveats = []simulate.Caveat{{Kind: simulate.Processor, Text: "its cores are saturated"}}
	pruned := &outcome{candidate: &candidate{}, pruned: true, reason: "a write takes at least 1.00 ms"}
	p := tuned(nil, near, pruned)
	p.current = &outcome{candidate: &candidate{}}
	if got, want := p.verdict()[0].Text, `no layout that was considered meets the objective; the closest has a write_p99 of 200 ms, but its cores are saturated; there slow writes spend 70 % of their time waiting for "journal sync"; and a write takes at least 1.00 ms`; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}

	p.found.complete, p.found.rejected, p.found.runs = false, nil, 12
	if got, want := p.verdict()[0], "none of the 12 cheapest layouts meets the objective, and neither do the fastest ones; the layouts in between were not simulated"; got.Text != want ||
		got.Kind != "incomplete" {
		t.Errorf("%+v\nwant %s", got, want)
	}
}

// held is a volume with limits that held requests back, in seconds.
func held(name string, limits ...any) simulate.VolumeResult {
	v := simulate.VolumeResult{Name: name}
	for i := 0; i < len(limits); i += 2 {
		v.HeldBy = append(v.HeldBy, simulate.HeldBy{Name: limits[i].(string), Seconds: limits[i+1].(float64)})
	}
	return v
}

// If the machine's limits hold requests back for most of the time, a faster volume changes nothing.
func TestInstanceCap(t *testing.T) {
	for _, c := range []struct {
		name   string
		volume simulate.VolumeResult
		want   bool
	}{
		{"the machine", held("data", "instance IOPS", 60.0, "volume IOPS", 40.0), true}, {"half", held("data", "instance throughput", 50.0, "volume IOPS", 50.0), true}, {"the volume", held("data", "instance IOPS", 49.0, "volume IOPS", 51.0), false},
		{"queue slots do not count", held("data", "instance IOPS", 60.0, "queue slots", 400.0), true}, {"nothing", held("data"), false},
	} {
		p := tuned(nil)
		p.current.result.Volumes = []simulate.VolumeResult{c.volume}
		got := p.instanceCap()
		if (len(got) == 1) != c.want ||
			c.want && !strings.HasPrefix(got[0].Text, "now: the instance is the bottleneck") {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}

// More IOPS do not help if another limit holds requests back, or none does for long.
func TestUnhelped(t *testing.T) {
	await := 0.001
	slow := held("data", "volume throughput", 5.0)
	slow.AwaitSeconds, slow.IOPS = &await, 1000
	for _, c := range []struct {
		name   string
		volume simulate.VolumeResult
		want   string
	}{
		{"its IOPS", held("data", "volume IOPS", 9.0), ""}, {"another limit", held("data", "volume IOPS", 9.0, "volume throughput", 10.0), "; its requests are held back by: volume throughput"},
		{"no limit for long", slow, "; latency-bound: no limit holds its requests back for long, each request simply takes that long"}, {"of a member", held("3/data", "instance IOPS", 1.0), "; its requests are held back by: instance IOPS"}, {"another volume", held("wal", "instance IOPS", 1.0), ""},
	} {
		p := tuned(nil)
		p.current.result.Volumes, p.current.result.Seconds = []simulate.VolumeResult{c.volume}, 100
		if got := p.unhelped("data"); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// The probability of losing a stripe grows with each of its volumes, by slightly less than a volume's.
func TestLostOf(t *testing.T) {
	if got := lostOf(1, 0.002); math.Abs(got-0.002) > 1e-12 {
		t.Error(got)
	}
	if got := lostOf(4, 0.002); got >= 0.008 || got < 0.00797 {
		t.Error(got)
	}
}

// A layout's risks are those of the layout itself and of the migration to it.
func TestRisks(t *testing.T) {
	for _, c := range []struct {
		name string
		sets []string
		want string
	}{
		{"as it is", nil, ""}, {"other limits", []string{"volumes.data.iops=6000"}, "modification"}, {"another type in place", []string{"volumes.data={type: io2, size: 100GiB, iops: 3000}"}, "modification"},
		{"a stripe", []string{"volumes.data.stripe=2"}, "stripe first-touch"}, {"another file system", []string{"host.filesystem=ext4"}, "first-touch"},
		{"a volume for the journal", []string{"volumes.journal={type: gp3, size: 10GiB}"}, "snapshots"},
	} {
		now := parsed(t, small, "host.filesystem=xfs")
		p := &planner{opt: &every, now: now}
		got := ""
		for _, r := range p.risks(parsed(t, small, append([]string{"host.filesystem=xfs"}, c.sets...)...), nil) {
			got += r.Kind + " "
		}
		if strings.TrimSpace(got) != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// A value is read from the scenario by its path, in the scenario's own spelling.
func TestValueAt(t *testing.T) {
	sc := parsed(t, small, "volumes.data.iops=6000")
	for path, want := range map[string]string{
		"volumes.data.iops": "6000", "volumes.data.type": "gp3", "volumes.data.size": "100GiB", "volumes.data.throughput": "", "host.instance": "m6i.large", "engine.mongodb.checkpoint": "2s", "run.duration": "6s",
		"volumes.data": "{type: gp3, size: 100GiB, iops: 6000}", "volumes.none": "", "engine.iris.cycle": "", "host.instance.more": "", "": "",
	} {
		if got := valueAt(sc, path); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}

// The prices of an option's assignments add up to its additional cost.
func TestSpentAddsUp(t *testing.T) {
	s := made(t, Options{}, "volumes.data={type: gp3, size: 500GiB}")
	p := &planner{
		opt:   &Options{Region: "us-east-1"},
		now:   parsed(t, small, "volumes.data={type: gp3, size: 500GiB}"),
		space: s,
	}
	a := axisOf(t, s, "volumes.data")
	for i := range a.options {
		o, sum := &a.options[i], dollars(0)
		for _, d := range p.spent(a, o) {
			sum += d
		}
		if more := o.cost - a.options[0].cost; sum != more {
			t.Errorf("%v: %v, want %v", texts(o.sets), sum.usd(), more.usd())
		}
	}
}

// The log's bound is the peak of its volume and of its machine, whichever is lower; every member counts.
func TestThroughputMax(t *testing.T) {
	for _, c := range []struct{ sets, want string }{
		{"volumes.data={type: gp3, size: 100GiB}", "131 MB/s"}, {"volumes.data={type: gp3, size: 100GiB, throughput: 250MiB/s}", "262 MB/s"}, {"volumes.data={type: gp3, size: 100GiB, stripe: 2}", "262 MB/s"}, {"volumes.data={type: gp3, size: 1000GiB, iops: 16000, throughput: 1000MiB/s, stripe: 8}", "1.25 GB/s"},
	} {
		sc := parsed(t, small, c.sets, "host.instance=m6i.large")
		if got := fmt.Sprint(throughputMax(sc, logOrders(sc)[0])); got != c.want {
			t.Errorf("%s: %s, want %s", c.sets, got, c.want)
		}
	}
	got := readsMax(parsed(t, small, "volumes.data={type: gp3, size: 100GiB, iops: 5000}"))
	if fmt.Sprint(got) != "5,000/s" {
		t.Errorf("reads: %v", got)
	}
}
