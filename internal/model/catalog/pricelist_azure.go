package catalog

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/base/units"
)

// A retailItem is an element of Items, as the Azure Retail Prices API prints them (Microsoft,
// "Azure Retail Prices overview", api-version 2023-01-01-preview).
type retailItem struct {
	CurrencyCode     string  `json:"currencyCode"`
	RetailPrice      float64 `json:"retailPrice"`
	TierMinimumUnits float64 `json:"tierMinimumUnits"`
	Region           string  `json:"armRegionName"`
	Meter            string  `json:"meterName"`
	Product          string  `json:"productName"`
	Unit             string  `json:"unitOfMeasure"`
	Type             string  `json:"type"`
	Begins           string  `json:"effectiveStartDate"`
	Primary          *bool   `json:"isPrimaryMeterRegion"`
}

// rank orders rows of one meter: those of the primary meter, by which Azure bills, are above the
// others, and later ones above earlier ones.
func (m *retailItem) rank() string {
	if m.Primary != nil && !*m.Primary {
		return "other " + m.Begins
	}
	return "primary " + m.Begins
}

// The Azure product that a type's meters belong to, and the meters' names before "LRS".
// Zone-redundant disks have others, and are not in the catalogue.
var azureProducts = map[string]string{"Azure Premium SSD v2": "premium-v2", "Ultra Disks": "ultra",
	"Premium SSD Managed Disks": "premium-ssd"}

// premiumSizes are the sizes in GiB up to which a tier of Premium SSD goes (Azure documentation,
// managed disk types, 2025).
var premiumSizes = map[string]units.Size{
	"P1": 4, "P2": 8, "P3": 16, "P4": 32, "P6": 64, "P10": 128, "P15": 256, "P20": 512, "P30": 1024, "P40": 2048,
	"P50": 4096, "P60": 8192, "P70": 16_384, "P80": 32_767,
}

// addAzure reads a meter's price. Other meters are skipped.
func (in *Import) addAzure(element []byte) error {
	var item retailItem
	if err := json.Unmarshal(element, &item); err != nil {
		return err
	}

	name := azureProducts[item.Product]
	if name == "" || item.Type != "Consumption" || item.Region == "" || !in.begun(item.Begins) {
		in.Skipped++
		return nil
	}

	if err := in.currency(item.CurrencyCode, "currencyCode='USD' asks for it"); err != nil {
		return fmt.Errorf("%s in %s: %w", item.Meter, item.Region, err)
	}
	if !(item.RetailPrice >= 0 && item.RetailPrice <= float64(hourlyMax)) ||
		!(item.TierMinimumUnits >= 0 && item.TierMinimumUnits <= 1e9) {
		return fmt.Errorf("%s in %s: %v is not a price", item.Meter, item.Region, item.RetailPrice)
	}

	t, err := Type(name)
	if err != nil {
		return err
	}

	p, err := in.pricesOf(t, item.Region)
	if err != nil {
		return err
	}

	usd := units.USD(item.RetailPrice)
	if strings.HasSuffix(item.Unit, "/Hour") {
		usd = units.USD(float64(item.RetailPrice * Hours))
	}

	meter := fmt.Sprintf("%s %s %v", item.Region, item.Meter, item.TierMinimumUnits)
	if usd == 0 || item.rank() < in.meters[meter] { // what is included, or a row that a better one replaces
		in.Skipped++
		return nil
	}

	in.meters[meter] = item.rank()
	return in.azureMeter(t, p, &item, usd)
}

// azureMeter stores a meter's price in the right place.
func (in *Import) azureMeter(t *VolumeType, p *Prices, m *retailItem, usd units.USD) error {
	kind, ok := strings.CutPrefix(m.Meter,
		map[string]string{"premium-v2": "Premium LRS ", "ultra": "Ultra LRS "}[t.Name])
	switch tier, disk := strings.CutSuffix(m.Meter, " LRS Disk"); {
	case t.Name == "premium-ssd" && disk && m.Unit == "1/Month":
		gib := premiumSizes[tier]
		if gib == 0 {
			in.Skipped++
			return nil
		}
		p.size(gib*units.GiB, usd)
	case t.Name == "premium-ssd" || !ok:
		in.Skipped++
	case kind == "Provisioned Capacity":
		p.PerGiB = usd
	case kind == "Provisioned IOPS":
		p.tier(max(IOPS(m.TierMinimumUnits), t.IOPSIncluded.Value), usd)
	case strings.HasPrefix(kind, "Provisioned Throughput"): // in MB/s
		each := units.USD(float64(usd) * float64(units.MiBps) / float64(units.MBps))
		p.Throughput = []ThroughputTier{{Over: max(units.Throughput(m.TierMinimumUnits)*units.MBps,
			t.ThroughputIncluded.Value), EachMiBps: each}}
	default:
		in.Skipped++
	}

	return nil
}

// currency refuses prices in another currency: the catalogue compares dollars.
func (in *Import) currency(code, how string) error {
	if code != "USD" {
		return fmt.Errorf("price in %q, but the catalogue's prices are in USD: %s", code, how)
	}
	return nil
}

// pricesOf returns the prices of a type in a region, new ones if there are none yet.
func (in *Import) pricesOf(t *VolumeType, region string) (*Prices, error) {
	if err := checkName(region); err != nil {
		return nil, err
	}
	p := in.prices(t.Name, region)
	if p == nil {
		return nil, fmt.Errorf("prices of more than %d regions", regionsMax)
	}
	return p, nil
}

// size puts a price of a size in order.
func (p *Prices) size(most units.Size, usd units.USD) {
	p.Sizes = slices.DeleteFunc(p.Sizes, func(s SizePrice) bool { return s.Most == most })
	p.Sizes = append(p.Sizes, SizePrice{most, usd})
	slices.SortFunc(p.Sizes, func(a, b SizePrice) int { return int(a.Most/units.GiB - b.Most/units.GiB) })
}
