package advise_test

import (
	"testing"

	"plimsoll/internal/engine/iris/advise"
	"plimsoll/internal/engine/iris/model"
	"plimsoll/internal/model/scenario"
	"plimsoll/internal/model/simulate"
)

const reading = `
plimsoll: 1
run: {duration: 2s, warmup: 300ms}
host: {instance: r5n.8xlarge}
volumes:
  data: {type: gp3, size: 1000GiB, iops: 9000}
  wij: {type: gp3, size: 10GiB, throughput: 250MiB/s}
engine:
  iris: {database: 8GiB, buffers: 64MiB, cycle: 1s}
workload:
  arrivals: {poisson: 5500/s}
  mix: {read: 80%, update: 20%}
  keys: {distribution: uniform}
`

// TestFirstReads compares the result with a simple count.
func TestFirstReads(t *testing.T) {
	file := scenario.NewLanguage([]*scenario.Engine{&model.Spec}, nil).NewFile("iris.yaml", []byte(reading))
	for _, size := range []string{"64MiB", "256MiB", "8GiB"} {
		sc, err := file.Parse([]string{"engine.iris.database=" + size})
		if err != nil {
			t.Fatal(err)
		}

		come, blocks := simulate.ArrivalsOf(sc), uint64(scenario.ConfigOf[*model.Config](sc).Database/model.BlockSize)
		before, within := map[uint64]bool{}, map[uint64]bool{}
		known := come.Each(func(key uint64, measured bool) {
			if measured {
				within[key%blocks] = true
			} else {
				before[key%blocks] = true
			}
		})

		want := int64(0)
		for b := range within {
			if !before[b] && (b == 0 || !before[b-1] && !within[b-1]) {
				want++
			}
		}

		if got := advise.Plan(sc).FirstReads(come); !known || want < 100 || got != want {
			t.Errorf("databases of %s: %d, want %d", size, got, want)
		}
	}
}
