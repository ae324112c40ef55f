//go:build !unix

package ftdc

import "testing"

func cpuSeconds() float64 { return 0 }

func reportCPU(*testing.B, int64, float64) {}
