package catalog

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/base/units"
)

// A product holds the fields needed for prices from an element printed by `aws pricing get-products
// --service-code AmazonEC2` (AWS Price List Query API, 2025).
type product struct {
	Product struct {
		ProductFamily string            `json:"productFamily"`
		Attributes    map[string]string `json:"attributes"`
	} `json:"product"`
	Terms struct {
		OnDemand map[string]struct {
			PriceDimensions map[string]dimension `json:"priceDimensions"`
		} `json:"OnDemand"`
	} `json:"terms"`
}

type dimension struct {
	Unit         string            `json:"unit"`
	PricePerUnit map[string]string `json:"pricePerUnit"`
}

// add reads a product's price. Products other than Linux instances and volumes are skipped.
func (in *Import) add(element []byte) error {
	var p product
	if err := json.Unmarshal(element, &p); err != nil {
		return err
	}

	attributes := p.Product.Attributes
	region := attributes["regionCode"]
	if region == "" && strings.Contains(attributes["location"], "N. Virginia") {
		region = Region
	}

	volumeType, instance := attributes["volumeApiName"], attributes["instanceType"]
	if region == "" || (volumeType == "" && instance == "") {
		in.Skipped++
		return nil
	}

	d, ok := p.dimension()
	if !ok {
		in.Skipped++
		return nil
	}

	if _, ok := d.PricePerUnit["USD"]; !ok && len(d.PricePerUnit) > 0 {
		return fmt.Errorf("%s%s in %s: %w", instance, volumeType, region,
			in.currency(slices.Min(slices.Collect(maps.Keys(d.PricePerUnit))), "China's regions are billed in CNY"))
	}

	usd, err := strconv.ParseFloat(d.PricePerUnit["USD"], 64)
	if err != nil || !(usd >= 0 && usd <= float64(hourlyMax)) {
		return fmt.Errorf("%s%s in %s: %q is not a price in USD", instance, volumeType, region, d.PricePerUnit["USD"])
	}

	switch {
	case usd == 0:
		in.Skipped++ // reserved capacity, free tiers: not the usual price
		return nil
	case volumeType != "":
		return in.addVolume(volumeType, region, attributes["usagetype"], d.Unit, units.USD(usd))
	case !plain(attributes, "operatingSystem", "Linux") || !plain(attributes, "tenancy", "Shared") ||
		!plain(attributes, "preInstalledSw", "NA") || !plain(attributes, "capacitystatus", "Used"):
		in.Skipped++
		return nil
	}

	return in.addInstance(instance, region, units.USD(usd))
}

// plain reports whether an attribute describes the standard price.
func plain(a map[string]string, name, want string) bool { return a[name] == "" || a[name] == want }

// dimension is a product's only on-demand price. Volumes and instances have no tiers by usage.
func (p *product) dimension() (dimension, bool) {
	var all []dimension
	// order does not matter: more than one price is refused
	for _, t := range p.Terms.OnDemand {
		// order does not matter: as above
		for _, d := range t.PriceDimensions {
			all = append(all, d)
		}
	}
	// Several prices mean tiers or conditions, none of which is the standard price.
	if len(all) != 1 {
		return dimension{}, false
	}
	return all[0], true
}

func (in *Import) addInstance(name, region string, usd units.USD) error {
	p := InstancePrice{Region: region, Hourly: usd, Source: in.Source}
	if err := errors.Join(checkName(name), p.check()); err != nil {
		return err
	}
	if in.count++; in.count > importedMax {
		return fmt.Errorf("more than %s prices", units.Count(importedMax))
	}
	in.InstancePrices = append(in.InstancePrices, NamedPrice{name, p})
	return nil
}

