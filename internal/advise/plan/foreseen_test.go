package plan

import (
	"errors"
	"reflect"
	"strings"
	"testing"
)

// coldIRIS reads all blocks of its databases into memory within ten seconds, and the volume falls
// behind meanwhile: its warm-up looks as nothing does after it.
const coldIRIS = `
plimsoll: 1
run: {duration: 2min, warmup: 8s}
host: {instance: r5n.8xlarge}
volumes:
  data: {type: gp3, size: 1000GiB, iops: 3000}
  wij: {type: gp3, size: 10GiB, throughput: 250MiB/s}
engine:
  iris: {database: 300MiB, buffers: 400MiB, cycle: 60s}
workload:
  arrivals: {poisson: 4500/s}
  mix: {read: 95%, update: 5%}
  keys: {distribution: uniform}
`

// TestForeseenIsRefuted: where the present deployment's warm-up foretells a miss and its run meets the
// objective all the same, the plan is made again without foreseeing anything.
func TestForeseenIsRefuted(t *testing.T) {
	now := parsed(t, coldIRIS)
	want, err := ParseObjective("read_p99 < 5ms")
	if err != nil {
		t.Fatal(err)
	}
	opt := Options{Keep: []string{"volumes.wij", "volumes.data", "instance"}}
	opt.Objectives = append(opt.Objectives, want)
	p := &planner{now: now, opt: &opt}
	if err := p.prepare(); err != nil {
		t.Fatal(err)
	}
	if err := p.look(t.Context()); !errors.Is(err, errRefuted) {
		t.Fatalf("%v, want a refuted warm-up: this tests nothing", err)
	}
	got, err := Make(t.Context(), now, "cold", opt)
	if err != nil {
		t.Fatal(err)
	}
	opt.certain = true
	certain, err := Make(t.Context(), now, "cold", opt)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, certain) || got.Chosen == nil || len(got.Chosen.Changes) > 0 {
		t.Errorf("%+v\nwithout foreseeing anything: %+v", got, certain)
	}
}

// TestForeseenIsSaid: a layout that its warm-up rejects is rejected for that, in words.
func TestForeseenIsSaid(t *testing.T) {
	now := parsed(t, strings.Replace(small, "warmup: 1s", "warmup: 6s", 1))
	want, err := ParseObjective("write_p99 < 5ms")
	if err != nil {
		t.Fatal(err)
	}
	opt := Options{Keep: []string{"volumes.data", "instance"}, Most: 20}
	opt.Objectives = append(opt.Objectives, want)
	p, err := Make(t.Context(), now, "small", opt)
	if err != nil {
		t.Fatal(err)
	}
	said := 0
	for _, r := range p.Rejected {
		if strings.Contains(r.Reason, "operations already in the warm-up") && !strings.Contains(r.Reason, " -") {
			said++
		}
	}
	if said == 0 {
		t.Errorf("%d rejected, none by its warm-up: %+v", len(p.Rejected), p.Rejected[0])
	}
}
