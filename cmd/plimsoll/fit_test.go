package main

import (
	"regexp"
	"testing"
)

// An unknown sample does not hide the others: the recording begins before the first page of the exporter.
func TestFitSaysHowMuchWasDirty(t *testing.T) {
	a, stdout, stderr := testApp("fit", "../../examples/postgres-checkpoint")
	if code := a.run(t.Context()); code != exitFine {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	if !regexp.MustCompile(`held at\s+(#\s+)?most 512 MB of dirty data`).MatchString(stdout.String()) {
		t.Errorf("no word of the dirty data:\n%s", stdout)
	}
}
