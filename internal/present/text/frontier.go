package text

import (
	"math"
	"strings"

	"plimsoll/internal/base/units"
	"plimsoll/internal/present/document"
)

// frontierBars is the length of the longest bar of a frontier.
const frontierBars = 30

// frontier draws the latency at each price as a bar, on a logarithmic scale because latencies
// differ by orders of magnitude.
func (p *page) frontier(f document.Frontier) bool {
	if len(f.Points) == 0 {
		return false
	}

	prices, values := 0, 0
	least, most := math.Inf(1), 0.0
	for _, x := range f.Points {
		prices = max(prices, columns(units.Dollars(x.MonthlyUSD)))
		values = max(values, columns(units.Seconds(x.Seconds)))
		least, most = min(least, x.Seconds), max(most, x.Seconds)
	}

	bars := min(frontierBars, p.width/3)
	mark := "█"
	if p.ascii {
		mark = "#"
	}

	for _, x := range f.Points {
		// With a single latency, or one of zero, there is no scale: all bars are full.
		n := bars
		if most > least && least > 0 {
			n = 1 + int(math.Round(float64(bars-1)*math.Log(x.Seconds/least)/math.Log(most/least)))
		}
		bar := strings.Repeat(mark, n) + strings.Repeat(" ", bars-n)
		first := indent3 + right(units.Dollars(x.MonthlyUSD), prices) + "  " +
			right(units.Seconds(x.Seconds), values) +
			"  " + p.paint(bar, cyan) + "  "
		p.para(first, strings.Repeat(" ", columns(first)), x.Name, plain)
	}

	return true
}
