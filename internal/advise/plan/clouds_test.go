package plan

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"plimsoll/internal/base/units"
	"plimsoll/internal/model/catalog"
	"plimsoll/internal/model/scenario"
)

var (
	aws    = Cloud{Name: "aws", Instance: "m6i.large", Volume: "gp3"}
	google = Cloud{Name: "gcp", Instance: "n2-standard-2", Volume: "hyperdisk-balanced"}
	azure  = Cloud{Name: "azure", Instance: "standard_d2s_v5", Volume: "premium-ssd-v2"}
)

// A deployment is on the cloud of its first volume that a cloud rents.
func TestProvider(t *testing.T) {
	for sets, want := range map[string]string{
		"volumes.data={type: gp3, size: 100GiB}": "aws", "volumes.data={type: custom, size: 100GiB, iops: 3000, latency: {like: gp3}}": "",
		"volumes.data={type: hyperdisk-balanced, size: 100GiB}": "gcp", "volumes.data={type: ultra, size: 100GiB, iops: 3000, throughput: 100MiB/s}": "azure",
	} {
		if got := Provider(parsed(t, small, sets, "host={cores: 2, memory: 8GiB}")); got != want {
			t.Errorf("%s: %q, want %q", sets, got, want)
		}
	}
}

// On another cloud a deployment gets a machine with as many cores and as much memory, and volumes of
// the same size, one for a stripe. Volumes and machines that are already there stay.
func TestTranslationOfVolumes(t *testing.T) {
	for _, c := range []struct {
		name string
		sets []string
		to   Cloud
		want string
	}{
		{"it is there", nil, aws, "[]"},
		{"to Google", nil, google, "[host.instance=n2-standard-2 volumes.data={type: hyperdisk-balanced, size: 100GiB}]"},
		{"to Azure", []string{"host.instance=m6i.xlarge", "volumes.data.iops=6000"}, azure, "[host.instance=standard_d4s_v5 volumes.data={type: premium-ssd-v2, size: 100GiB}]"},
		{"a stripe", []string{"volumes.data={type: gp3, size: 100GiB, stripe: 4}"}, google, "[host.instance=n2-standard-2 volumes.data={type: hyperdisk-balanced, size: 400GiB}]"},
		{"without a machine", []string{"host={cores: 2, memory: 8GiB}"}, google, "[host.instance=n2-standard-2 volumes.data={type: hyperdisk-balanced, size: 100GiB}]"},
	} {
		if got := fmt.Sprint(texts(Translation(parsed(t, small, c.sets...), &c.to))); got != c.want {
			t.Errorf("%s: %s\nwant %s", c.name, got, c.want)
		}
	}
}

// A machine elsewhere has at least the cores and the memory, and no more cores than that takes.
func TestMachineLike(t *testing.T) {
	known := catalog.Embedded()
	for _, c := range []struct {
		now  catalog.InstanceType
		to   Cloud
		want string
	}{
		{catalog.InstanceType{VCPU: 2, Memory: 8 * units.GiB}, aws, "m6i.large"}, {catalog.InstanceType{VCPU: 3, Memory: 8 * units.GiB}, aws, "m6i.xlarge"}, {catalog.InstanceType{VCPU: 2, Memory: 9 * units.GiB}, aws, "m6i.xlarge"},
		{catalog.InstanceType{VCPU: 16, Memory: 64 * units.GiB}, google, "n2-standard-16"}, {catalog.InstanceType{VCPU: 100_000, Memory: units.GiB}, aws, "m6i.32xlarge"},
	} {
		if got := machineLike(known, &c.now, &c.to); got != c.want {
			t.Errorf("%d cores, %s: %s, want %s", c.now.VCPU, c.now.Memory.Exact(), got, c.want)
		}
	}
	if got := machineLike(known, &catalog.InstanceType{VCPU: 64}, &Cloud{Name: "aws", Instance: "none"}); got != "none" {
		t.Errorf("an unknown family: %s", got)
	}
}

// at is a place without a target in the cloud's default region.
func at(c Cloud) Place {
	return Place{Cloud: c, Region: func(*scenario.Scenario) string { return catalog.DefaultRegion(c.Name) }}
}

