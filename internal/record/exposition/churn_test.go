package exposition

import (
	"fmt"
	"strings"
	"testing"
)

// The bound on series counts the current ones: labels that change with every scrape, such as those
// of connections or pods, neither fill the memory nor end a source.
func TestChurn(t *testing.T) {
	for _, wanted := range []bool{true, false} {
		p := newParser(nil, func(name string) bool { return wanted || name == "steady" })
		const fresh, pages = 1500, 200 // 300,000 series in all
		for i := range pages {
			var b strings.Builder
			fmt.Fprintf(&b, "steady %d\n", i)

			for k := range fresh {
				fmt.Fprintf(&b, "churn{id=\"%d-%d\"} 1\n", i, k)
			}

			samples, bad := p.parse([]byte(b.String()), textType)
			if want := map[bool]int{true: fresh + 1, false: 1}[wanted]; len(samples) != want || len(bad) > 0 {
				t.Fatalf("page %d has %d samples, want %d (%v)", i, len(samples), want, bad)
			}

			if len(p.series) > (deadPages+2)*(fresh+1)+seriesSpare {
				t.Fatalf("page %d: %d series are remembered", i, len(p.series))
			}
		}

		if p.dropped > 0 {
			t.Errorf("%d samples were dropped", p.dropped)
		}
	}
}

// A page with more series than the limit loses only those beyond it; so does the next page.
func TestTooManySeries(t *testing.T) {
	p := newParser(nil, nil)
	for page := 1; page <= 3; page++ {
		var b strings.Builder
		for k := range seriesMax + 10 {
			fmt.Fprintf(&b, "m{id=\"%d-%d\"} 1\n", page, k)
		}
		samples, _ := p.parse([]byte(b.String()), textType)
		if page == 1 && len(samples) != seriesMax || len(samples) == 0 {
			t.Errorf("page %d has %d samples", page, len(samples))
		}
	}
	if p.dropped == 0 {
		t.Error("nothing is counted as dropped")
	}
}
