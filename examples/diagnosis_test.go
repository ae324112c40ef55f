package examples

import (
	"context"
	"flag"
	"math"
	"os"
	"regexp"
	"strings"
	"testing"

	"plimsoll/internal/engine"
	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/recognise"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
	"plimsoll/internal/testkit"
)

func byRule(r *diagnose.Report) map[string]rules.Finding {
	found := map[string]rules.Finding{}
	for _, f := range r.Findings {
		if _, ok := found[f.Rule]; !ok {
			found[f.Rule] = f
		}
	}
	return found
}

// buysIO fails if a finding advises buying IOPS or throughput.
func buysIO(t *testing.T, r *diagnose.Report) {
	t.Helper()
	for _, f := range r.Findings {
		for _, x := range f.Fixes {
			if strings.Contains(x.Summary, "raise the volume's") {
				t.Errorf("%s advises: %s", f.Rule, x.Summary)
			}
		}
	}
}

// The diagnosis names the checkpoint, its period, and which of the volume's two limits was reached.
func TestPostgresDiagnosis(t *testing.T) {
	r := diagnosis(t, "postgres-checkpoint")
	found := byRule(r)
	checkpoint, ok := found["postgres/checkpoint-burst"]
	if !ok || checkpoint.Severity != rules.Critical || math.Abs(checkpoint.PeriodS-60) > 2 {
		t.Errorf("checkpoints every 60 s are not named as a critical cause: %+v", checkpoint)
	}

	if r.Findings[0].Rule != "postgres/checkpoint-burst" {
		t.Errorf("%s comes before the checkpoints", r.Findings[0].Rule)
	}

	if limit := found["disk/iops-capped"]; limit.Severity != rules.Critical || !strings.Contains(limit.Summary, "3,000 write IOPS") {
		t.Errorf("the limit of 3,000 IOPS is not named: %+v", limit)
	}

	for _, innocent := range []string{"disk/throughput-capped", "disk/burst-exhausted", "disk/not-the-cause", "disk/latency-bound"} {
		if f, ok := found[innocent]; ok {
			t.Errorf("%s is no part of it: %s", innocent, f.Summary)
		}
	}
}

// Sequential fdatasyncs on a volume with spare IOPS: its latency is the limit.
func TestEtcdDiagnosis(t *testing.T) {
	r := diagnosis(t, "etcd-latency-bound")
	found := byRule(r)
	f, ok := found["disk/latency-bound"]
	if !ok || f.Kind != rules.Refutation {
		t.Errorf("that more IOPS will not help is not said: %+v", f)
	}

	if !strings.Contains(r.Verdict, "more IOPS will not help") {
		t.Errorf("the verdict does not say it: %s", r.Verdict)
	}

	for _, innocent := range []string{"disk/iops-capped", "disk/throughput-capped", "disk/burst-exhausted"} {
		if f, ok := found[innocent]; ok {
			t.Errorf("%s is no part of it: %s", innocent, f.Summary)
		}
	}

	buysIO(t, r)
}

var update = flag.Bool("update", false, "write etcd-traced/measured.txt as the verdict is now")

// With a trace in addition to the counters, the verdict explains the stalls by the trace's measurements.
func TestTracedDiagnosis(t *testing.T) {
	r := diagnosis(t, "etcd-traced/recorded", "etcd-traced/traced")
	measured := regexp.MustCompile(`Traced waits of slow calls[^.]*\.`).FindAllString(r.Verdict, -1)
	got := strings.Join(measured, "\n") + "\n"
	const file = "etcd-traced/measured.txt"

	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}

	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}

	if got != string(want) {
		t.Errorf("the verdict is (go test ./examples -run Traced -update):\n%s", got)
	}

	if !strings.Contains(got, "behind the writes of dd's sync") {
		t.Error("it does not name dd's sync")
	}
}

// A public capture of MongoDB 8.0 under writes with a latency of seconds, while the disk is at most 51
// % busy: the disk is refuted, and no purchase is recommended.
func TestNegativeControl(t *testing.T) {
	const file = "../../shared/data/ftdc/metrics.visualzhou-example"
	if _, err := os.Stat(file); err != nil {
		t.Skip("the public capture is not beside the checkout (../shared/data from its root)")
	}

	ctx := context.Background()
	input, err := recognise.For(engine.All().Sources()).Open(ctx, file, recognise.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}

	mem := recording.NewMemory(recording.MemoryOptions{})
	if err := input.Source.Read(ctx, mem, source.Options{Want: diagnose.Wants(testkit.Pack())}); err != nil {
		t.Fatal(err)
	}

	r, err := diagnose.Run(ctx, []recording.Reader{mem}, diagnose.Options{Pack: testkit.Pack()})
	if err != nil {
		t.Fatal(err)
	}

	if f, ok := byRule(r)["disk/not-the-cause"]; !ok || !strings.Contains(f.Summary, "51 %") {
		t.Errorf("the disk is not refuted: %+v", f)
	}

	for _, f := range r.Findings {
		if f.Kind == rules.Cause && strings.HasPrefix(f.Rule, "disk/") {
			t.Errorf("the disk is accused: %s: %s", f.Rule, f.Summary)
		}
	}

	buysIO(t, r)
}
