package simulate_test

import (
	"strings"
	"testing"

	"plimsoll/internal/model/simulate"
)

// TestCaveats: figures within an objective do not meet it if a run shows that they will not last.
func TestCaveats(t *testing.T) {
	const met, one = "objective.write_p99=10s", "engine.mongodb.checkpoint=4s"
	const night = "workload.arrivals={daily: {low: 0/s, high: 600/s, period: 4min}}"

	burst := func(lasts string) string {
		return "volumes.data={type: custom, size: 50GiB, iops: 350, latency: {like: gp3}, burst: {iops: 3000, for: " + lasts + "}}"
	}
	for _, c := range []struct {
		name, kind, says string
		sets             []string
	}{
		{"nothing", "", "", []string{met}},
		{"a saturated processor", simulate.Processor, "the processor is saturated", []string{met, "host.cores=1", "engine.mongodb.cpu.operation=1200us"}},
		{"a saturated quota", simulate.Processor, "the processor is saturated", []string{met, "host.cores=8", "host.cpu_quota=100%", "engine.mongodb.cpu.operation=1200us"}},
		{"cores without time for the load", simulate.Processor, "the processor is saturated", []string{met, "host.cores=1", "engine.mongodb.cpu.operation=4ms"}},
		{"one checkpoint", simulate.Few, "one checkpoint", []string{met, one}},
		{"one checkpoint of a workload that only reads", "", "", []string{"objective.read_p99=10s", one, "workload.mix={read: 100%}"}},
		{"credits run out", simulate.Burst, "credits run out after", []string{met, burst("1h")}},
		{"credits return at night", "", "", []string{met, burst("1h"), night, "run.warmup=118s"}},
	} {
		sc, err := language.Parse("unpaced.yaml", []byte(unpaced), c.sets)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}

		r, err := simulate.Run(t.Context(), sc, simulate.Options{})
		if err != nil {
			t.Fatal(err)
		}

		kind := ""
		if x := r.Caveat(); x != nil {
			kind = x.Kind
		}

		o := r.Objectives[0]
		if kind != c.kind || o.Met != (c.kind == "") || !strings.Contains(o.Caveat, c.says) {
			t.Errorf("%s: caveats %+v, objective %+v", c.name, r.Caveats, o)
		}

		if text := r.Judge(sc.Objective.Bounds()); (text == "") != o.Met {
			t.Errorf("%s: judged %q", c.name, text)
		}
	}
}

// TestMinorityOfCredits: a cluster does not wait for a minority whose credits run out, but it does wait
// for its leader and for a majority.
func TestMinorityOfCredits(t *testing.T) {
	const small = "{volumes: {wal: {type: gp2, size: 33GiB}}}"
	for members, want := range map[string]bool{
		"members={3: " + small + "}":                                     false,
		"members={1: " + small + "}":                                     true,
		"members={3: " + small + ", 4: " + small + "}":                   false,
		"members={3: " + small + ", 4: " + small + ", 5: " + small + "}": true,
	} {
		sc, err := language.Load("../../../examples/scenarios/etcd.yaml", []string{"run={duration: 5s, warmup: 1s}", members})
		if err != nil {
			t.Fatal(err)
		}
		r, err := simulate.Run(t.Context(), sc, simulate.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if c := r.Caveat(); (c != nil) != want {
			t.Errorf("%s: %+v", members, r.Caveats)
		}
	}
}
