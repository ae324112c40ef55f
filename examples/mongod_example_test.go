package examples

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/engine"
	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/record/recognise"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
	"plimsoll/internal/testkit"
)

const mongodCheckpoint = "mongodb-checkpoint"

// The capture's verdicts are those in its folder: with the volume's log, and without it.
func TestMongodExample(t *testing.T) {
	golden, err := os.ReadFile(filepath.Join(mongodCheckpoint, "verdict.txt"))
	if err != nil {
		t.Fatal(err)
	}

	own := filepath.Join(mongodCheckpoint, "diagnostic.data")
	both := diagnoseFiles(t, own, filepath.Join(mongodCheckpoint, "iostat.log"))
	alone := diagnoseFiles(t, own)

	got := "diagnostic.data and iostat.log:\n" + both.Verdict + "\n\ndiagnostic.data alone:\n" + alone.Verdict + "\n"
	if got != string(golden) {
		t.Errorf("the verdicts are not those of verdict.txt:\n%s", got)
	}

	if f := byRule(both)["host/writeback-throttling"]; !strings.Contains(f.Summary, "the queue of loop0 held 123 requests") {
		t.Errorf("the queue is not named: %+v", f)
	}

	// It cost nothing, and the p99 fell from 15.9 to 0.12 s.
	if a := both.Actions; len(a) == 0 || a[0].Remedy != "writeback-throttling" {
		t.Errorf("the throttling is not what to do first: %+v", a)
	}

	for _, f := range alone.Findings {
		if strings.HasPrefix(f.Rule, "disk/") {
			t.Errorf("%s is judged without the volume: %s", f.Rule, f.Summary)
		}
	}
}

// diagnoseFiles diagnoses captures together.
func diagnoseFiles(t *testing.T, paths ...string) *diagnose.Report {
	t.Helper()
	ctx := context.Background()

	var in []recording.Reader
	for _, file := range paths {
		input, err := recognise.For(engine.All().Sources()).Open(ctx, file, recognise.OpenOptions{})
		if err != nil {
			t.Fatal(err)
		}
		mem := recording.NewMemory(recording.MemoryOptions{})
		if err := input.Source.Read(ctx, mem, source.Options{Want: diagnose.Wants(testkit.Pack())}); err != nil {
			t.Fatal(err)
		}
		in = append(in, mem)
	}

	r, err := diagnose.Run(ctx, in, diagnose.Options{Pack: testkit.Pack()})
	if err != nil {
		t.Fatal(err)
	}

	return r
}
