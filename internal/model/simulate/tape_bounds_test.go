package simulate

import (
	"testing"

	"plimsoll/internal/model/workload"
)

// TestTapeIsBounded: operations beyond the tape's bound are drawn again by each run.
func TestTapeIsBounded(t *testing.T) {
	for _, op := range []workload.Op{{At: 1 << 40}, {Size: 1 << 40}, {Document: 1 << 40}} {
		tp := &tape{}
		tp.add(&workload.Op{})
		if tp.add(&op); !tp.over || tp.chunks != nil {
			t.Errorf("%+v: on the tape", op)
		}
	}
	tp := &tape{n: tapeMax}
	if tp.add(&workload.Op{}); !tp.over {
		t.Errorf("a tape of more than %d operations", tapeMax)
	}
}
