package catalog

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"plimsoll/internal/base/units"
)

// A sku is an element of skus, as Google's Cloud Billing Catalog API prints them for Compute Engine
// (Google Cloud, "services.skus.list", v1).
type sku struct {
	Description string `json:"description"`
	Category    struct {
		UsageType string `json:"usageType"`
	} `json:"category"`
	Regions []string   `json:"serviceRegions"`
	Pricing []skuPrice `json:"pricingInfo"` // a timeline
}

type skuPrice struct {
	Begins     string `json:"effectiveTime"`
	Expression struct {
		Unit  string `json:"usageUnit"`
		Rates []struct {
			Price struct {
				Currency string `json:"currencyCode"`
				Units    string `json:"units"`
				Nanos    int64  `json:"nanos"`
			} `json:"unitPrice"`
		} `json:"tieredRates"`
	} `json:"pricingExpression"`
}

// googleSKUs lists the prefixes of descriptions, with the type and the part of its price.
var googleSKUs = []struct{ begins, name, part string }{
	{"Hyperdisk Balanced Capacity", "hyperdisk-balanced", "size"},
	{"Hyperdisk Balanced IOPS", "hyperdisk-balanced", "IOPS"},
	{"Hyperdisk Balanced Throughput", "hyperdisk-balanced", "throughput"},
	{"Hyperdisk Extreme Capacity", "hyperdisk-extreme", "size"},
	{"Hyperdisk Extreme IOPS", "hyperdisk-extreme", "IOPS"},
	{"Hyperdisk Throughput Capacity", "hyperdisk-throughput", "size"},
	{"Hyperdisk Throughput Throughput Capacity", "hyperdisk-throughput", "throughput"},
	{"Hyperdisk Throughput Throughput", "hyperdisk-throughput", "throughput"},
	{"Hyperdisk ML Capacity", "hyperdisk-ml", "size"},
	{"Hyperdisk ML Throughput", "hyperdisk-ml", "throughput"},
	{"SSD backed PD Capacity", "pd-ssd", "size"},
	{"Balanced PD Capacity", "pd-balanced", "size"},
}

// addGoogle reads a SKU's price. Other SKUs are skipped.
func (in *Import) addGoogle(element []byte) error {
	var k sku
	if err := json.Unmarshal(element, &k); err != nil {
		return err
	}

	for _, s := range googleSKUs {
		rest, ok := strings.CutPrefix(k.Description, s.begins)
		if !ok || rest != "" && !strings.HasPrefix(rest, " in ") ||
			k.Category.UsageType != "" && k.Category.UsageType != "OnDemand" {
			continue // "Hyperdisk Balanced Capacity High Availability", commitments
		}

		usd, err := in.googlePrice(&k)
		if err != nil {
			return fmt.Errorf("%s: %w", k.Description, err)
		}

		t, err := Type(s.name)
		if err != nil {
			return err
		}

		for _, region := range k.Regions {
			p, err := in.pricesOf(t, region)
			if err != nil {
				return err
			}

			switch s.part {
			case "size":
				p.PerGiB = usd
			case "IOPS":
				p.tier(t.IOPSIncluded.Value, usd)
			default:
				p.Throughput = []ThroughputTier{{Over: t.ThroughputIncluded.Value, EachMiBps: usd}}
			}
		}

		return nil
	}

	in.Skipped++
	return nil
}

// googlePrice is a SKU's monthly price: that of its last tier, because a free tier comes before it.
func (in *Import) googlePrice(k *sku) (units.USD, error) {
	var now *skuPrice
	for i := range k.Pricing {
		// The timeline may contain announced prices. Use the latest that is in effect.
		if p := &k.Pricing[i]; in.begun(p.Begins) && (now == nil || p.Begins >= now.Begins) {
			now = p
		}
	}

	if now == nil || len(now.Expression.Rates) == 0 {
		return 0, fmt.Errorf("it has no price")
	}

	x := &now.Expression
	p := x.Rates[len(x.Rates)-1].Price
	if err := in.currency(p.Currency, "leave currencyCode out of the request"); err != nil {
		return 0, err
	}

	// Units may be empty for prices below a dollar, and the prefix also rejects negative ones.
	whole, err := strconv.ParseInt("0"+p.Units, 10, 64)
	usd := float64(whole) + float64(p.Nanos)/1e9
	if err != nil || !(usd > 0 && usd <= float64(hourlyMax)) {
		return 0, fmt.Errorf("units %q and %d nanos are not a price", p.Units, p.Nanos)
	}

	switch {
	case strings.HasSuffix(x.Unit, "mo"):
		return units.USD(usd), nil
	case strings.HasSuffix(x.Unit, "h"):
		return units.USD(float64(usd * Hours)), nil
	}

	return 0, fmt.Errorf("price per %q: want per month or per hour", x.Unit)
}
