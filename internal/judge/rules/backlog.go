package rules

import (
	"math"
)

const (
	// MinBacklogBytes is how much the page cache must hold for a flush of it to count.
	MinBacklogBytes = 20e6
	// TolerableStallS is the stall in seconds that a bound on dirty bytes allows.
	TolerableStallS = 0.5
	// MinFlushRate is the bytes per second above which a rate means something.
	MinFlushRate = 1e6
)

// BackgroundBytes is the recommended bound on dirty bytes for a volume with this rate, in whole
// MiB.
func BackgroundBytes(rate float64) float64 {
	return max(1, math.Round(rate*TolerableStallS/MiB)) * MiB
}
