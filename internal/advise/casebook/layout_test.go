package casebook

import (
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/engine"
)

// The end of the first case: the plan is the cheapest that meets the objective, the published
// sizing adds up, the files contain the plan, and the recordings prove it.
func TestArcEnds(t *testing.T) {
	if underRace {
		t.Skip("hours of virtual time; walked without the race detector")
	}

	w := walk(t, "checkpoint-gp3")
	if w.Plan == nil || w.Plan.Chosen == nil || !slices.Equal(w.Plan.Chosen.Sets, []string{"volumes.journal={type: gp3, size: 10GiB}"}) || !w.Plan.Searched.Complete {
		t.Fatalf("%+v", w.Plan)
	}

	var sums []int64
	for _, r := range w.Plan.Sizing.Rows {
		if r.Sum {
			sums = append(sums, (r.Bytes+5e8)/1e9)
		}
	}

	if !slices.Equal(sums, []int64{1951, 2341, 2500}) {
		t.Errorf("sums of %v GB", sums)
	}

	class := slices.IndexFunc(w.Files, func(f Written) bool { return strings.HasPrefix(f.Path, "kubernetes/storageclass") })
	if class < 0 || !slices.Contains(w.Files[class].Lines, `iops: "3000"`) {
		t.Errorf("%+v", w.Files)
	}

	if w.Proof == nil || w.Proof.Verdict != "better" || w.Proof.Requirements[0].Outcome != "met" || *w.Proof.Cost.ChangeUSD < 0.79 || *w.Proof.Cost.ChangeUSD > 0.81 {
		t.Errorf("%+v", w.Proof)
	}

	if again := walk(t, "etcd-latency"); again.Plan.Chosen.MonthlyUSD >= again.Plan.Now.MonthlyUSD {
		t.Errorf("gp3 costs less than gp2: %+v", again.Plan.Chosen)
	}
}

// A change that only the application can make has no files; that is not an error.
func TestNoFiles(t *testing.T) {
	c, err := Open("bucket-granularity", profilers)
	if err != nil {
		t.Fatal(err)
	}

	files, err := written(t, c, []string{"workload.buckets.span=5min"})
	if err != nil || len(files) != 0 {
		t.Errorf("%+v, %v", files, err)
	}

	if c, err = Open("iris-stripe", profilers); err != nil {
		t.Fatal(err)
	}

	files, err = written(t, c, []string{"volumes.data={type: gp3, size: 125GiB, stripe: 8}"})
	if err != nil || len(files) < 2 {
		t.Errorf("%+v, %v", files, err)
	}
}

// written returns the files for assignments over a case's scenario.
func written(t *testing.T, c *Case, sets []string) ([]Written, error) {
	t.Helper()
	before, err := c.file(engine.All().Deployments().Language).Parse(nil)
	if err != nil {
		t.Fatal(err)
	}
	after, err := c.file(engine.All().Deployments().Language).Parse(sets)
	if err != nil {
		t.Fatal(err)
	}
	return c.written(engine.All().Deployments(), before, after, sets)
}
