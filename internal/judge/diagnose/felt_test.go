package diagnose_test

import (
	"context"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"plimsoll/internal/engine"
	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/record/recognise"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
	"plimsoll/internal/testkit"
)

// For a PostgreSQL server and its volume, Felt finds exactly the stalls that a whole diagnosis finds.
func TestFeltIsWhatIsJudged(t *testing.T) {
	var in []recording.Reader
	for _, name := range []string{"postgres.prom.gz", "node.prom.gz", "iostat.log"} {
		input, err := recognise.For(engine.All().Sources()).Open(t.Context(), "../../../examples/postgres-checkpoint/"+name, recognise.OpenOptions{})
		if err != nil {
			t.Fatal(err)
		}
		mem := recording.NewMemory(recording.MemoryOptions{})
		if err := input.Source.Read(t.Context(), mem, source.Options{}); err != nil {
			t.Fatal(err)
		}
		in = append(in, mem)
		compareFelt(t, in)
	}
}

func compareFelt(t *testing.T, in []recording.Reader) {
	t.Helper()
	whole, err := diagnose.Lay(context.Background(), in, diagnose.Options{Pack: testkit.Pack()})
	if err != nil {
		t.Fatal(err)
	}

	felt, err := diagnose.Felt(context.Background(), in, diagnose.Options{Pack: testkit.Pack()})
	if err != nil {
		t.Fatal(err)
	}

	if d := cmp.Diff(whole.Symptoms, felt.Symptoms, cmpopts.EquateNaNs(), cmpopts.EquateEmpty()); d != "" {
		t.Errorf("of %d sources (-judged +felt):\n%s", len(in), d)
	}

	if whole.Stall.Rule != felt.Stall.Rule || len(whole.Symptoms) == 0 {
		t.Errorf("judged %q, felt %q", whole.Stall.Rule, felt.Stall.Rule)
	}
}

// The symptom that the verdict is about comes before a device's, even one that is as critical.
func TestJudgedSymptomIsFirst(t *testing.T) {
	device := diagnose.Finding{Rule: "disk/slow-writes", Kind: diagnose.Symptom, Severity: diagnose.Critical, Weight: 1}
	commits := diagnose.Finding{Rule: "postgres/commit-stall", Kind: diagnose.Symptom, Severity: diagnose.Warning, Judged: true}
	cause := diagnose.Finding{Rule: "postgres/wal-flush", Kind: diagnose.Cause, Severity: diagnose.Info}
	all := []diagnose.Finding{device, commits, cause}
	slices.SortFunc(all, diagnose.Compare)
	if d := cmp.Diff([]diagnose.Finding{cause, commits, device}, all); d != "" {
		t.Errorf("order (-want +got):\n%s", d)
	}
}
