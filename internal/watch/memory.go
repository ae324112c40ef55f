package watch

import (
	"math"
	"os"
	"runtime/metrics"
	"strconv"
	"strings"
)

// processMemory returns this process's heap size and its resident memory, in bytes; NaN if unknown.
func processMemory() (heap, resident float64) {
	s := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(s)
	heap, resident = math.NaN(), math.NaN()

	if s[0].Value.Kind() == metrics.KindUint64 {
		heap = float64(s[0].Value.Uint64())
	}

	// proc(5): the second field of statm is the resident set, in pages.
	if text, err := os.ReadFile("/proc/self/statm"); err == nil {
		if fields := strings.Fields(string(text)); len(fields) > 1 {
			if pages, err := strconv.ParseFloat(fields[1], 64); err == nil {
				resident = pages * float64(os.Getpagesize())
			}
		}
	}

	return heap, resident
}
