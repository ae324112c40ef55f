package main

import (
	"strings"
	"testing"
	"time"
)

// An error about a time relative to now suggests the time relative to the end of the capture.
func TestRelativeTimeOfAnOldCapture(t *testing.T) {
	o := &sourceOptions{zone: time.UTC, from: "-2h", fromAt: time.Date(2026, 11, 22, 19, 0, 0, 0, time.UTC)}
	end := time.Date(2026, 7, 20, 15, 55, 0, 0, time.UTC)
	for length, want := range map[time.Duration]string{
		24 * time.Hour: "--from -2h counts from now; leave it out for all of it, or give --from 2026-07-20T13:55:00Z for its last 2h",
		time.Hour:      "--from -2h counts from now; leave it out for all of it",
	} {
		if got := o.insteadOf(&spans{from: end.Add(-length), to: end}); got != want {
			t.Errorf("%s: %q, want %q", length, got, want)
		}
	}
	o.to = "-1h"
	if got := o.insteadOf(&spans{from: end, to: end}); strings.Contains(got, "for its last") {
		t.Errorf("with --to: %q", got)
	}
}
