package plan

import (
	"testing"

	iris "plimsoll/internal/engine/iris/model"
	"plimsoll/internal/model/scenario"
	"plimsoll/internal/model/simulate"
)

// TestFirstReads counts them the plain way.
func TestFirstReads(t *testing.T) {
	file := language.NewFile("iris.yaml", []byte(smallIRIS))
	for _, size := range []string{"64MiB", "256MiB", "8GiB"} {
		sc, err := file.Parse([]string{"engine.iris.database=" + size})
		if err != nil {
			t.Fatal(err)
		}
		come, blocks := simulate.Come(sc), uint64(scenario.ConfigOf[*iris.Config](sc).Database/iris.BlockSize)
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
		if got := firstReads(sc, come); !known || want < 100 || got != want {
			t.Errorf("databases of %s: %d, want %d", size, got, want)
		}
	}
}
