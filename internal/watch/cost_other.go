//go:build !unix

package watch

import "time"

// A Cost is the resources used by this process.
type Cost struct {
	CPU       time.Duration
	PeakBytes int64
}

// ProcessCost is not available on this system.
func ProcessCost() (Cost, bool) { return Cost{}, false }
