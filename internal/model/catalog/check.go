package catalog

import (
	"fmt"
	"slices"

	"plimsoll/internal/base/inputerror"
	"plimsoll/internal/base/units"
)

// A checker gathers the problems of an order.
type checker struct {
	inputerror.List
	t *VolumeType
	o *Order
}

func (c *checker) add(field, text, limit string, s Source, nearest string) {
	source := ""
	if s.Text != "" {
		source = s.String()
	}
	c.List = append(c.List, inputerror.Problem{Field: field, Text: text, Limit: limit, Source: source,
		Nearest: nearest})
}

// Check returns all mistakes in an order, with fields as in its YAML; the list's Err is nil if there
// are none. It does not consider the volume's instance: see [Order.CheckOn].
func (o *Order) Check() inputerror.List {
	t, err := Type(o.Type)
	if err != nil {
		p, _ := err.(inputerror.Problem) //nolint:errorlint // Type gives it as it is
		return inputerror.List{p}
	}

	c := &checker{t: t, o: o}
	c.size()
	c.iops()
	c.throughput()
	c.stripe()

	if t.Name == "custom" {
		c.custom()
	} else {
		c.customOnly()
	}

	c.attached()
	c.fromSnapshot()
	c.latency()

	if len(c.List) == 0 {
		// The remaining bounds are the model's, not the product's.
		if cfg, err := o.Config("", nil); err != nil {
			c.Addf("", "%v", err)
		} else if err := cfg.Check(); err != nil {
			c.Addf("", "%s", withoutName(err))
		}
	}

	return c.List
}

func (c *checker) size() {
	o, t := c.o, c.t
	least, most := t.SizeMin, t.SizeMax
	switch {
	case o.Size < 0:
		c.add("size", "negative", "", Source{}, "")
	case o.Size == 0 && least.Known():
		c.add("size", "missing, or 0: limits and price depend on it",
			"from "+least.Value.Exact()+" to "+most.Value.Exact(), least.Source, "")
	case o.Size != 0 && least.Known() && o.Size < least.Value:
		c.add("size", fmt.Sprintf("%s is less than the minimum of %s", o.Size.Exact(), t.Name),
			"at least "+least.Value.Exact(), least.Source, least.Value.Exact())
	case most.Known() && o.Size > most.Value:
		c.add("size", fmt.Sprintf("%s is more than the maximum of %s", o.Size.Exact(), t.Name),
			"at most "+most.Value.Exact(), most.Source, most.Value.Exact())
	}
}

// iops checks the ordered IOPS, under the field that orders them.
func (c *checker) iops() {
	order, kind := c.o, c.t
	if order.IOPS < 0 || order.IOPSPerGB < 0 {
		c.add("iops", "negative", "", Source{}, "")
		return
	}

	if order.IOPS != 0 && order.IOPSPerGB != 0 {
		c.add("iops_per_gb", fmt.Sprintf("set in addition to iops: set only one of them; %s per GiB on %s is %s", order.IOPSPerGB,
			order.Size.Exact(), units.Count(int64(order.IOPSPerGB)*order.gib())), "",
			Source{}, "")
	}

	field := "iops"
	if order.IOPS == 0 && order.IOPSPerGB != 0 {
		field = "iops_per_gb"
		if order.Size == 0 {
			c.add(field, "needs a size", "", Source{}, "")
			return
		}
	}

	asked := order.asked(kind)
	if !kind.ChoosesIOPS {
		if asked != 0 {
			c.add(field, fmt.Sprintf("cannot be set on %s: %s", kind.Name, c.rule()), "", c.ruleSource(), "")
		}
		return
	}

	if asked == 0 {
		if kind.IOPSMin.Known() && !kind.IOPSIncluded.Known() {
			c.add("iops", fmt.Sprintf("missing: %s has no default", kind.Name),
				fmt.Sprintf("from %s to %s", kind.IOPSMin.Value, kind.IOPSMax.Value), kind.IOPSMin.Source,
				nearestIOPS(max(kind.IOPSMin.Value, kind.IOPSLeastPerGiB.Value*IOPS(order.gib()))))
		}
		return
	}

	c.iopsBounds(field, asked)
}

