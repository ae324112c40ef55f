package enginetest

import (
	"strings"
	"testing"
	"time"

	"plimsoll/internal/base/random"
	"plimsoll/internal/base/vtime"
	"plimsoll/internal/model/database"
	"plimsoll/internal/model/volume"
	"plimsoll/internal/model/workload"
)

// faulty acknowledges everything after a millisecond, except for one fault.
type faulty struct {
	fault  string
	env    database.Env
	n      int
	ops    []workload.Op
	sample int
}

func (f *faulty) Do(op workload.Op) {
	f.ops = append(f.ops, op)
	f.env.Clock.After(time.Millisecond, f, uint64(len(f.ops)-1))
}

func (f *faulty) Fire(now vtime.Instant, i uint64) {
	f.n++
	op, w := f.ops[i], database.Waits{database.WaitCPU: 1e6}

	odd := f.n == 500
	switch {
	case f.fault == "lost" && odd:
		return
	case f.fault == "acknowledged" && odd:
		f.env.Client.Done(now, &op, &w)
	case f.fault == "changed" && odd:
		op.Key++
	case f.fault == "time" && odd:
		now++
	case f.fault == "waits" && odd:
		w[database.WaitRead] = 1
	case f.fault == "two runs" && odd && f.sample > 3:
		w[database.WaitCPU]--
	}

	f.env.Client.Done(now, &op, &w)
}

func (f *faulty) Metrics() []database.Metric {
	name := "operations_total"
	switch {
	case f.fault == "names" && f.n > 500:
		name = "others"
	case f.fault == "names no series":
		name = "2much"
	}
	return []database.Metric{{Name: name, Labels: []string{"kind", "all"}}}
}

func (f *faulty) Sample(values []float64) {
	f.sample++
	values[0] = float64(f.n)
	switch {
	case f.fault == "sample":
		values[0] = float64(f.sample)
	case f.fault == "counter" && f.n > 500:
		values[0] = 1
	}
}

func (f *faulty) Cycles() []database.Cycle {
	c := []database.Cycle{{Start: 1, End: 2}, {Start: 5, End: vtime.Never}}
	if f.fault == "cycles" {
		c[1].Start = 1
	}
	return c
}

// The suite passes an engine without a fault and finds each fault individually.
func TestFaultsAreFound(t *testing.T) {
	for _, fault := range []string{"", "lost", "acknowledged", "changed", "time", "waits", "two runs", "names", "names no series", "sample", "counter", "cycles"} {
		c := Case{
			Volumes: []string{"data"}, For: 10 * time.Second,
			New: func(env database.Env) (database.Model, error) { return &faulty{fault: fault, env: env}, nil },
			Op: func(_ uint64, chance *random.Stream) workload.Op {
				return workload.Op{Kind: workload.Update, Key: chance.Below(10)}
			},
		}
		got := strings.Join(Check(c, volume.Config{}), "\n")
		sort, _, _ := strings.Cut(fault, " no ")
		if fault == "" && got != "" || !strings.Contains(got, sort) {
			t.Errorf("fault %q: found %q", fault, got)
		}
	}
}
