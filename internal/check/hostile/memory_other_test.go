//go:build !linux

package hostile

import "testing"

// peakMemory is known on Linux only.
func peakMemory(*testing.T) int64 { return 0 }
