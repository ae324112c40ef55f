package plan

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"plimsoll/internal/base/units"
	"plimsoll/internal/model/catalog"
	"plimsoll/internal/model/scenario"
)

// load is a scenario of a deployment that does not exist yet, with placeholders for its machine and volume.
const load = `plimsoll: 1
run: {duration: 6s, warmup: 1s}
host: {instance: m6i.xlarge}
volumes: {data: {type: gp3, size: 100GiB}}
engine: {mongodb: {cache: 1GiB, checkpoint: 2s, log_bytes: 300B, oplog: false}}
workload: {arrivals: {poisson: 100/s}, mix: {insert: 50%, update: 50%}, keys: {count: 20000}, document: {size: 4KiB}}
objective: {write_p99: 100ms}
`

func loaded(t *testing.T, text string, sets ...string) *scenario.Scenario {
	t.Helper()
	sc, err := language.Parse("load.yaml", []byte(text), sets)
	if err != nil {
		t.Fatal(err)
	}
	return sc
}

var clouds = []Cloud{{"aws", "m6i.xlarge", "gp3"}, {"azure", "standard_d4s_v5", "premium-v2"},
	{"gcp", "n2-standard-4", "hyperdisk-balanced"}}

// A layout that the search for a machine tries is also one that the report compares with. It runs once,
// and so does everything else.
func TestNoRunIsRepeated(t *testing.T) {
	now := loaded(t, load)
	var mu sync.Mutex
	complete := 0
	opt := Options{Engines: every.Engines, New: true, Workers: 2}
	opt.ran = func(_, virtual time.Duration) {
		mu.Lock()
		defer mu.Unlock()
		if virtual == now.Run.Duration.Std()+now.Run.Warmup.Std() {
			complete++
		}
	}

	p := &planner{now: now, opt: &opt}
	if err := p.prepare(); err != nil {
		t.Fatal(err)
	}
	if err := p.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if complete < 3 || complete != len(p.sim.finished) {
		t.Errorf("%d runs went to the end, of %d layouts", complete, len(p.sim.finished))
	}
	// The chosen layout was run.
	if p.found.runs < 1 {
		t.Errorf("%d runs of the search are counted", p.found.runs)
	}
	if p.found.chosen == nil || len(p.extra) == 0 {
		t.Errorf("nothing is compared: chosen %v, %d alternatives", p.found.chosen, len(p.extra))
	}
}

// A translated scenario uses the other cloud's types, with as many cores, as much memory and as much space.
func TestTranslation(t *testing.T) {
	now := loaded(t, load, "host.instance=m6i.2xlarge", "volumes.data={type: gp3, size: 50GiB, stripe: 2}",
		"volumes.journal={type: io2, size: 10GiB, iops: 4000}")
	for _, to := range clouds {
		there, err := now.With(Translation(now, &to)...)
		if err != nil {
			t.Fatalf("%s: %v", to.Name, err)
		}
		if got := there.Instance(); got.Of() != to.Name || got.VCPU != 8 || got.Memory < now.Instance().Memory {
			t.Errorf("%s: the machine is %s", to.Name, got.Name)
		}
		for _, v := range there.Volumes {
			kind, err := catalog.Type(v.Value.Type)
			if err != nil {
				t.Fatal(err)
			}
			was := now.Volumes.Get(v.Name)
			if kind.Provider != to.Name || v.Value.Size*sizeOf(&v.Value) != was.Size*sizeOf(was) {
				t.Errorf("%s: volumes.%s is %v", to.Name, v.Name, v.Value)
			}
		}
	}
	if sets := Translation(now, &clouds[0]); len(sets) > 0 {
		t.Errorf("a scenario of AWS changes for AWS: %v", sets)
	}
}

