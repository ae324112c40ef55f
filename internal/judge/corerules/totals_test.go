package corerules

import (
	"math"
	"testing"

	"plimsoll/internal/judge/rules"
)

// A criterion is judged by what the classes prove. If classes around the limit are missing, the result
// is unknown, neither good nor bad.
func TestCriterionByTotals(t *testing.T) {
	k := rules.Criterion{Quantile: 0.99, LimitS: 0.010}
	inf := math.Inf(1)

	for _, x := range []struct {
		name  string
		all   float64
		edges []float64
		upTo  []float64
		want  rules.Verdict
	}{
		{"all quick", 10000, []float64{0.004, 0.008, 0.016}, []float64{9000, 9990, 10000}, rules.Meets},
		{"p99 in the class of the limit, below it", 10000, []float64{0.004, 0.008, 0.016}, []float64{9000, 9899, 10000}, rules.Meets},
		{"p99 in the class of the limit, above it", 10000, []float64{0.004, 0.008, 0.016}, []float64{5000, 9000, 10000}, rules.MissesTail},
		{"2 % over 16 ms", 10000, []float64{0.004, 0.008, 0.016, 0.032}, []float64{9000, 9700, 9800, 10000}, rules.MissesTail},
		{"the median over 16 ms", 10000, []float64{0.008, 0.016, 0.032}, []float64{0, 100, 10000}, rules.MissesBulk},
		{"the median over all classes", 10000, []float64{0.008, 0.016}, []float64{0, 100}, rules.MissesBulk},
		{"the lowest class is over the limit", 107080, []float64{0.064, 0.128}, []float64{106857, 107048}, rules.Undetermined},
		{"no class between 8 ms and 64 ms", 10000, []float64{0.008, 0.064}, []float64{9000, 10000}, rules.Undetermined},
		{"three syncs", 3, []float64{0.004, 0.008, 0.016}, []float64{2, 2, 3}, rules.Undetermined},
		{"nothing", 0, nil, nil, rules.Undetermined},
	} {
		if got := k.Judge(rules.Totals{All: x.all, Edges: x.edges, UpTo: x.upTo}); got != x.want {
			t.Errorf("%s: %s, want %s", x.name, got, x.want)
		}
	}

	// The sum shows what missing classes hide, and no more: a small one leaves the verdict open.
	wide := rules.Totals{All: 20001, Edges: []float64{0.004, 0.064}, UpTo: []float64{100, 20000}}
	for sumS, want := range map[float64]rules.Verdict{900: rules.MissesBulk, 350: rules.MissesTail, 150: rules.Undetermined} {
		wide.SumS = sumS
		if got := k.Judge(wide); got != want {
			t.Errorf("sum %v s: %s, want %s", sumS, got, want)
		}
	}

	if from, to := (rules.Totals{All: 10, Edges: []float64{1}, UpTo: []float64{5}}).Within(0.99); from != 1 || to != inf {
		t.Errorf("within %g to %g", from, to)
	}
}
