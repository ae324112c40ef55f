package watch_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/watch"
)

var noon = time.Date(2026, 7, 20, 12, 0, 0, 0, time.UTC)

// Each line is one diagnosis: the severities of findings a and b (c: critical, w: warning, i: info,
// -: none), and what is reported.
func TestTracker(t *testing.T) {
	for name, script := range map[string]string{
		"a warning is reported once confirmed": `
			w- | 
			w- | found a warning
			w- | 
			-- | 
			-- | ended a warning
			-- | `,
		"a finding that comes and goes is not reported": `
			w- | 
			-- | 
			w- | 
			-- | 
			-i | 
			-- | `,
		"a critical finding is reported immediately, its end once confirmed": `
			c- | found a critical
			-- | 
			c- | 
			-- | 
			-- | ended a critical`,
		"worse immediately, better once confirmed": `
			i- | 
			i- | found a info
			w- | worse a warning
			c- | worse a critical
			w- | 
			c- | 
			w- | 
			w- | better a warning
			i- | 
			i- | better a info`,
		"two in one diagnosis, the worse one first": `
			wc | found b critical
			wc | found a warning
			-- | 
			-- | ended b critical, ended a warning`,
	} {
		t.Run(name, func(t *testing.T) {
			tr := watch.NewTracker()
			at := noon
			for i, line := range strings.Split(strings.TrimSpace(script), "\n") {
				given, want, _ := strings.Cut(strings.TrimSpace(line), "|")
				at = at.Add(30 * time.Second)
				var reported []string
				for _, c := range tr.Observe(at, findings(strings.TrimSpace(given))) {
					reported = append(reported, fmt.Sprintf("%s %s %s", c.Event, c.Finding.Subject, c.Finding.Severity))
				}
				if got := strings.Join(reported, ", "); got != strings.TrimSpace(want) {
					t.Errorf("diagnosis %d (%s): reported %q, want %q", i+1, given, got, strings.TrimSpace(want))
				}
			}
		})
	}
}

// findings parses a line of the script.
func findings(line string) (out []diagnose.Finding) {
	for i, severity := range line {
		s := map[rune]diagnose.Severity{'c': diagnose.Critical, 'w': diagnose.Warning, 'i': diagnose.Info}[severity]
		if s != "" {
			out = append(out, diagnose.Finding{Rule: "disk/iops-capped", Subject: string(rune('a' + i)), Severity: s, Kind: diagnose.Cause})
		}
	}
	return out
}

// For any sequence of diagnoses: an end follows a beginning, each change continues from the
// previous severity, and the states are the findings whose end has not been reported.
func TestTrackerIsConsistent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tr := watch.NewTracker()
		as := map[string]diagnose.Severity{}
		for i := range rapid.IntRange(1, 60).Draw(t, "diagnoses") {
			line := rapid.StringOfN(rapid.RuneFrom([]rune("cwi---")), 4, 4, -1).Draw(t, "findings")
			for _, c := range tr.Observe(noon.Add(time.Duration(i)*30*time.Second), findings(line)) {
				subject := c.Finding.Subject
				was, known := as[subject]
				if (c.Event == watch.Found) == known || c.Before != was {
					t.Fatalf("%s of %s, which was %q but is reported as having been %q", c.Event, subject, was, c.Before)
				}

				if c.Event == watch.Ended {
					delete(as, subject)
				} else {
					as[subject] = c.Finding.Severity
				}

				if c.Since.After(c.At) {
					t.Fatalf("%s holds since %s, after %s", subject, c.Since, c.At)
				}
			}

			if n := len(tr.States()); n != len(as) {
				t.Fatalf("%d states, %d were reported", n, len(as))
			}
		}
	})
}

// A finding begins with its first window, not when it was first noticed.
func TestTrackerSince(t *testing.T) {
	tr := watch.NewTracker()
	f := diagnose.Finding{Rule: "r", Severity: diagnose.Critical, Windows: []diagnose.Span{
		{From: noon.Add(-time.Minute), To: noon}, {From: noon.Add(-5 * time.Minute), To: noon.Add(-4 * time.Minute)}}}
	c := tr.Observe(noon, []diagnose.Finding{f})
	if len(c) != 1 || !c[0].Since.Equal(noon.Add(-5*time.Minute)) {
		t.Errorf("changes %+v", c)
	}
}

// A checkpoint that hits the volume's limit is listed before the limit, regardless of their names
// and even if their weights hardly differ: the line about a stall shows the first cause.
func TestTrackerOrdersByOrigin(t *testing.T) {
	tr := watch.NewTracker()
	found := []diagnose.Finding{
		{Rule: "disk/iops-capped", Subject: "sda", Severity: diagnose.Critical, Kind: diagnose.Cause, Weight: 1},
		{Rule: "disk/not-the-cause", Subject: "sdb", Severity: diagnose.Critical, Kind: diagnose.Refutation, Weight: 1},
		{Rule: "postgres/checkpoint-burst", Subject: "postgres", Severity: diagnose.Critical, Kind: diagnose.Cause, Weight: 0.97},
		{Rule: "postgres/commit-stall", Subject: "PostgreSQL commits", Severity: diagnose.Critical, Kind: diagnose.Symptom, Weight: 1},
	}

	want := "postgres/checkpoint-burst disk/iops-capped postgres/commit-stall disk/not-the-cause"
	var reported, held []string
	for _, c := range tr.Observe(noon, found) {
		reported = append(reported, c.Finding.Rule)
	}

	for _, s := range tr.States() {
		held = append(held, s.Finding.Rule)
	}

	if got := strings.Join(reported, " "); got != want {
		t.Errorf("reported in the order %s, want %s", got, want)
	}

	if got := strings.Join(held, " "); got != want {
		t.Errorf("states in the order %s, want %s", got, want)
	}
}