// addVolume adds a part of a type's price: for its size, its IOPS or its throughput. The usage type
// says which: "EUW1-EBS:VolumeUsage.gp3", "EBS:VolumeP-IOPS.io2.tier2",
// "EBS:VolumeP-Throughput.gp3".
func (in *Import) addVolume(name, region, usage, unit string, usd units.USD) error {
	i := slices.IndexFunc(types, func(t *VolumeType) bool { return t.Name == name && t.Provider == "aws" })
	_, usage, ok := strings.Cut(usage, "EBS:Volume")
	if i < 0 || !ok {
		in.Skipped++
		return nil
	}

	product := types[i]
	prices, err := in.pricesOf(product, region)
	if err != nil {
		return err
	}

	kind, rest, _ := strings.Cut(usage, ".")
	switch {
	case kind == "Usage" && (unit == "GB-Mo" || unit == "GB-month"): // the latter is io2's
		prices.PerGiB = usd
	case kind == "P-IOPS" && unit == "IOPS-Mo":
		over := product.IOPSIncluded.Value
		if _, tier, ok := strings.Cut(rest, ".tier"); ok {
			switch tier { // io2's: up to 32,000, to 64,000, above (Amazon EBS pricing, 2025)
			case "2":
				over = 32_000
			case "3":
				over = 64_000
			default:
				in.Skipped++
				return nil
			}
		}

		prices.tier(over, usd)
	case kind == "P-Throughput" && strings.HasPrefix(strings.ToLower(unit), "gibps"):
		prices.Throughput = []ThroughputTier{{Over: product.ThroughputIncluded.Value, EachMiBps: usd / 1024}}
	case kind == "P-Throughput" && strings.HasPrefix(strings.ToLower(unit), "mibps"):
		prices.Throughput = []ThroughputTier{{Over: product.ThroughputIncluded.Value, EachMiBps: usd}}
	default:
		in.Skipped++
	}

	return nil
}

// tier puts a price of IOPS in order.
func (p *Prices) tier(over IOPS, usd units.USD) {
	p.IOPS = slices.DeleteFunc(p.IOPS, func(t Tier) bool { return t.Over == over })
	p.IOPS = append(p.IOPS, Tier{over, usd})
	slices.SortFunc(p.IOPS, func(a, b Tier) int { return int(a.Over - b.Over) })
}

// prices returns the prices of a type in a region, new ones if there are none yet; nil if there are
// too many.
func (in *Import) prices(name, region string) *Prices {
	for i := range in.VolumePrices {
		if v := &in.VolumePrices[i]; v.Type == name && v.Prices.Region == region {
			return &v.Prices
		}
	}
	if len(in.VolumePrices) >= regionsMax*len(types) {
		return nil
	}
	in.VolumePrices = append(in.VolumePrices, NamedPrices{name, Prices{Region: region, Source: in.Source}})
	return &in.VolumePrices[len(in.VolumePrices)-1].Prices
}

// columns are the names of columns in a price list.
var columns = map[string]string{
	"instance_type": "type", "instance": "type", "type": "type", "api_name": "type", "name": "type",
	"usd_per_hour": "usd", "usd/hour": "usd", "usd/h": "usd", "price": "usd", "on_demand": "usd",
	"price_per_hour": "usd", "hourly": "usd",
	"region": "region",
}

// list reads comma-separated prices of instances: a header that names the columns (instance_type,
// usd_per_hour, and perhaps region, in any order and among others), then one row per type.
func (in *Import) list(r io.Reader) error {
	rows := csv.NewReader(r)
	rows.ReuseRecord, rows.TrimLeadingSpace = true, true
	header, err := rows.Read()
	if err != nil {
		return fmt.Errorf("neither JSON nor a list of prices with a header: %w", err)
	}

	at := map[string]int{}
	for i, name := range header {
		key := strings.ReplaceAll(strings.ToLower(strings.TrimSpace(strings.TrimPrefix(name, "\ufeff"))), " ", "_")
		if what := columns[key]; what != "" {
			if _, twice := at[what]; !twice {
				at[what] = i
			}
		}
	}

	name, okName := at["type"]
	usd, okPrice := at["usd"]
	if !okName || !okPrice {
		return fmt.Errorf("line 1: neither JSON nor a list of prices: its header needs instance_type and usd_per_hour")
	}

	said := map[string]units.USD{}
	for {
		row, err := rows.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}

		if err != nil {
			return err // says its line
		}

		line, _ := rows.FieldPos(0)
		price, err := strconv.ParseFloat(strings.TrimPrefix(row[usd], "$"), 64)
		if err != nil {
			return fmt.Errorf("line %d: %q is not a price in USD per hour", line, row[usd])
		}

		region := Region
		if i, ok := at["region"]; ok {
			region = row[i]
		}

		of := row[name] + " in " + region
		if before, twice := said[of]; twice && before != units.USD(price) {
			return fmt.Errorf("line %d: %s costs %v USD per hour, but %v in an earlier line", line, of,
				price, float64(before))
		}

		said[of] = units.USD(price)
		if err := in.addInstance(strings.Clone(row[name]), strings.Clone(region), units.USD(price)); err != nil {
			return fmt.Errorf("line %d: %w", line, err)
		}
	}
}
