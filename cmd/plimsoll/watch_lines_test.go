package main

import (
	"log/slog"
	"strings"
	"testing"
	"time"
)

// On a terminal, a stall is one line, its cause another, and its end a third. Symptoms are on the page.
func TestWatchLines(t *testing.T) {
	var b strings.Builder
	zone := time.FixedZone("CEST", 7200)
	log := slog.New(&lineHandler{w: &b, zone: zone, hide: func(s string) string { return strings.ReplaceAll(s, "secret", "xxx") }})

	log.Info("Listening on", "address", "127.0.0.1:9899")
	log.Warn("clients are stalled", "event", "stall", "subject", "PostgreSQL commits", "since", time.Now(), "latency", "231 ms", "usual", "2.00 ms")
	log.Error("Commits stall", "event", "found", "kind", "symptom", "severity", "critical", "subject", "PostgreSQL commits")
	log.Error("Checkpoints stall commits", "event", "found", "rule", "postgres/checkpoint-burst", "kind", "cause", "severity", "critical",
		"subject", "postgres", "share", 1.0, "summary", "long", "fix", "Pace it")
	log.Info("Checkpoints stall commits", "event", "ended", "kind", "cause", "severity", "critical", "subject", "postgres")
	log.Info("the stall is over", "event", "stall", "subject", "PostgreSQL commits", "lasted", "12.0 s", "worst", "275 ms")
	log.Warn("cannot read the source; retrying", "source", "postgres://u:secret@h\n/", "pause", "1s")

	want := []string{
		"page   http://127.0.0.1:9899/",
		"STALL  PostgreSQL commits 231 ms instead of 2.00 ms",
		"cause  Checkpoints stall commits (postgres), in 100 % of the stall. Fix: Pace it",
		"over   PostgreSQL commits, after 12.0 s, worst 275 ms",
		"cannot read the source; retrying (source postgres://u:xxx@h /, pause 1s)",
	}
	lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	if len(lines) != len(want) {
		t.Fatalf("%d lines, want %d:\n%s", len(lines), len(want), b.String())
	}
	for i, line := range lines {
		if _, err := time.Parse("15:04:05", line[:8]); err != nil || line[10:] != want[i] {
			t.Errorf("line %d is %q, want the time and %q", i, line, want[i])
		}
	}
}
