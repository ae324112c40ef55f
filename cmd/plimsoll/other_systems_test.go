//go:build !linux

package main

import (
	"context"
	"strings"
	"testing"
)

// labAvailable reports whether volumes can be mounted here.
func labAvailable() bool { return false }

// unmountBelow has nothing to do on systems without mounts.
func unmountBelow(*testing.T, string) {}

// Commands that need Linux say so, and name an alternative.
func TestLinuxOnly(t *testing.T) {
	for _, verb := range []string{"lab", "probe"} {
		a, stdout, stderr := testApp(verb, "run", "--flag")
		if code := a.run(context.Background()); code != exitFailure || stdout.Len() > 0 || !strings.Contains(stderr.String(), "needs") || !strings.Contains(stderr.String(), "hint: ") {
			t.Errorf("%s: exit code %d, stderr %q", verb, code, stderr)
		}
	}
}
