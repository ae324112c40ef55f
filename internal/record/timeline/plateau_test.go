package timeline_test

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"plimsoll/internal/record/timeline"
)

// The scripts describe a rate over time as "10x3000" (ten cells of 3,000), "10x3000~60" (alternating by
// 60 up and down), "10x300>3000" (a ramp) and "5x?" (unknown). The result is plotted, with # where the
// rate is at the plateau, so that any change of the detector is visible.
func TestFindPlateau(t *testing.T) {
	datadriven.RunTest(t, "testdata/plateau", func(t *testing.T, d *datadriven.TestData) string {
		values := series(t, d.Input)
		over, tol, least := 0.0, 0.05, 5
		d.MaybeScanArgs(t, "over", &over)
		d.MaybeScanArgs(t, "min", &least)
		where := timeline.Where(values, func(x float64) bool { return x > over })
		p, ok := timeline.FindPlateau(values, where, tol, least, 1)
		if !ok {
			return plot(values, nil) + "no plateau\n"
		}
		return plot(values, p.Cells) + fmt.Sprintf("level %.0f, %.0f %% of the candidates, passed in %.1f %% of them\n", p.Level, 100*p.Share, 100*p.Above)
	})
}

func series(t *testing.T, text string) []float64 {
	t.Helper()
	var out []float64
	for _, word := range strings.Fields(text) {
		count, rest, ok := strings.Cut(word, "x")
		n, err := strconv.Atoi(count)
		if !ok || err != nil {
			t.Fatalf("%q: want COUNTxVALUE", word)
		}

		from, swing, to := rest, "0", ""
		if a, b, ok := strings.Cut(rest, "~"); ok {
			from, swing = a, b
		} else if a, b, ok := strings.Cut(rest, ">"); ok {
			from, to = a, b
		}

		for i := range n {
			if rest == "?" {
				out = append(out, math.NaN())
				continue
			}
			x := number(t, from) + number(t, swing)*float64(1-2*(i%2))
			if to != "" {
				x += (number(t, to) - x) * float64(i) / float64(max(n-1, 1))
			}
			out = append(out, x)
		}
	}

	return out
}

func number(t *testing.T, s string) float64 {
	t.Helper()
	x, err := strconv.ParseFloat(s, 64)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

const plotRows = 8

// plot draws values from the bottom up, one column per cell: # in the cells of the mask, o
// elsewhere.
func plot(values []float64, m timeline.Mask) string {
	top := timeline.Max(values)
	var b strings.Builder
	for row := plotRows; row > 0; row-- {
		line := ""
		for k, x := range values {
			h := 0
			if x > 0 {
				h = max(1, int(math.Round(x/top*plotRows)))
			}

			switch {
			case h < row:
				line += " "
			case k < len(m) && m[k]:
				line += "#"
			default:
				line += "o"
			}
		}

		fmt.Fprintf(&b, "%8.0f |%s\n", top*float64(row)/plotRows, strings.TrimRight(line, " "))
	}

	return b.String()
}
