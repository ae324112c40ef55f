package catalog_test

import (
	"os"
	"strings"
	"testing"

	"plimsoll/internal/model/catalog"
)

// The documentation's table of limits and prices has each product with its limit, and names the regions
// whose prices are known.
func TestDocumentedLimits(t *testing.T) {
	page, err := os.ReadFile("../../../docs/volumes.md")
	if err != nil {
		t.Fatal(err)
	}

	_, text, _ := strings.Cut(string(page), "\n## Limits and prices\n")
	text, _, _ = strings.Cut(text, "\n## ")
	for _, x := range catalog.VolumeTypes() {
		if x.Provider == "any" {
			continue
		}

		_, row, found := strings.Cut(text, "\n| `"+x.Name+"` |")
		row, _, _ = strings.Cut(row, "\n")
		_, rate := x.Range()

		if _, most, ok := strings.Cut(rate, " - "); ok {
			rate = most
		}

		if !found || !strings.Contains(row, x.IOPSMax.Value.String()) || !strings.Contains(row, rate) {
			t.Errorf("%s: %s IOPS and %s are not in %q", x.Name, x.IOPSMax.Value, rate, row)
		}

		prices := catalog.Embedded().Prices(x)
		if len(prices) == 0 && !strings.Contains(row, "| none |") || len(prices) > 2 && !strings.Contains(row, "| ten regions |") {
			t.Errorf("%s has %d prices: %q", x.Name, len(prices), row)
		}

		for _, p := range prices {
			if len(prices) <= 2 && !strings.Contains(row, p.Region) {
				t.Errorf("%s: %s is not in %q", x.Name, p.Region, row)
			}
		}
	}
}
