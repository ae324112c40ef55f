package model

import (
	"testing"

	"plimsoll/internal/base/random"
)

// A write takes the beginning of the shortest free extent that fits, and among equal ones the first in
// the file. Neighbours are merged.
func TestBlocks(t *testing.T) {
	var b blocks
	if _, ok := b.take(1); ok {
		t.Error("a new file has free space")
	}

	for _, x := range [][2]int32{{0, 4}, {10, 2}, {20, 2}, {4, 2}, {30, 9}} {
		b.give(x[0], x[1])
	}

	// Now 0 to 6, 10, 20 and 30 are free.
	for _, x := range [][2]int32{{2, 10}, {1, 20}, {1, 21}, {5, 0}, {1, 5}, {9, 30}} {
		if at, ok := b.take(x[0]); !ok || at != x[1] {
			t.Errorf("%d units at %d, %v: not at %d", x[0], at, ok, x[1])
		}
	}

	if at, ok := b.take(1); ok {
		t.Errorf("%d is free at the end", at)
	}
}

// No unit is handed out twice or lost, whatever the order of frees.
func TestBlocksKeepAll(t *testing.T) {
	const units = 4 * lengthsMax
	var b blocks
	b.give(0, units)
	chance := random.Seed(1).Stream("blocks")
	owned := make([]bool, units)

	var taken [][2]int32
	for range 20_000 {
		n := int32(1 + chance.Below(40))
		if at, ok := b.take(n); ok && chance.Below(2) == 0 || ok && len(taken) == 0 {
			for i := at; i < at+n; i++ {
				if owned[i] {
					t.Fatalf("unit %d is taken twice", i)
				}
				owned[i] = true
			}
			taken = append(taken, [2]int32{at, n})
		} else if ok {
			b.give(at, n)
		}

		if i := int(chance.Below(uint64(len(taken) + 1))); i < len(taken) && chance.Below(2) == 0 {
			x := taken[i]
			taken[i] = taken[len(taken)-1]
			taken = taken[:len(taken)-1]
			for k := x[0]; k < x[0]+x[1]; k++ {
				owned[k] = false
			}
			b.give(x[0], x[1])
		}
	}

	for _, x := range taken {
		b.give(x[0], x[1])
	}

	if at, ok := b.take(units); !ok || at != 0 {
		t.Errorf("the free space is not a single extent again: %d, %v", at, ok)
	}
}
