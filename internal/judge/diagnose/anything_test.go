package diagnose_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"regexp"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"pgregory.net/rapid"

	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/testkit"
)

// The draws are the same on each run, so that no change is held up by a failure that another one
// caused. CI_FULL=1 and -rapid.seed=0 draw new ones.
func TestMain(m *testing.M) {
	flag.Parse()
	given := os.Getenv("CI_FULL") != ""
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "rapid.seed" })
	if !given {
		if err := flag.Set("rapid.seed", "1"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
	}
	os.Exit(m.Run())
}

// A leaf is a series that some signal reads, as its expression selects it.
type leaf struct {
	labels  labels.Labels
	counter bool
}

// leaves are the series of all signals: everything that a source could provide.
func leaves(t *testing.T) []leaf {
	t.Helper()
	var out []leaf
	seen := map[string]bool{}
	add := func(sel *parser.VectorSelector, by []string, counter bool) {
		b := labels.NewBuilder(labels.EmptyLabels())
		for _, name := range by {
			b.Set(name, "one")
		}

		for _, m := range sel.LabelMatchers {
			if m.Type == labels.MatchEqual {
				b.Set(m.Name, m.Value)
			}
		}

		if b.Get(labels.MetricName) == "" {
			return
		}

		for _, le := range []string{"0.008", "0.016", "0.032", "+Inf"} {
			if regexp.MustCompile(`_bucket$`).MatchString(b.Get(labels.MetricName)) {
				b.Set(labels.BucketLabel, le)
			}
			if ls := b.Labels(); !seen[ls.String()] {
				seen[ls.String()] = true
				out = append(out, leaf{ls, counter})
			}
		}
	}

	for _, s := range testkit.Pack().Signals() {
		for _, x := range s.Exprs {
			e, err := rules.Parse(x)
			if err != nil {
				t.Fatal(err)
			}

			parser.Inspect(e, func(n parser.Node, path []parser.Node) error {
				if sel, ok := n.(*parser.VectorSelector); ok {
					inRange := false
					if len(path) > 0 {
						_, inRange = path[len(path)-1].(*parser.MatrixSelector)
					}
					add(sel, s.By, inRange)
				}
				return nil
			})
		}
	}

	return out
}

// anyShape draws the values of a series: idle, steady, bursty, or with gaps.
func anyShape(t *rapid.T, n int, counter bool) []float64 {
	scale := math.Pow(10, float64(rapid.IntRange(-3, 10).Draw(t, "scale")))
	shape := rapid.SampledFrom([]string{"zero", "steady", "burst", "holes", "late", "wild"}).Draw(t, "shape")
	every := rapid.IntRange(2, 40).Draw(t, "every")
	out := make([]float64, n)

	sum := 0.0
	for i := range out {
		x := scale
		switch shape {
		case "zero":
			x = 0
		case "burst":
			if i%every != 0 {
				x = scale / 1000
			}
		case "late": // credited at the end of each stretch
			x = 0
			if i%every == every-1 {
				x = scale * float64(every)
			}
		case "wild":
			x = scale * rapid.Float64Range(0, 1).Draw(t, "x")
		}

		sum += x
		out[i] = x
		if counter {
			out[i] = sum
		}

		if shape == "holes" && i%every < every/2 {
			out[i] = math.NaN()
		}
	}

	return out
}

var unreadable = regexp.MustCompile(`NaN|Inf\b|%!|\?|\(MISSING\)|  `)

// Whatever a source provides, a diagnosis ends without a panic, its sentences contain numbers and no
// NaN, its weights are shares, and it can be printed as JSON.
func TestAnythingIsJudged(t *testing.T) {
	all := leaves(t)
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 90).Draw(t, "samples")
		step := rapid.SampledFrom([]int64{1000, 10_000, 15_000}).Draw(t, "step")

		b := &recording.Batch{}
		for i := range n {
			b.TimesMs = append(b.TimesMs, 1_700_000_000_000+int64(i)*step)
		}

		part := rapid.IntRange(1, 4).Draw(t, "part")
		for i, l := range all {
			if i%4 < part || rapid.Bool().Draw(t, "take") {
				b.Columns = append(b.Columns, recording.Column{Labels: l.labels, Values: anyShape(t, n, l.counter)})
			}
		}

		mem := recording.NewMemory(recording.MemoryOptions{})
		if err := mem.Append(context.Background(), b); err != nil {
			t.Fatal(err)
		}

		r, err := diagnose.Run(context.Background(), []recording.Reader{mem}, diagnose.Options{Pack: testkit.Pack()})
		if err != nil {
			return // nothing to judge
		}

		for _, f := range r.Findings {
			if !(f.Weight >= 0 && f.Weight <= 1) {
				t.Fatalf("%s has the weight %v", f.Rule, f.Weight)
			}
			if bad := unreadable.FindString(f.Summary); bad != "" {
				t.Fatalf("%s says %q: %q", f.Rule, f.Summary, bad)
			}
			for _, x := range f.Fixes {
				if bad := unreadable.FindString(fmt.Sprint(x.Summary, x.Expect, x.TradeOff)); bad != "" {
					t.Fatalf("%s advises %q", f.Rule, x.Summary)
				}
			}
		}

		if _, err := json.Marshal(r); err != nil {
			t.Fatal(err)
		}
	})
}
