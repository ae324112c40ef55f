//go:build !unix

package watch

import "time"

// A Cost is what this process has used.
type Cost struct {
	CPU       time.Duration
	PeakBytes int64
}

// ProcessCost is not available on this system.
func ProcessCost() (Cost, bool) { return Cost{}, false }
