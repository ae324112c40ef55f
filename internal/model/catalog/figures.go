package catalog

import (
	"fmt"
	"math"
	"strings"

	"plimsoll/internal/base/units"
	"plimsoll/internal/model/volume"
)

// A Fact is one figure as text, with its source.
type Fact struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	Source
	Note string `json:"note,omitempty"`
}

// Facts are all figures of a type, in display order.
func (t *VolumeType) Facts() []Fact {
	var out []Fact
	add := func(name, value string, s Source, notes ...string) {
		if s.Text == "" {
			return
		}
		var said []string
		for _, n := range notes {
			if n != "" {
				said = append(said, n)
			}
		}
		out = append(out, Fact{name, value, s, strings.Join(said, "; ")})
	}

	add("size", t.SizeMin.Value.Exact()+" to "+t.SizeMax.Value.Exact(), t.SizeMin.Source, t.SizeMin.Note,
		t.SizeMax.Note)
	add("IOPS included", t.IOPSIncluded.Value.String(), t.IOPSIncluded.Source, t.IOPSIncluded.Note)
	add("IOPS at least", t.IOPSMin.Value.String(), t.IOPSMin.Source, t.IOPSMin.Note)
	add("IOPS at most", t.IOPSMax.Value.String(), t.IOPSMax.Source, t.IOPSMax.Note)
	add("IOPS per GiB at least", t.IOPSLeastPerGiB.Value.String(), t.IOPSLeastPerGiB.Source,
		t.IOPSLeastPerGiB.Note)
	add("IOPS per GiB at most", t.IOPSPerGiB.Value.String(), t.IOPSPerGiB.Source, t.IOPSPerGiB.Note)
	add("throughput included", rate(t.ThroughputIncluded.Value), t.ThroughputIncluded.Source,
		t.ThroughputIncluded.Note)
	add("throughput at least", rate(t.ThroughputMin.Value), t.ThroughputMin.Source, t.ThroughputMin.Note)
	add("throughput at most", rate(t.ThroughputMax.Value), t.ThroughputMax.Source, t.ThroughputMax.Note)

	if per := t.ThroughputPerIOPS; per.Known() {
		add("throughput per IOPS", per.Note, per.Source)
	}

	if least := t.ThroughputLeastPerIOPS; least.Known() {
		add("throughput per IOPS at least", least.Note, least.Source)
	}

	merged := ""
	if t.Merge {
		merged = "contiguous requests are counted as one up to that size, a larger one as several"
	}

	if least := t.ThroughputLeastPerGiB; least.Known() {
		add("throughput by size at least", least.Note, least.Source)
	}

	add("an operation carries", t.Operation.Value.Exact(), t.Operation.Source, merged)
	if f := t.FirstTouch; f.Known() {
		add("from a snapshot", rate(f.Value)+" at first access, "+firstTouchTakes.String()+" a block",
			f.Source, f.Note)
		add("initialization rate", rate(initializationMin)+" to "+rate(initializationMost),
			ebsInitialize, "charged by size and rate; the price is not known here")
	}

	for _, r := range t.Rules {
		add("rule", r.Value, r.Source, r.Note)
	}

	latency := func(name string, c *volume.Calibration) {
		d := c.Latency()
		assumed := c.Assumed
		if assumed != "" {
			assumed = "assumed: " + assumed
		}
		add(name, fmt.Sprintf("mean %v, p50 %v, p99 %v, p99.9 %v", d.Mean(), d.Quantile(.5), d.Quantile(.99),
			d.Quantile(.999)),
			Source{Text: c.Source}, basisWords[t.LatencyBasis], t.LatencyNote, t.spread(c), assumed)
	}

	switch {
	case t.Read == nil:
	case t.Read == t.Write:
		latency("latency", t.Read)
	default:
		latency("read latency", t.Read)
		latency("write latency", t.Write)
	}

	return out
}

// Range is the limits that a type can have, in a few words: "3,000 - 80,000".
func (t *VolumeType) Range() (iops, throughput string) {
	if t.IOPSMax.Known() {
		iops = t.IOPSMax.Value.String()
		if t.IOPSMin.Known() {
			iops = t.IOPSMin.Value.String() + " - " + iops
		}
	}
	if t.ThroughputMax.Known() {
		throughput = rate(t.ThroughputMax.Value)
		if t.ThroughputMin.Known() {
			least, unit, _ := strings.Cut(rate(t.ThroughputMin.Value), " ")
			throughput = least + " - " + strings.TrimSuffix(throughput, " "+unit) + " " + unit
		}
	}
	return iops, throughput
}

