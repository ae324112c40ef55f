package rules_test

import (
	"testing"
	"time"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// A result that several rules need is computed once per case. A slice of the case covers a different stretch
// of time, so it has its own result.
func TestOnce(t *testing.T) {
	grid := timeline.NewGrid(time.Unix(0, 0), time.Unix(10, 0), time.Second)
	c := rules.NewCase(nil, grid, func(*rules.Signal) []timeline.Track { return nil })

	computed := map[string]int{}
	cells := func(c *rules.Case, name string) int {
		return rules.Once(c, name, func() int {
			computed[name]++
			return c.Grid.N
		})
	}

	for range 3 {
		if n := cells(c, "cells"); n != grid.N {
			t.Errorf("the case has %d cells, want %d", n, grid.N)
		}
	}
	cells(c, "another")
	if computed["cells"] != 1 || computed["another"] != 1 {
		t.Errorf("computed %v times, want each once", computed)
	}

	part := c.Slice(2, 5)
	if n := cells(part, "cells"); n != 4 {
		t.Errorf("the slice has %d cells, want 4", n)
	}
	if n := cells(c, "cells"); n != grid.N || computed["cells"] != 2 {
		t.Errorf("after the slice: %d cells, computed %v times", n, computed)
	}
}
