package main

import (
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// On a terminal, a stall is one line, its cause another, and its end a third. Symptoms are on the page.
func TestWatchLines(t *testing.T) {
	var b strings.Builder
	h := &lineHandler{w: &b, zone: time.FixedZone("CEST", 7200),
		hide: func(s string) string { return strings.ReplaceAll(s, "secret", "xxx") }}
	at := time.Date(2026, 7, 20, 13, 57, 21, 0, time.UTC)
	log := func(after time.Duration, level slog.Level, message string, args ...any) {
		t.Helper()
		r := slog.NewRecord(at.Add(after), level, message, 0)
		r.Add(args...)
		if err := h.Handle(t.Context(), r); err != nil {
			t.Error(err)
		}
	}

	log(0, slog.LevelInfo, "Listening on", "address", "127.0.0.1:9814")
	log(37*time.Second, slog.LevelWarn, "clients are stalled", "event", "stall", "subject", "PostgreSQL commits",
		"since", at, "latency", "231 ms", "usual", "2.00 ms")
	log(43*time.Second, slog.LevelError, "Commits stall", "event", "found", "kind", "symptom", "severity", "critical",
		"subject", "PostgreSQL commits")
	log(43*time.Second, slog.LevelError, "Checkpoints stall commits", "event", "found", "rule", "postgres/checkpoint-burst",
		"kind", "cause", "severity", "critical", "subject", "postgres", "share", 1.0, "summary", "long", "fix", "Pace it")
	log(59*time.Second, slog.LevelInfo, "Checkpoints stall commits", "event", "ended", "kind", "cause",
		"severity", "critical", "subject", "postgres")
	log(59*time.Second, slog.LevelInfo, "the stall is over", "event", "stall", "subject", "PostgreSQL commits",
		"lasted", "12.0 s", "worst", "275 ms")

	want := `15:57:21  page   http://127.0.0.1:9814/
15:57:58  STALL  PostgreSQL commits 231 ms instead of 2.00 ms
15:58:04  cause  Checkpoints stall commits (postgres), in 100 % of the stall. Fix: Pace it
15:58:20  over   PostgreSQL commits, after 12.0 s, worst 275 ms
`
	if b.String() != want {
		t.Errorf("the lines are\n%s\nwant\n%s", b.String(), want)
	}

	// The guide shows these lines.
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "watch.md"))
	if err != nil {
		t.Fatal(err)
	}
	if shown := regexp.MustCompile("(?m)^").ReplaceAllString(strings.TrimSuffix(want, "\n"), "    "); !strings.Contains(string(page), shown) {
		t.Errorf("docs/watch.md does not show these lines:\n%s", shown)
	}

	b.Reset()
	log(0, slog.LevelWarn, "cannot read the source; retrying", "source", "postgres://u:secret@h\n/", "pause", "1s")
	if want := "15:57:21  cannot read the source; retrying (source postgres://u:xxx@h /, pause 1s)\n"; b.String() != want {
		t.Errorf("the line is %q, want %q", b.String(), want)
	}
}
