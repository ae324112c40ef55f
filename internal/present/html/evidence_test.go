package html

import (
	"regexp"
	"strings"
	"testing"
)

// simulatedPages are the pages whose figures a model made.
var simulatedPages = []string{"simulation", "variants", "lab", "plan", "case"}

// On a simulated page, each figure at the top and each number in a table of figures links to a piece of
// evidence. The evidence's number is next to it for print and has a name for screen readers. Each piece
// of evidence is linked to.
func TestFiguresHaveEvidence(t *testing.T) {
	var (
		fact     = regexp.MustCompile(`(?s)<dt>(.*?)</dt><dd>(.*?)</dd>`)
		ref      = regexp.MustCompile(`<a class="ref" href="#e(\d+)" aria-label="evidence (\d+)">\[(\d+)\]</a>`)
		anything = regexp.MustCompile(`class="ref"`)
		tables   = regexp.MustCompile(`(?s)<caption>(.*?)</caption>.*?<tbody>(.*?)</tbody>`)
		figures  = regexp.MustCompile(`<td (?:[^>]* )?class="number[^"]*">(.*?)</td>`)
		item     = regexp.MustCompile(`<li id="(e\d+)">`)
	)

	all := pages(t)
	for _, name := range simulatedPages {
		page := all[name]
		_, top, _ := strings.Cut(page, `<dl class="facts">`)

		top, _, _ = strings.Cut(top, "</dl>")
		for _, m := range fact.FindAllStringSubmatch(top, -1) {
			if !ref.MatchString(m[2]) && !strings.HasPrefix(m[1], "published claims") { // the page itself counts these
				t.Errorf("%s: %s has no evidence: %s", name, m[1], m[2])
			}
		}

		found := ref.FindAllStringSubmatch(page, -1)
		if len(found) == 0 || len(found) != len(anything.FindAllString(page, -1)) {
			t.Errorf("%s: %d references of %d are well formed", name, len(found), len(anything.FindAllString(page, -1)))
		}

		for _, m := range found {
			if m[1] != m[2] || m[1] != m[3] {
				t.Errorf("%s: %s leads elsewhere than it says", name, m[0])
			}
		}

		numbers := 0
		for _, m := range tables.FindAllStringSubmatch(page, -1) {
			if strings.HasPrefix(m[1], "Chart values") || strings.HasPrefix(m[1], "Operations by") || m[1] == "Latency by percentile" || strings.HasPrefix(m[1], "Figures before") ||
				m[1] == "Requirements" || m[1] == "Accuracy of the emulated volumes" {
				continue // evidence is in the title or the table next to it; a proof's numbers lead to queries; a lab measures
			}
			for _, f := range figures.FindAllStringSubmatch(m[2], -1) {
				text := strings.TrimPrefix(strings.TrimSpace(f[1]), "<div>")
				if !strings.ContainsAny(text, "0123456789") || strings.HasPrefix(text, "<svg") {
					continue
				}
				numbers++
				if !strings.HasPrefix(text, `<a href="#e`) && !ref.MatchString(text) {
					t.Errorf("%s, %s: %q has no evidence", name, m[1], text)
				}
			}
		}

		if numbers < 10 {
			t.Errorf("%s: only %d numbers were looked at", name, numbers)
		}

		pieces := item.FindAllStringSubmatch(page, -1)
		if len(pieces) == 0 {
			t.Errorf("%s has no evidence", name)
		}

		for i, m := range pieces {
			if m[1] != "e"+number(i+1) {
				t.Errorf("%s: evidence %d has the id %s", name, i+1, m[1])
			}
		}
	}
}
