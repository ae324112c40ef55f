package catalog

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"plimsoll/internal/base/inputerror"
	"plimsoll/internal/base/units"
)

// Prices are a volume type's monthly prices in a region. Imported prices may be incomplete.
type Prices struct {
	Region string `json:"region"`
	Source
	PerGiB     units.USD        `json:"per_gib_month"` // providers write GB and bill GiB
	IOPS       []Tier           `json:"iops,omitempty"`
	Throughput []ThroughputTier `json:"throughput,omitempty"`
	Sizes      []SizePrice      `json:"sizes,omitempty"` // instead of PerGiB, for types that are sold in sizes
	Note       string           `json:"note,omitempty"`
}

// A Tier is the price of each IOPS above a number, up to the next tier's.
type Tier struct {
	Over IOPS      `json:"over"`
	Each units.USD `json:"each"`
}

// A ThroughputTier is the price of each MiB/s over a throughput.
type ThroughputTier struct {
	Over      units.Throughput `json:"over"`
	EachMiBps units.USD        `json:"each_mibps"`
}

// A SizePrice is the total price of a volume up to a size.
type SizePrice struct {
	Most units.Size `json:"most"`
	Each units.USD  `json:"each"` // 0: not known
}

// A Line is one item of a bill.
type Line struct {
	Text   string // "13,000 IOPS over 3,000, 0.005 USD each"
	Amount units.USD
}

// A Bill is an order's monthly cost.
type Bill struct {
	Total  units.USD
	Lines  []Line
	Region string
	Source Source
}

// A NoPriceError reports an unknown price. It must not be treated as 0.
type NoPriceError struct {
	Of, Region string
	Provider   string   // whose prices are missing
	Known      []string // regions with known prices
}

func (e *NoPriceError) Error() string {
	text := fmt.Sprintf("no known price of %s in %s", e.Of, e.Region)
	if len(e.Known) > 0 {
		known := e.Known
		if len(known) > 8 {
			known = append(slices.Clone(known[:8]), "...")
		}
		text += " (there are for " + strings.Join(known, ", ") + ")"
	}
	return text
}

// Hint explains how to obtain prices.
func (e *NoPriceError) Hint() string {
	if len(e.Known) > 0 {
		return "--region " + e.Known[0] + ", or " + e.Importing()
	}
	return e.Importing()
}

// Importing explains how to import prices.
func (e *NoPriceError) Importing() string {
	region := e.Region

	// us-east-1 is the default for all clouds; suggest the equivalent region of this one.
	if region == Region {
		region = DefaultRegion(e.Provider)
	}

	switch e.Provider {
	case "azure":
		return "import them: curl \"https://prices.azure.com/api/retail/prices?\\$filter=serviceName%20eq%20'Storage'%20and%20armRegionName%20eq%20'" +
			region +
			"'%20and%20priceType%20eq%20'Consumption'%20and%20(contains(productName,'Premium%20SSD')%20or%20productName%20eq%20'Ultra%20Disks')\" > prices.json && plimsoll catalog import prices.json, and name the region with --region"
	case "gcp":
		return "import them: curl \"https://cloudbilling.googleapis.com/v1/services/6F81-5844-456A/skus?pageSize=5000&key=KEY\" > prices.json && plimsoll catalog import prices.json, and name the region with --region " +
			region
	}

	return "import them: aws pricing get-products --service-code AmazonEC2 --filters Type=TERM_MATCH,Field=regionCode,Value=" +
		region +
		" > prices.json && plimsoll catalog import prices.json"
}

// Monthly returns what an order costs per month in a region, "" for the default region of its cloud, for all
// members of its stripe together. The error is a *NoPriceError if no price is known. The order must have
// passed Check.
func (c *Catalog) Monthly(o *Order, region string) (Bill, error) {
	t, err := Type(o.Type)
	if err != nil {
		return Bill{}, err
	}

	if region == "" {
		region = DefaultRegion(t.Provider)
	}

	if t.Local {
		return Bill{Region: region, Lines: []Line{{Text: "in the price of the instance"}}}, nil
	}

	prices := c.prices(t)
	i := slices.IndexFunc(prices, func(p Prices) bool { return p.Region == region })
	if i < 0 {
		none := &NoPriceError{Of: t.Name, Region: region, Provider: t.Provider}
		for _, p := range prices {
			if !slices.Contains(none.Known, p.Region) {
				none.Known = append(none.Known, p.Region)
			}
		}
		return Bill{}, none
	}

	return prices[i].bill(t, o)
}

// ofSize returns the price of the size in which an order is sold; nil if it is not known.
func (p *Prices) ofSize(o *Order) *SizePrice {
	i := slices.IndexFunc(p.Sizes, func(s SizePrice) bool { return o.Size <= s.Most })
	if i < 0 || p.Sizes[i].Each == 0 {
		return nil
	}
	return &p.Sizes[i]
}