// examples are orders that show a type's particular properties.
var examples = map[string]Order{
	"gp3":                   {Size: 2500 * units.GiB, IOPS: 16_000, Throughput: 250 * units.MiBps},
	"gp2":                   {Size: 300 * units.GiB},
	"io2":                   {Size: 100 * units.GiB, IOPS: 40_000},
	"io1":                   {Size: 1000 * units.GiB, IOPS: 40_000},
	"st1":                   {Size: 2 * units.TiB},
	"sc1":                   {Size: 2 * units.TiB},
	"hyperdisk-balanced":    {Size: 1000 * units.GiB, IOPS: 10_000, Throughput: 500 * units.MiBps},
	"hyperdisk-balanced-ha": {Size: 1000 * units.GiB, IOPS: 10_000, Throughput: 500 * units.MiBps},
	"hyperdisk-extreme":     {Size: 1000 * units.GiB, IOPS: 50_000},
	"hyperdisk-throughput":  {Size: 4 * units.TiB, Throughput: 300 * units.MiBps},
	"hyperdisk-ml":          {Size: units.TiB, Throughput: 1200 * units.MiBps},
	"pd-ssd":                {Size: 500 * units.GiB},
	"pd-balanced":           {Size: 500 * units.GiB},
	"pd-standard":           {Size: 2 * units.TiB},
	"standard-ssd":          {Size: 512 * units.GiB},
	"standard-hdd":          {Size: 2 * units.TiB},
	"premium-v2":            {Size: 1000 * units.GiB, IOPS: 10_000, Throughput: 500 * units.MBps},
	"ultra":                 {Size: 1000 * units.GiB, IOPS: 50_000, Throughput: 1000 * units.MBps},
	"premium-ssd":           {Size: 512 * units.GiB},
	"nvme":                  {Stripe: 2},
	"custom": {Size: units.TiB, IOPS: 5000, Throughput: 200 * units.MiBps,
		Operation: 256 * units.KiB, Latency: &LatencyOrder{Like: "gp3"}},
}

// Example is an order of the type for help and for the catalogue's worked example.
func (t *VolumeType) Example() *Order {
	o := examples[t.Name]
	o.Type = t.Name
	return &o
}

// String returns the order as a user would write it, with the most important part.
func (o *Order) String() string {
	parts := []string{"type: " + o.Type}
	add := func(given bool, name string, value any) {
		if given {
			parts = append(parts, fmt.Sprintf("%s: %v", name, value))
		}
	}

	add(o.Size != 0, "size", o.Size.Exact())
	add(o.IOPS != 0, "iops", int64(o.IOPS))
	add(o.IOPSPerGB != 0, "iops_per_gb", int64(o.IOPSPerGB))
	add(o.Throughput != 0, "throughput", written(o.Throughput))
	add(o.Caching != "", "caching", o.Caching)
	add(o.OnDemandBursting, "on_demand_bursting", true)
	add(o.Card != 0, "card", o.Card)
	add(o.Stripe != 0, "stripe", o.Stripe)
	add(o.StripeUnit != 0, "stripe_unit", o.StripeUnit.Exact())
	add(o.QueueSlots != 0, "queue_slots", o.QueueSlots)
	add(o.Operation != 0, "operation", o.Operation.Exact())
	add(o.FromSnapshot, "from_snapshot", true)
	add(o.InitializationRate != 0, "initialization_rate", written(o.InitializationRate))
	add(o.Latency != nil, "latency", o.Latency)
	add(o.Episodes != nil, "episodes", "{...}")

	return "{" + strings.Join(parts, ", ") + "}"
}

// String returns the order as a user would write it; its own distributions are only mentioned.
func (l *LatencyOrder) String() string {
	if l == nil {
		return "{}"
	}

	var parts []string
	if l.Like != "" {
		parts = append(parts, "like: "+l.Like)
	}

	if l.Scale != 0 {
		parts = append(parts, fmt.Sprintf("scale: %v%%", math.Round(float64(l.Scale*1e4))/100))
	}

	for _, q := range []struct {
		name string
		of   *Quantiles
	}{{"read", l.Read}, {"write", l.Write}, {"flush", l.Flush}} {
		if q.of != nil {
			parts = append(parts, q.name+": {...}")
		}
	}

	return "{" + strings.Join(parts, ", ") + "}"
}

// Gives describes the performance of an order on a type of instance (nil: on any): the limits of
// one volume, how long its burst lasts, and the sum for a stripe. The order must have passed Check.
func (o *Order) Gives(on *InstanceType) ([]string, error) {
	limits, err := o.Limits(on)
	if err != nil {
		return nil, err
	}

	var out []string
	say := func(before string, r volume.Rate) {
		var parts []string
		if r.IOPS != 0 {
			parts = append(parts, units.Count(int64(r.IOPS))+" IOPS")
		}
		if r.Throughput != 0 {
			parts = append(parts, rate(r.Throughput))
		}
		if len(parts) > 0 {
			out = append(out, before+strings.Join(parts, ", "))
		}
	}

	say("", limits.Sustained)
	say("reads ", limits.ReadOnly)
	say("writes ", limits.WriteOnly)

	if b := limits.Burst; b != nil {
		over := float64(b.At.IOPS - limits.Sustained.IOPS)
		// The bucket drains at the difference between burst and refill.
		if b.Bytes {
			over = float64(b.At.Throughput - limits.Sustained.Throughput)
		}
		say("burst ", b.At)
		if over > 0 {
			out[len(out)-1] += fmt.Sprintf(", for %v from a full bucket", units.Duration(float64(b.Capacity)/over*1e9))
		}
	}

	if n := o.Members(); n > 1 {
		say(fmt.Sprintf("the stripe of %d ", n), times(limits.Sustained, n))
		say(fmt.Sprintf("the stripe of %d reads ", n), times(limits.ReadOnly, n))
		say(fmt.Sprintf("the stripe of %d writes ", n), times(limits.WriteOnly, n))
	}

	return out, nil
}

func times(r volume.Rate, n int) volume.Rate {
	return volume.Rate{IOPS: r.IOPS * units.Frequency(n), Throughput: r.Throughput * units.Throughput(n)}
}
