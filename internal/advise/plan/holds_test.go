package plan

import (
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/model/scenario"
	"plimsoll/internal/model/simulate"
)

// kinds returns the kinds of a plan's statements.
func kinds(p *Plan) []string {
	var out []string
	for _, s := range p.Statements {
		out = append(out, s.Kind)
	}
	return out
}

// A machine with a saturated processor is not chosen, although the model's latencies meet the
// objective; the next machine is. Without another machine, no layout is chosen.
func TestSaturatedIsNotChosen(t *testing.T) {
	now := parsed(t, small, "host.instance=m6i.large", "engine.mongodb.cpu.operation=2300us", "volumes.data.iops=6000")
	opt := Options{Engines: every.Engines, Objectives: []scenario.Bound{{Name: "write_p99", Most: 2e9}}, Keep: []string{"engine"}}
	p, err := Make(t.Context(), now, "small.yaml", opt)
	if err != nil {
		t.Fatal(err)
	}

	if p.Chosen == nil || !slices.Contains(p.Chosen.Sets, "host.instance=m6i.xlarge") || len(p.Chosen.Caveats) > 0 {
		t.Errorf("chose %+v, want the next machine", p.Chosen)
	}

	if len(p.Now.Caveats) == 0 || p.Now.Caveats[0].Kind != simulate.Processor {
		t.Errorf("now: %+v, want the caveat of its processor", p.Now.Caveats)
	}

	opt.Keep = append(opt.Keep, "host.instance")
	if p, err = Make(t.Context(), now, "small.yaml", opt); err != nil {
		t.Fatal(err)
	}

	if p.Chosen != nil || p.Nearest == nil || !strings.Contains(p.Statements[0].Text, "the processor is saturated") {
		t.Errorf("chose %+v; %+v", p.Chosen, p.Statements)
	}

	if p.Searched.Simulated > 5 || !p.Searched.Complete {
		t.Errorf("%+v: other volumes do not make a processor faster", p.Searched)
	}
}

// Cores that were measured on the current machine belong to it, and a larger machine has more.
// Fewer cores than the machine has are a container's limit, which applies on any machine.
func TestCoresFollowTheMachine(t *testing.T) {
	opt := Options{Engines: every.Engines, Objectives: []scenario.Bound{{Name: "write_p99", Most: 2e9}}, Keep: []string{"engine", "volumes"}}
	for cores, want := range map[string]bool{"host.cores=2": true, "host.cores=1": false} {
		now := parsed(t, small, "host.instance=m6i.large", cores, "engine.mongodb.cpu.operation=2300us", "volumes.data.iops=6000")
		p, err := Make(t.Context(), now, "small.yaml", opt)
		if err != nil {
			t.Fatal(err)
		}
		if chosen := p.Chosen != nil && slices.Contains(p.Chosen.Sets, "host.instance=m6i.xlarge") && slices.Contains(p.Chosen.Sets, "host.cores=4"); chosen != want {
			t.Errorf("%s: chose %+v, want a larger machine with its cores: %v", cores, p.Chosen, want)
		}
	}
}

// A deployment whose credits run out is neither kept nor chosen, unless bursts are allowed.
func TestBurstIsNotChosen(t *testing.T) {
	now := parsed(t, small, "volumes.data={type: gp2, size: 30GiB}", "workload.arrivals.poisson=300/s")
	opt := Options{Engines: every.Engines, Objectives: []scenario.Bound{{Name: "write_p99", Most: 2e9}}, Keep: []string{"engine", "host"}}
	p, err := Make(t.Context(), now, "small.yaml", opt)
	if err != nil {
		t.Fatal(err)
	}

	if p.Chosen == nil || len(p.Chosen.Sets) == 0 || len(p.Chosen.Caveats) > 0 {
		t.Errorf("chose %+v, want a volume without such credits", p.Chosen)
	}

	opt.AllowBurst, opt.Keep = true, append(opt.Keep, "volumes")
	if p, err = Make(t.Context(), now, "small.yaml", opt); err != nil {
		t.Fatal(err)
	}

	if p.Chosen == nil || len(p.Chosen.Caveats) == 0 || p.Chosen.Caveats[0].HoldsSeconds <= 0 {
		t.Errorf("allowed, chose %+v, want what is there, and until when", p.Chosen)
	}
}

// A run without two checkpoints is extended.
func TestShortRunsAreExtended(t *testing.T) {
	now := parsed(t, small, "engine.mongodb.checkpoint=6s")
	p, err := Make(t.Context(), now, "small.yaml", Options{Engines: every.Engines, Objectives: []scenario.Bound{{Name: "write_p99", Most: 1e9}}, Keep: []string{"engine", "volumes"}})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(kinds(p), "extended") || p.Now.Sets[0] != "run.duration=18s" {
		t.Errorf("%v, %v", kinds(p), p.Now.Sets)
	}
}

// A plan warns when inserts fill the volume, but not for updates.
func TestFills(t *testing.T) {
	for sets, want := range map[string]int{
		"workload.mix={insert: 100%}":          1,
		"workload.mix={update: 100%}":          0,
		"workload.mix={read: 99%, insert: 1%}": 0,
	} {
		if got := fills(parsed(t, small, sets, "volumes.data.size=1TiB")); len(got) != want {
			t.Errorf("%s: %+v", sets, got)
		}
	}
}