// Each platform has its own result. The cheapest that meets the objectives is the plan; one that cannot be
// planned is listed with the reason.
func TestMakeEachPlatform(t *testing.T) {
	now := parsed(t, small, "workload.arrivals.poisson=100/s")
	opt := Options{
		Engines:    every.Engines,
		Objectives: []scenario.Bound{{Name: "write_p99", Most: 2e9}},
		Keep:       []string{"engine", "host"},
		Most:       20,
	}
	var begun []string
	p, err := MakeEach(
		t.Context(),
		now,
		"small.yaml",
		opt,
		[]Place{at(google), at(aws), at(Cloud{Name: "gcp", Instance: "n2-standard-2", Volume: "none"})},
		func(platform string) { begun = append(begun, platform) },
	)
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Platforms) != 3 || fmt.Sprint(begun) != "[gcp aws gcp]" {
		t.Fatalf("%d platforms, begun %v", len(p.Platforms), begun)
	}
	there, here, none := p.Platforms[0], p.Platforms[1], p.Platforms[2]
	if there.Chosen == nil || there.Present || there.Chosen.Platform != "gcp" || !here.Present ||
		here.Region != "us-east-1" ||
		none.Problem == "" ||
		strings.Contains(none.Problem, "\n") ||
		none.Chosen != nil {
		t.Errorf("%+v\n%+v\n%+v", there, here, none)
	}
	if least := min(there.Chosen.MonthlyUSD, here.Chosen.MonthlyUSD); p.Chosen.MonthlyUSD != least {
		t.Errorf("chose %v USD, and the cheapest is %v", p.Chosen.MonthlyUSD, least)
	}
	if last := p.Statements[len(p.Statements)-1]; last.Kind != "clouds" {
		t.Errorf("no word about the cost of moving: %+v", last)
	}

	// A single platform that cannot be planned is an error, and so is one that fails.
	if _, err := MakeEach(t.Context(), now, "small.yaml", opt, []Place{at(Cloud{Name: "gcp", Instance: "n2-standard-2", Volume: "none"})}, nil); err == nil {
		t.Error("a volume type that does not exist was planned")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if p, err := MakeEach(ctx, now, "small.yaml", opt, []Place{at(google), at(aws)}, nil); p != nil ||
		!errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v, %v", p, err)
	}
}

// narrow is a platform that has no io2 and keeps its throughput.
type narrow struct{}

func (narrow) Name() string { return "narrow" }

func (narrow) Volume(before, after *catalog.Order) string {
	if after.Type == "io2" {
		return "it has no io2"
	}
	if before != nil && before.Throughput != after.Throughput {
		return "its throughput cannot be changed"
	}
	return ""
}

func (narrow) Value(path string) string {
	if path == "host.instance" {
		return "its machines are fixed"
	}
	return ""
}

// Changes that a platform does not support are not on the grid, and the plan says what was excluded and why.
func TestTarget(t *testing.T) {
	s := made(t, Options{To: narrow{}})
	for _, a := range s.axes {
		for _, o := range a.options[1:] {
			if assigns(o.sets, "volumes.data.throughput") || assigns(o.sets, "host.instance") ||
				o.order != nil && o.order.Type == "io2" {
				t.Errorf("%s: %v is not feasible", a.path, texts(o.sets))
			}
		}
	}

	p := &planner{opt: &Options{To: narrow{}}, space: s}
	got := p.targetStatements()
	if len(got) != 1 || got[0].Kind != "target" ||
		!strings.HasPrefix(got[0].Text, "layouts that are not feasible on narrow were excluded: ") {
		t.Fatalf("%+v", got)
	}
	for _, why := range []string{"it has no io2", "its throughput cannot be changed", "its machines are fixed"} {
		if strings.Count(got[0].Text, why) != 1 {
			t.Errorf("%q is not said once: %s", why, got[0].Text)
		}
	}

	s.barriers = nil
	if got := p.targetStatements(); got != nil {
		t.Errorf("nothing was excluded: %+v", got)
	}
}

// A deployment that its target does not support is refused, with the two ways to plan for another cloud.
func TestPlaced(t *testing.T) {
	_, err := makeSpace(
		parsed(t, small, "volumes.data={type: io2, size: 100GiB, iops: 1000}"),
		&Options{Engines: every.Engines, To: narrow{}},
	)
	var input *InputError
	if !errors.As(err, &input) || err.Error() != "--platform narrow: volumes.data is io2: it has no io2" ||
		input.Hint() != "leave --platform out, or name the platform that has these volumes" {
		t.Errorf("%v (%q)", err, input.Hint())
	}

	m := &spaceMaker{now: parsed(t, small)}
	if got := m.placedHint("gcp"); !strings.HasPrefix(got, "--platform aws,gcp compares the two") ||
		!strings.Contains(got, "--new --platform gcp plans it there") {
		t.Error(got)
	}
	for name, want := range map[string]bool{"aws": true, "gcp": true, "azure": true, "kubernetes": false, "": false} {
		if got := isCloud(name); got != want {
			t.Errorf("%q is a cloud: %v", name, got)
		}
	}
}
