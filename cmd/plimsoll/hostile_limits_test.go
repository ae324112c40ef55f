//go:build linux

package main

import (
	"fmt"
	"strings"
	"testing"
)

// TestFewResources starts the program with few files and with little memory. Either it works, or
// it says why not in one line.
func TestFewResources(t *testing.T) {
	for _, limit := range []string{"-n 24", "-v 1200000", "-v 1600000", "-v 2500000"} {
		o := triedAs(t, nil, nil, "sh", "-c", fmt.Sprintf(`ulimit %s; exec plimsoll simulate %s --set run.duration=1h`, limit, "nosuch.yaml"))
		if strings.Contains(limit, "-v") {
			o = triedAs(t, nil, nil, "sh", "-c", fmt.Sprintf(`ulimit %s; exec plimsoll catalog show gp3`, limit))
		}
		lines := strings.Count(strings.TrimSpace(o.errors), "\n") + 1
		if why := o.wrong(); why != "" || o.code != exitFine && lines > 2 {
			t.Errorf("ulimit %s: %s, %d lines: %d: %.500s", limit, why, lines, o.code, o.text)
		}
	}
}
