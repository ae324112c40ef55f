package simulate_test

import (
	"math"
	"testing"

	"plimsoll/internal/base/units"
	"plimsoll/internal/model/scenario"
	"plimsoll/internal/model/simulate"
)

// unhurried has checkpoints that its volume does not notice.
const unhurried = `
plimsoll: 1
run: {duration: 200s, warmup: 10s}
host: {cores: 2, memory: 8GiB}
volumes:
  data: {type: gp3, size: 100GiB}
engine:
  wiredtiger: {cache: 256MB, checkpoint: 3s, log_bytes: 300B, oplog: false}
workload:
  arrivals: {poisson: 2000/s}
  mix: {update: 100%}
  keys: {count: 2000}
  document: {size: 1KiB}
`

// TestEnough: a run ends early if its cycles are alike and nothing grows, and its percentiles are
// those of the whole run; otherwise it goes to its end.
func TestEnough(t *testing.T) {
	second := units.Duration(1e9)
	met := []scenario.Bound{{Name: "write_p99", Most: second}}
	for _, c := range []struct {
		name  string
		sets  []string
		want  []scenario.Bound
		early bool
	}{
		{"alike", nil, met, true},
		{"a maximum", nil, []scenario.Bound{{Name: "write_p99", Most: second}, {Name: "write_max", Most: second}}, false},
		{"misses, but not for certain", nil, []scenario.Bound{{Name: "write_p99", Most: 100_000}}, false},
		{"credits that run out later", []string{"volumes.data={type: custom, size: 100GiB, iops: 100, latency: {like: gp3}, burst: {iops: 3000, for: 50s}}"}, met, false},
		{"a backlog", []string{"workload.arrivals={poisson: 2000/s}", "volumes.data={type: custom, size: 100GiB, iops: 3000, throughput: 500KB/s, latency: {like: gp3}}"}, []scenario.Bound{{Name: "write_p99", Most: 3600 * second}}, false},
		{"a stall in every tenth cycle", []string{"engine.wiredtiger.checkpoint=30s", "workload.keys={count: 200000}"}, met, false},
		{"an engine that does not know its debts", []string{"engine={postgres: {checkpoint_timeout: 30s}}", "volumes.wal={type: gp3, size: 10GiB}"}, met, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			sc, err := language.Parse("unhurried.yaml", []byte(unhurried), c.sets)
			if err != nil {
				t.Fatal(err)
			}
			got, err := simulate.Run(t.Context(), sc, simulate.Options{Enough: &simulate.Enough{Bounds: c.want}})
			if err != nil {
				t.Fatal(err)
			}
			if early := got.Seconds < got.FullSeconds; early != c.early {
				t.Fatalf("measured %v of %v s", got.Seconds, got.FullSeconds)
			}
			if !c.early {
				return
			}
			whole, err := simulate.Run(t.Context(), sc, simulate.Options{})
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range []string{"write_p50", "write_p99"} {
				x, y := *got.Figure(name), *whole.Figure(name)
				if math.Abs(x/y-1) > simulate.EnoughWithin {
					t.Errorf("%s %v in %v s, %v in all", name, x, got.Seconds, y)
				}
			}
		})
	}
}
