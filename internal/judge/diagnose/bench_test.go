package diagnose_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/prometheus/prometheus/model/labels"

	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/testkit"
)

// BenchmarkDay diagnoses a day of one-second samples of a MongoDB server under a steady load: every metric
// the rules read, in chunks of 300 samples as in FTDC.
func BenchmarkDay(b *testing.B) {
	mem := recording.NewMemory(recording.MemoryOptions{})
	fillDay(b, mem, 86400)
	b.ReportAllocs()
	for b.Loop() {
		r, err := diagnose.Run(context.Background(), []recording.Reader{mem}, diagnose.Options{Pack: testkit.Pack()})
		if err != nil {
			b.Fatal(err)
		}
		if r.Stalls.Of < 86000 {
			b.Fatalf("only %v s of the day were judged", r.Stalls.Of)
		}
	}
}

func fillDay(tb testing.TB, w recording.Writer, seconds int) {
	rng := rand.New(rand.NewPCG(1, 2))
	var series []labels.Labels
	for _, s := range testkit.Pack().Signals() {
		for _, x := range s.Exprs {
			e, err := rules.Parse(x)
			if err != nil {
				tb.Fatal(err)
			}
			for _, n := range rules.Names(e) {
				series = append(series, labels.FromStrings("__name__", n, "op_type", "writes", "device_name", "sda", "device", "sda"))
			}
		}
	}

	seen := map[string]bool{}
	state := make([]float64, len(series))
	for from := 0; from < seconds; from += 300 {
		batch := recording.Batch{TimesMs: make([]int64, 300)}
		for i := range batch.TimesMs {
			batch.TimesMs[i] = int64(from+i)*1000 + rng.Int64N(4) + 1_700_000_000_000
		}

		for k, ls := range series {
			if from == 0 && seen[ls.String()] {
				state[k] = -1
			}

			seen[ls.String()] = true
			if state[k] < 0 {
				continue
			}

			c := recording.Column{Labels: ls, Values: make([]float64, 300)}
			for i := range c.Values {
				state[k] += float64(rng.IntN(1000))
				c.Values[i] = state[k]
			}

			batch.Columns = append(batch.Columns, c)
		}

		if err := w.Append(context.Background(), &batch); err != nil {
			tb.Fatal(fmt.Errorf("at %d: %w", from, err))
		}
	}
}
