package text

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"plimsoll/internal/present/document"
)

// Bars of a frontier are logarithmic: the best has one block, the worst all. Names wrap in their column.
func TestFrontier(t *testing.T) {
	f := document.Frontier{Points: []document.FrontierPoint{
		{
			Name:       "as is",
			MonthlyUSD: 82.5,
			Seconds:    8,
		}, {Name: "volumes.wal = {type: gp3, size: 10GiB}", MonthlyUSD: 90, Seconds: 0.08},
		{Name: "two volumes", MonthlyUSD: 1234, Seconds: 0.0008}}}
	draws(t, page{width: 80}, func(p *page) { p.frontier(f) }, `
    82.5 USD   8.00 s  ██████████████████████████  as is
      90 USD  80.0 ms  ██████████████              volumes.wal = {type: gp3,
                                                   size: 10GiB}
   1,234 USD   800 us  █                           two volumes
`)
	draws(t, page{width: 50, ascii: true}, func(p *page) { p.frontier(f) }, `
    82.5 USD   8.00 s  ################  as is
      90 USD  80.0 ms  #########         volumes.w
                                         al =
                                         {type:
                                         gp3,
                                         size:
                                         10GiB}
   1,234 USD   800 us  #                 two
                                         volumes
`)

	// Points with equal latencies have no scale.
	f.Points = []document.FrontierPoint{{Name: "a", Seconds: 1}, {Name: "b", Seconds: 1}}
	draws(t, page{width: 40}, func(p *page) { p.frontier(f) }, `
   0 USD  1.00 s  █████████████  a
   0 USD  1.00 s  █████████████  b
`)
	if (&page{width: 80}).frontier(document.Frontier{}) {
		t.Error("a frontier without points was drawn")
	}
}

// Shares have a bar in eighths of a column. Minor ones are only named, and a mark says which overlap.
func TestShares(t *testing.T) {
	s := &document.Shares{Under: "1.0 %", Rows: []document.SharePart{
		{Name: "waiting for the log's fdatasync", Part: 0.625, Amount: "62.5 s", Note: "in checkpoints"},
		{
			Name:     "a lock of another transaction that is held for long",
			Part:     1.0 / 160,
			Amount:   "0.6 s",
			Overlaps: true,
		},
		{Name: "compaction", Part: 0.004, Minor: true}, {Name: "election", Part: 0.001, Minor: true}}}
	p := draws(t, page{width: 80}, func(p *page) { p.shares(s) }, `
   waiting for the log's fdatasync      ████████████▌          62 %      62.5 s
     in checkpoints
   a lock of another transaction tha… * ▏                    0.62 %       0.6 s
   under 1.0 % each: compaction, election
   * may be counted in another share too: these do not add up to the whole
`)
	if !p.shortened {
		t.Error("the minor shares were omitted")
	}
	p = draws(t, page{width: 44, ascii: true, verbose: true}, func(p *page) { p.shares(s) }, `
   waiting~   #######       62 %      62.5 s
     in checkpoints
   a lock ~ *             0.62 %       0.6 s
   compact~                0.4 %
   election                0.1 %
   * may be counted in another share too:
     these do not add up to the whole
`)
	if p.shortened {
		t.Error("a verbose page omits nothing")
	}
}

// A bar has exactly its width, even for values that are not shares.
func TestBar(t *testing.T) {
	for part, want := range map[float64]string{0: "    ", 1: "████", 0.5: "██  ", 0.03125: "▏   ", 0.96875: "███▉", -1: "    ", 7: "████", math.Inf(1): "████"} {
		if got := (&page{}).bar(part, 4); got != want {
			t.Errorf("%v: %q, want %q", part, got, want)
		}
	}
	rapid.Check(t, func(r *rapid.T) {
		part, width := rapid.Float64().Draw(r, "part"), rapid.IntRange(0, 40).Draw(r, "width")
		for _, ascii := range []bool{false, true} {
			if got := columns((&page{ascii: ascii}).bar(part, width)); got != width {
				r.Fatalf("%d columns, want %d", got, width)
			}
		}
	})
	if got := (&page{}).bar(math.NaN(), 3); got != "   " {
		t.Errorf("a bar of NaN: %q", got)
	}
}

// A drawing has the terminal caption; a plot that a terminal cannot draw has neither drawing nor caption.
func TestFigureCaption(t *testing.T) {
	points := []document.FrontierPoint{{Name: "as is", MonthlyUSD: 40, Seconds: 1}}
	f := &document.Figure{
		Caption: "for a page", TerminalCaption: "The scale is logarithmic.",
		Plot: document.Frontier{Points: points},
	}
	draws(t, page{width: 50, ascii: true}, func(p *page) { p.figure(f) }, `
   40 USD  1.00 s  ################  as is
   The scale is logarithmic.
`)
	f.Plot = document.Percentiles{}
	draws(t, page{width: 50}, func(p *page) { p.figure(f) }, "\n")
}
