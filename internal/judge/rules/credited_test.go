package rules_test

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"pgregory.net/rapid"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// The scripts give the seconds credited in each second, or "?" if unknown. The result is the share of
// each second with a wait in progress, drawn in tenths: . for none, # for the whole second.
func TestCredited(t *testing.T) {
	datadriven.RunTest(t, "testdata/credited/waits", func(t *testing.T, d *datadriven.TestData) string {
		step := 1
		d.MaybeScanArgs(t, "step", &step)

		var rate []float64
		for _, w := range strings.Fields(d.Input) {
			n, word := 1, w
			if count, rest, ok := strings.Cut(w, "x"); ok {
				n, _ = strconv.Atoi(count)
				word = rest
			}

			x := math.NaN()
			if word != "?" {
				var err error
				if x, err = strconv.ParseFloat(word, 64); err != nil {
					t.Fatal(err)
				}
			}

			for range n {
				rate = append(rate, x/float64(step))
			}
		}

		c := rules.Time{Grid: timeline.Grid{StepMs: int64(step) * 1000, N: len(rate)}}
		var credited, on strings.Builder

		got := c.Credited(rate)
		for k, x := range got {
			credited.WriteByte(tenth(rate[k]))
			on.WriteByte(tenth(x))
		}

		return fmt.Sprintf("credited %s\nwaited   %s\n", credited.String(), on.String())
	})
}

func tenth(x float64) byte {
	switch {
	case math.IsNaN(x):
		return '?'
	case x > 1.0001:
		return '^'
	case x >= 0.95:
		return '#'
	case x < 0.05:
		return '.'
	}
	return '0' + byte(math.Round(x*10))
}

// As long as there is room, spreading loses nothing: the time waited equals the time credited.
func TestCreditedConserves(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rate := []float64{}
		waited := 0.0 // since the last credit
		for range rapid.IntRange(1, 80).Draw(t, "cells") {
			waited++
			x := 0.0
			if rapid.IntRange(0, 6).Draw(t, "ends") == 0 {
				x = waited * float64(rapid.IntRange(0, 100).Draw(t, "percent")) / 100
				waited = 0
			}
			rate = append(rate, x)
		}

		c := rules.Time{Grid: timeline.Grid{StepMs: 1000, N: len(rate)}}
		got := c.Credited(rate)
		for k, x := range got {
			if x < 0 || x > 1+1e-9 {
				t.Fatalf("cell %d waited %v of itself; credited %v", k, x, rate)
			}
		}

		if a, b := timeline.Sum(rate), timeline.Sum(got); math.Abs(a-b) > 1e-6 {
			t.Fatalf("%v s credited, %v s waited: %v", a, b, rate)
		}
	})
}
