//go:build linux

package disk

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"plimsoll/internal/base/units"
)

// parseAvailable finds MemAvailable in the text of /proc/meminfo, which is in KiB.
func parseAvailable(meminfo string) (units.Size, error) {
	for line := range strings.Lines(meminfo) {
		rest, ok := strings.CutPrefix(line, "MemAvailable:")
		if !ok {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 53)
		if err != nil || n < 0 {
			return 0, fmt.Errorf("available memory: /proc/meminfo contains %q", strings.TrimSpace(line))
		}
		return units.Size(n) * units.KiB, nil
	}
	return 0, errors.New("available memory: /proc/meminfo has no MemAvailable")
}
