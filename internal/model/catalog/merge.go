package catalog

import (
	"fmt"
	"slices"
	"strings"
)

// merge puts new entries into a list, replacing those with the same key, and returns it sorted by
// key.
func merge[T any](list, with []T, key func(*T) string) []T {
	at := make(map[string]int, len(list)+len(with))
	for i := range list {
		at[key(&list[i])] = i
	}

	for i := range with {
		k := key(&with[i])
		if j, ok := at[k]; ok {
			list[j] = with[i]
			continue
		}
		at[k] = len(list)
		list = append(list, with[i])
	}

	slices.SortFunc(list, func(a, b T) int { return strings.Compare(key(&a), key(&b)) })
	return list
}

// completed fills the gaps in a volume's imported prices from those known before for the same
// region: a list of IOPS alone must not make the price of the size unknown.
func (c *Catalog) completed(n *NamedPrices) NamedPrices {
	out := *n
	t, err := Type(n.Type)
	if err != nil {
		return out
	}

	for _, p := range c.prices(t) {
		if p.Region != n.Prices.Region {
			continue
		}

		if out.Prices.PerGiB == 0 {
			out.Prices.PerGiB = p.PerGiB
		}

		if len(out.Prices.IOPS) == 0 {
			out.Prices.IOPS = p.IOPS
		}

		if len(out.Prices.Throughput) == 0 {
			out.Prices.Throughput = p.Throughput
		}

		for _, known := range p.Sizes { // a page of a list has only some of them
			if !slices.ContainsFunc(out.Prices.Sizes, func(s SizePrice) bool { return s.Most == known.Most }) {
				out.Prices.size(known.Most, known.Each)
			}
		}

		break
	}

	return out
}

// Catalog is the embedded catalogue with the store's entries over it. An imported instance keeps
// what its description lacks: prices, and the measurements of its local disks.
func (s *Store) Catalog() *Catalog {
	c := &Catalog{instances: slices.Clone(allMachines()), volumes: map[string][]Prices{}}
	imported := make([]InstanceType, len(s.Instances))
	for i := range s.Instances {
		n := s.Instances[i].instance()
		if old, err := c.Instance(n.Name); err == nil {
			n.Prices = old.Prices
			// A different size may be a different disk, whose measurements would not apply.
			if n.Disk.Count > 0 && n.Disk.Size == old.Disk.Size {
				n.Disk.Read, n.Disk.Write = old.Disk.Read, old.Disk.Write
			}
		}
		imported[i] = n
	}

	c.instances = merge(c.instances, imported, func(i *InstanceType) string { return i.Name })
	for i := range s.InstancePrices {
		p := &s.InstancePrices[i]
		j, ok := c.find(p.Instance)
		if !ok {
			continue // only its price is known
		}
		// Clone first: the embedded catalogue shares the slice.
		others := slices.DeleteFunc(slices.Clone(c.instances[j].Prices),
			func(o InstancePrice) bool { return o.Region == p.Price.Region })
		c.instances[j].Prices = append(others, p.Price)
	}

	for i := range s.VolumePrices {
		v := &s.VolumePrices[i]
		c.volumes[v.Type] = append(c.volumes[v.Type], v.Prices)
	}

	return c
}

// changes returns what an import changed, in the order of the import.
func changes(before, after *Catalog, in *Import) []Change {
	var out []Change
	note := func(of, was, now string) {
		c := Change{Of: of, Kind: "changed", Was: was, IsNow: now}
		switch was {
		case "":
			c.Kind = "added"
		case now:
			c.Kind, c.Was, c.IsNow = "same", "", ""
		}
		out = append(out, c)
	}

	for i := range in.Instances {
		name := in.Instances[i].Name
		note(name, before.summary(name), after.summary(name))
	}

	for i := range in.InstancePrices {
		p := &in.InstancePrices[i]
		region := p.Price.Region
		note("price of "+p.Instance+" in "+region, before.hourly(p.Instance, region),
			fmt.Sprintf("%v USD an hour", float64(p.Price.Hourly)))
	}

	for i := range in.VolumePrices {
		v := &in.VolumePrices[i]
		note("prices of "+v.Type+" in "+v.Prices.Region, before.priceText(v.Type, v.Prices.Region),
			after.priceText(v.Type, v.Prices.Region))
	}

	return out
}

// summary describes an instance in one line; "" if it is not known.
func (c *Catalog) summary(name string) string {
	i, err := c.Instance(name)
	if err != nil {
		return ""
	}

	text := fmt.Sprintf("%d vCPU, %s", i.VCPU, i.Memory)
	if i.HasEBS {
		text += fmt.Sprintf(", %s IOPS and %s", IOPS(i.Baseline.IOPS), rate(i.Baseline.Throughput))
		if i.Bursts() {
			text += fmt.Sprintf(", to %s and %s", IOPS(i.Maximum.IOPS), rate(i.Maximum.Throughput))
		}
	}

	if d := i.Disk; d.Count > 0 {
		text += fmt.Sprintf(", %d x %s", d.Count, d.Size)
	}

	return text
}

func (c *Catalog) hourly(name, region string) string {
	if i, err := c.Instance(name); err == nil {
		if p, ok := i.Hourly(region); ok {
			return fmt.Sprintf("%v USD an hour", float64(p.Hourly))
		}
	}
	return ""
}

func (c *Catalog) priceText(name, region string) string {
	t, err := Type(name)
	if err != nil {
		return ""
	}
	for _, p := range c.Prices(t) {
		if p.Region == region {
			return p.String()
		}
	}
	return ""
}

// String formats the monthly prices in one line.
func (p *Prices) String() string {
	var parts []string
	if p.PerGiB != 0 {
		parts = append(parts, fmt.Sprintf("%v USD/GiB", float64(p.PerGiB)))
	}

	if n := len(p.Sizes); n > 0 {
		for i, s := range p.Sizes {
			switch {
			case s.Each > 0:
				parts = append(parts, fmt.Sprintf("%v USD up to %s", float64(s.Each), s.Most.Exact()))
			case i < n-1:
				parts = append(parts, "up to "+s.Most.Exact()+" not known")
			}
		}
	}

	for _, t := range p.IOPS {
		text := fmt.Sprintf("%v USD/IOPS", float64(t.Each))
		if t.Over > 0 {
			text += " over " + t.Over.String()
		}
		parts = append(parts, text)
	}

	for _, t := range p.Throughput {
		parts = append(parts, fmt.Sprintf("%v USD per MiB/s over %s", float64(t.EachMiBps), rate(t.Over)))
	}

	return strings.Join(parts, ", ")
}

// Short formats prices for a table's cell: the first price of each kind beyond what is included.
func (p *Prices) Short() string {
	text := fmt.Sprintf("%v/GiB", float64(p.PerGiB))
	if p.PerGiB == 0 && len(p.Sizes) > 0 {
		text = "by its size"
	}
	if len(p.IOPS) > 0 {
		text += fmt.Sprintf(" + %v/IOPS", float64(p.IOPS[0].Each))
	}
	if len(p.Throughput) > 0 {
		text += fmt.Sprintf(" + %v/MiB/s", float64(p.Throughput[0].EachMiBps))
	}
	return text
}