func (c *checker) iopsBounds(field string, asked IOPS) {
	order, product := c.o, c.t
	gib := IOPS(order.gib())
	down := func(n IOPS) string { // the nearest value that the field can express
		if field == "iops" {
			return nearestIOPS(n)
		}
		return nearestIOPS(n / gib)
	}

	text := asked.String() + " IOPS"
	if field == "iops_per_gb" {
		text = fmt.Sprintf("%s per GiB on %d GiB are %s IOPS", order.IOPSPerGB, gib, asked)
	}

	perGiB := product.IOPSPerGiB

	// The included IOPS come with every size, even if the ratio allows fewer.
	bySize := max(perGiB.Value*gib, product.IOPSIncluded.Value)
	switch {
	case product.IOPSMax.Known() && asked > product.IOPSMax.Value:
		nearest := product.IOPSMax.Value
		if perGiB.Known() && order.Size > 0 {
			nearest = min(nearest, bySize)
		}
		c.add(field, text+": more than the maximum of "+product.Name,
			"at most "+product.IOPSMax.Value.String()+" IOPS",
			product.IOPSMax.Source, down(nearest))
	case product.IOPSMin.Known() && asked < product.IOPSMin.Value:
		nearest := product.IOPSMin.Value
		if field == "iops_per_gb" {
			// Round up: rounding down would again be below the minimum.
			nearest = (nearest + gib - 1) / gib
		}
		c.add(field, text+": fewer than the minimum of "+product.Name,
			"at least "+product.IOPSMin.Value.String()+" IOPS",
			product.IOPSMin.Source, nearestIOPS(nearest))
	case product.IOPSLeastPerGiB.Known() && order.Size > 0 && asked < product.IOPSLeastPerGiB.Value*gib:
		least := product.IOPSLeastPerGiB.Value
		c.add(field, fmt.Sprintf("%s on %d GiB: fewer than the minimum of %s at that size", text, gib, product.Name),
			fmt.Sprintf("at least %s IOPS per GiB", least), product.IOPSLeastPerGiB.Source,
			nearestIOPS(least*map[bool]IOPS{true: gib, false: 1}[field == "iops"]))
	case perGiB.Known() && order.Size > 0 && asked > bySize:
		c.add(field, fmt.Sprintf("%s on %d GiB: more than the maximum of %s at that size; they need %d GiB", text, gib, product.Name,
			(asked+perGiB.Value-1)/perGiB.Value),
			fmt.Sprintf("%s IOPS per GiB", perGiB.Value), perGiB.Source, down(bySize))
	}
}

func nearestIOPS(n IOPS) string { return fmt.Sprint(int64(n)) }

// rule is a type's first rule on how its limits follow from others.
func (c *checker) rule() string {
	if len(c.t.Rules) == 0 {
		return "it follows from the other settings"
	}
	return c.t.Rules[0].Value
}

func (c *checker) ruleSource() Source {
	if len(c.t.Rules) == 0 {
		return Source{}
	}
	return c.t.Rules[0].Source
}

func (c *checker) throughput() {
	order, product := c.o, c.t
	bySize := units.Throughput(product.ThroughputLeastPerGiB.Value) * units.Throughput(order.gib())
	switch {
	case order.Throughput < 0:
		c.add("throughput", "negative", "", Source{}, "")
		return
	case order.Throughput == 0:
		if product.ThroughputMin.Known() && !product.ThroughputIncluded.Known() {
			c.add("throughput", fmt.Sprintf("missing: %s has no default", product.Name),
				fmt.Sprintf("from %s to %s", rate(product.ThroughputMin.Value), rate(product.ThroughputMax.Value)),
				product.ThroughputMin.Source, written(max(product.ThroughputMin.Value, bySize)))
		}
		return
	case !product.ChoosesThroughput:
		rules := slices.Clone(product.Rules)
		rules = slices.DeleteFunc(rules, func(f Figure[string]) bool { return !speaksOfThroughput(f.Value) })
		if len(rules) == 0 {
			rules = product.Rules
		}
		c.add("throughput", fmt.Sprintf("cannot be set on %s: %s", product.Name, rules[0].Value), "",
			rules[0].Source, "")
		return
	}

	iops := order.asked(product)
	if iops == 0 {
		iops = product.IOPSIncluded.Value
	}

	// An impossible number has its own problem.
	iops = min(iops, max(product.IOPSMax.Value, product.IOPSIncluded.Value))
	most := product.ThroughputMax.Value

	byIOPS := units.Throughput(product.ThroughputPerIOPS.Value) * units.Throughput(iops)
	switch per := product.ThroughputPerIOPS; {
	case product.ThroughputMax.Known() && order.Throughput > most:
		nearest, limit := most, "at most "+rate(most)
		if byIOPS = max(byIOPS, product.ThroughputIncluded.Value); per.Known() && byIOPS < most {
			nearest, limit = byIOPS, fmt.Sprintf("%s, and with %s IOPS %s", limit, iops, rate(byIOPS))
		}
		c.add("throughput", rate(order.Throughput)+": more than the maximum of "+product.Name, limit, product.ThroughputMax.Source,
			written(nearest))
	case product.ThroughputMin.Known() && order.Throughput < product.ThroughputMin.Value:
		c.add("throughput", rate(order.Throughput)+": less than the minimum of "+product.Name,
			"at least "+rate(product.ThroughputMin.Value), product.ThroughputMin.Source, written(product.ThroughputMin.Value))
	case order.Throughput < bySize:
		least := product.ThroughputLeastPerGiB
		c.add("throughput", fmt.Sprintf("%s on %s: it needs at least %s", rate(order.Throughput), order.Size.Exact(),
			rate(bySize)), least.Note, least.Source, written(bySize))
	case order.Throughput < product.throughputLeast(iops):
		least := product.ThroughputLeastPerIOPS
		c.add("throughput", fmt.Sprintf("%s with %s IOPS: it needs at least %s", rate(order.Throughput), iops,
			rate(product.throughputLeast(iops))), least.Note, least.Source, written(product.throughputLeast(iops)))
	case per.Known() && order.Throughput > max(byIOPS, product.ThroughputIncluded.Value):
		// Rounded up, because fewer IOPS would not allow all of the throughput.
		need := (int64(order.Throughput) + int64(per.Value) - 1) / int64(per.Value)
		c.add("throughput", fmt.Sprintf("%s with %s IOPS: it needs %s IOPS", rate(order.Throughput), iops,
			units.Count(need)), per.Note, per.Source, written(byIOPS))
	}
}