// A machine that is too small is excluded with the reason, and one that is enough ends the search for others.
func TestSmallestMachine(t *testing.T) {
	opt := every
	opt.New, opt.Unsized = true, true

	p, err := Make(t.Context(), loaded(t, load), "load.yaml", opt)
	if err != nil {
		t.Fatal(err)
	}
	if p.Now != nil || p.Chosen == nil || p.Chosen.Scenario.Host.Instance != "m6i.large" {
		t.Fatalf("%+v", p.Chosen)
	}
	if i := slices.IndexFunc(p.Chosen.Changes, func(c Change) bool { return c.Path == "volumes.data" }); i < 0 || p.Chosen.Changes[i].USD <= 0 {
		t.Errorf("the volume is not bought: %+v", p.Chosen.Changes)
	}

	// More load than two cores can carry.
	many := loaded(t, load, "workload.arrivals={poisson: 25000/s}", "workload.mix={update: 100%}")
	p, err = Make(t.Context(), many, "load.yaml", opt)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(p.Statements, func(s Statement) bool { return s.Kind == "too-small" })
	if i < 0 || !strings.Contains(p.Statements[i].Text, "m6i.large: ") {
		t.Errorf("statements: %+v", p.Statements)
	}
	if p.Chosen == nil || p.Chosen.Scenario.Instance().VCPU <= 2 {
		t.Errorf("chosen: %+v", p.Chosen)
	}
}

// The data volume of a new deployment holds the scenario's data for the requested time, and the
// reported number of days is what its size allows.
func TestSizeOfNewDeployment(t *testing.T) {
	opt := every
	opt.New, opt.Unsized = true, true
	grow := func(text string) *Plan {
		t.Helper()
		g, err := ParseGrowth(text, every.Engines)
		if err != nil {
			t.Fatal(err)
		}
		opt.Size = g
		p, err := Make(t.Context(), loaded(t, load), "load.yaml", opt)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}

	one, two := grow("months=1"), grow("months=2")
	if one.Sizing == nil || two.Sizing == nil || two.Sizing.Bytes <= one.Sizing.Bytes {
		t.Fatalf("%+v, %+v", one.Sizing, two.Sizing)
	}
	i := slices.IndexFunc(one.Statements, func(s Statement) bool { return s.Kind == "lasts" })
	if i < 0 {
		t.Fatal("nothing says how long the volume lasts")
	}
	for _, e := range one.Statements[i].Evidence {
		if e.Text == "until full" && e.Value < 30*86400 {
			t.Errorf("sized for a month, full after %.1f days", e.Value/86400)
		}
	}

	// An existing deployment must state how much data it holds.
	opt.New, opt.Unsized = false, false
	if _, err := Make(t.Context(), loaded(t, load), "load.yaml", opt); err == nil || !strings.Contains(err.Error(), "missing key data") {
		t.Errorf("%v", err)
	}
}

// A plan recommends only sizes that exist: no volume holds six months of 1,300 GB per day.
func TestAdvisedSizeExists(t *testing.T) {
	opt := every
	opt.New = true
	for rate, want := range map[string]string{"100/s": "--size months=6 sizes", "1500/s": "--size growth=100GB/month plans"} {
		sc := loaded(t, load, "workload.arrivals={poisson: "+rate+"}", "workload.document={size: 10KB}", "workload.mix={insert: 100%}",
			"host.instance=m6i.4xlarge")
		p := &planner{now: sc, opt: &opt}
		if err := p.prepare(); err != nil {
			t.Fatal(err)
		}
		if got := p.lasts(sc); len(got) != 1 || !strings.Contains(got[0].Text, want) {
			t.Errorf("%s: %+v, want %q", rate, got, want)
		}
	}
}

// Several platforms share one frontier, and the winner is the cheapest one that suffices.
func TestMakeEach(t *testing.T) {
	opt := every
	opt.New = true
	var places []Place
	for _, c := range clouds {
		places = append(places, Place{Cloud: c, Region: func(*scenario.Scenario) string { return "" }})
	}

	var began []string
	p, err := MakeEach(t.Context(), loaded(t, load), "load.yaml", opt, places, func(name string) { began = append(began, name) })
	if err != nil {
		t.Fatal(err)
	}
	if len(began) != 3 || len(p.Platforms) != 3 {
		t.Fatalf("%v, %d platforms", began, len(p.Platforms))
	}
	for _, x := range p.Platforms {
		if x.Problem != "" || x.Chosen == nil || x.Chosen.MonthlyUSD < p.Chosen.MonthlyUSD {
			t.Errorf("%s: %q, %+v", x.Platform, x.Problem, x.Chosen)
		}
	}
	for i := 1; i < len(p.Frontier); i++ {
		if p.Frontier[i].MonthlyUSD < p.Frontier[i-1].MonthlyUSD {
			t.Errorf("the frontier is not in the order of prices: %v", p.Frontier[i].Sets)
		}
	}
}

func sizeOf(o *catalog.Order) units.Size { return units.Size(o.Members()) }