// bill prices an order. Imported prices may be incomplete; a missing part is not a price of 0.
// Amounts are printed and compared, never simulated.
func (p *Prices) bill(t *VolumeType, order *Order) (Bill, error) {
	limits := t.limits(t, order, nil)

	// Providers bill provisioned amounts, and the limits include the defaults that an order does not
	// state.
	iops := IOPS(limits.Sustained.IOPS)

	missing := ""
	switch {
	case order.OnDemandBursting:
		missing = "the on-demand bursting of " + t.Name
	case p.PerGiB == 0 && p.ofSize(order) == nil:
		missing = "the size of " + t.Name
	case t.ChoosesIOPS && len(p.IOPS) == 0 && iops > t.IOPSIncluded.Value:
		missing = "the IOPS of " + t.Name
	case t.ChoosesThroughput && len(p.Throughput) == 0 &&
		limits.Sustained.Throughput > t.ThroughputIncluded.Value:
		missing = "the throughput of " + t.Name
	}

	if missing != "" {
		return Bill{}, &NoPriceError{Of: missing, Region: p.Region, Provider: t.Provider}
	}

	n := float64(order.Members())
	times := ""
	if order.Members() > 1 {
		times = fmt.Sprintf("%d x ", order.Members())
	}

	out := Bill{Region: p.Region, Source: p.Source}
	add := func(amount float64, format string, args ...any) {
		out.Lines = append(out.Lines, Line{times + fmt.Sprintf(format, args...), units.USD(amount * n)})
		out.Total += units.USD(amount * n)
	}

	if s := p.ofSize(order); s != nil {
		add(float64(s.Each), "a volume of up to %s, %v USD", s.Most.Exact(), float64(s.Each))
	} else {
		add(float64(order.gib())*float64(p.PerGiB), "%s GiB, %v USD each", units.Count(order.gib()), float64(p.PerGiB))
	}

	for i, tier := range p.IOPS {
		// Each tier prices only the part between its own threshold and the next tier's.
		most := iops
		if i+1 < len(p.IOPS) {
			most = min(most, p.IOPS[i+1].Over)
		}

		if most <= tier.Over {
			break
		}

		over := ""
		if tier.Over > 0 {
			over = " over " + tier.Over.String()
		}

		add(float64(most-tier.Over)*float64(tier.Each), "%s IOPS%s, %v USD each", most-tier.Over, over,
			float64(tier.Each))
	}

	for _, tier := range p.Throughput {
		if limits.Sustained.Throughput > tier.Over {
			mib := float64(limits.Sustained.Throughput-tier.Over) / float64(units.MiBps)
			add(mib*float64(tier.EachMiBps), "%s over %s, %v USD a MiB/s", rate(limits.Sustained.Throughput-tier.Over),
				rate(tier.Over), float64(tier.EachMiBps))
		}
	}

	return out, nil
}

// Monthly returns what an instance costs per month of 730 hours in a region, "" for us-east-1. The
// error is a *NoPriceError if the price is not known.
func (i *InstanceType) Monthly(region string) (units.USD, error) {
	if region == "" {
		region = DefaultRegion(i.Of())
	}
	p, ok := i.Hourly(region)
	if !ok {
		return 0, &NoPriceError{Of: i.Name, Region: region, Provider: i.Of()}
	}
	return p.Hourly * Hours, nil
}

// A Catalog is the embedded catalogue with imports over it. A nil Catalog has no imports.
type Catalog struct {
	instances []InstanceType // by name
	volumes   map[string][]Prices
}

// Embedded is the catalogue that is part of this program.
func Embedded() *Catalog { return &Catalog{instances: allMachines()} }

// allMachines are the machines of all clouds, by name.
var allMachines = sync.OnceValue(func() []InstanceType {
	all := slices.Concat(embedded(), machines())
	slices.SortFunc(all, func(a, b InstanceType) int { return strings.Compare(a.Name, b.Name) })
	return all
})

// Instances are all types of instances, by name. They must not be changed.
func (c *Catalog) Instances() []InstanceType {
	if c == nil {
		return allMachines()
	}
	return c.instances
}

// InstanceNames are the names of all types of instances.
func (c *Catalog) InstanceNames() []string {
	all := c.Instances()
	names := make([]string, len(all))
	for i := range all {
		names[i] = all[i].Name
	}
	return names
}

// Instance returns an instance type. The error, a [inputerror.Problem], suggests similar names.
func (c *Catalog) Instance(name string) (*InstanceType, error) {
	i, ok := c.find(name)
	if !ok {
		if name == "" {
			return nil, inputerror.Problem{Field: "instance", Text: "missing: an instance type, such as m6i.xlarge"}
		}
		return nil, unknownInstance(name, c.InstanceNames())
	}
	// A copy, so that callers cannot change the catalogue.
	found := c.Instances()[i]
	return &found, nil
}

// find returns the index of the instance with a name.
func (c *Catalog) find(name string) (int, bool) {
	lower := strings.ToLower(strings.TrimSpace(name))
	return slices.BinarySearchFunc(c.Instances(), lower,
		func(t InstanceType, name string) int { return strings.Compare(t.Name, name) })
}

// prices of a type: imported ones first, because the first of a region counts.
func (c *Catalog) prices(t *VolumeType) []Prices {
	if c == nil {
		return slices.Clone(t.Prices)
	}
	return append(slices.Clone(c.volumes[t.Name]), t.Prices...)
}

// Prices are the known prices of a type, one for each region.
func (c *Catalog) Prices(t *VolumeType) []Prices {
	var out []Prices
	for _, p := range c.prices(t) {
		if !slices.ContainsFunc(out, func(o Prices) bool { return o.Region == p.Region }) {
			out = append(out, p)
		}
	}
	return out
}