// throughputLeast returns the minimum throughput that comes with IOPS, 0 if there is none.
func (t *VolumeType) throughputLeast(iops IOPS) units.Throughput {
	return units.Throughput(t.ThroughputLeastPerIOPS.Value) * units.Throughput(iops)
}

// attached checks the settings that concern the machine.
func (c *checker) attached() {
	o, t := c.o, c.t
	switch {
	case o.Caching == "":
	case o.Caching != NoCaching && !o.Caching.on():
		c.add("caching", fmt.Sprintf("%q", o.Caching), "one of none, read-only, read-write", Source{},
			inputerror.Nearest(string(o.Caching),
				[]string{string(NoCaching), string(CachedReads), string(CachedBoth)}))
	case t.Provider != "azure":
		c.add("caching", fmt.Sprintf("%s has no host caching: only Azure's disks do", t.Name), "", Source{}, "")
	case o.Caching.on() && t.Name != "premium-ssd" && t.Name != "standard-ssd" && t.Name != "standard-hdd":
		c.add("caching", fmt.Sprintf("%s cannot be cached by the host", t.Name), "", azureDocs, string(NoCaching))
	case o.Caching.on() && o.Size >= uncachedFrom:
		c.add("caching", o.Size.Exact()+" is too large to be cached by the host", "less than "+uncachedFrom.Exact(),
			azureCaching, string(NoCaching))
	}

	switch {
	case !o.OnDemandBursting:
	case t.Name != "premium-ssd":
		c.add("on_demand_bursting", t.Name+" has no on-demand bursting: only Azure's Premium SSD does", "", azureBursting, "")
	case o.Size > 0 && o.Size <= burstsByCredits:
		c.add("on_demand_bursting", o.Size.Exact()+" is too small", "more than "+burstsByCredits.Exact(),
			azureBursting, "")
	}

	if o.Card < 0 || o.Card > 0 && t.Provider != "aws" {
		c.add("card", fmt.Sprintf("card %d of %s: only AWS machines have EBS cards, counted from 0", o.Card, t.Name),
			"", Source{}, "0")
	}
}

func (c *checker) stripe() {
	o := c.o
	lvm := Source{"lvmcreate's stripes, lvm2 2.03", "2024"}
	if o.Stripe < 0 || o.Stripe > membersMax {
		c.add("stripe", fmt.Sprintf("%d volumes out of range", o.Stripe),
			fmt.Sprintf("from 1 to %d", membersMax), lvm, fmt.Sprint(min(max(o.Stripe, 1), membersMax)))
	}

	if u := o.StripeUnit; u != 0 && (u < 512 || u > units.GiB) {
		c.add("stripe_unit", u.Exact(), "from 512B (a sector) to 1GiB", Source{},
			min(max(u, 512), units.GiB).Exact())
	}

	if o.StripeUnit != 0 && o.Stripe < 2 {
		c.add("stripe_unit", "needs a stripe of 2 or more volumes", "", Source{}, "")
	}

	if o.QueueSlots < 0 || o.QueueSlots > 1<<20 {
		c.add("queue_slots", fmt.Sprintf("%d requests in flight", o.QueueSlots),
			"from 0 (unlimited) to 1048576", Source{}, fmt.Sprint(min(max(o.QueueSlots, 0), 1<<20)))
	}
}
