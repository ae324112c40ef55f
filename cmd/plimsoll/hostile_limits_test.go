//go:build linux

package main

import (
	"fmt"
	"strings"
	"testing"
)

// TestFewFiles starts the program with very few file descriptors. If there are too few, it says so
// in one line, whichever library opens files before main.
func TestFewFiles(t *testing.T) {
	refused := 0

	// With three, the loader of a test built with cgo cannot even open the C library.
	for limit := 4; limit <= 16; limit++ {
		o := triedAs(t, nil, nil, "sh", "-c", fmt.Sprintf(`ulimit -n %d; exec plimsoll catalog show gp3`, limit))
		if why := o.wrong(); why != "" || strings.Count(o.errors, "\n") > 1 {
			t.Errorf("ulimit -n %d: %s, exit code %d: %.500s", limit, why, o.code, o.text)
		}
		if o.code != exitFine {
			refused++
			if !strings.Contains(o.errors, "ulimit -n") {
				t.Errorf("ulimit -n %d: exit code %d without the limit's name: %.500s", limit, o.code, o.text)
			}
		}
	}
	if refused == 0 {
		t.Error("the program works with four files, three of which are its own streams: is the limit set?")
	}
}

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
