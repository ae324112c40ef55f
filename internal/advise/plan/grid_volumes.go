package plan

import (
	"slices"

	"plimsoll/internal/base/units"
	"plimsoll/internal/model/catalog"
	"plimsoll/internal/model/scenario"
)

// The grid of volumes. Ladders of IOPS and throughput double at each step, starting at the included
// figure, so that neighbours differ by more than the model's error.
const (
	ladder    = 2
	iopsFirst = 1000 // if the type includes none (io2, ultra)
	// ladderSteps bounds a ladder: 2^9 times the included figure exceeds every product's maximum.
	ladderSteps = 10
)

// stripes are the widths to try. LVM supports more, but the risk of data loss grows with each volume.
var stripes = []int{2, 4, 8}

// unplanned are the volume types that no plan moves to, with the reason.
var unplanned = map[string]string{
	"io1":         "costs as much as io2 but delivers less",
	"gp2":         "costs more than gp3 at every size, and has higher latency",
	"st1":         "its latency is not published, and a plan does not spend money on an assumption",
	"sc1":         "its latency is not published, and a plan does not spend money on an assumption",
	"pd-ssd":      "all disks of a machine share its limits",
	"pd-balanced": "all disks of a machine share its limits",

	"pd-standard":          "it has the latency of a hard disk",
	"standard-hdd":         "it has the latency of a hard disk",
	"standard-ssd":         "its limits are not guaranteed, and its cost per operation is not in the catalogue",
	"hyperdisk-throughput": "it has the latency of a hard disk",
	"hyperdisk-ml":         "it is for read-only data",
}

// A volumeGrid builds the options of one volume.
type volumeGrid struct {
	space    *spaceMaker
	path     string // "volumes.data"
	now      *catalog.Order
	machines int // number of machines that have it, for prices
}

// options returns the orders that the volume can change to, starting with the current one.
func (g *volumeGrid) options() []option {
	out := []option{{order: g.now, cost: g.cost(g.now), ordered: g.ordered(g.now)}}
	t, err := catalog.Type(g.now.Type)
	if err != nil {
		return out
	}

	for _, kind := range catalog.VolumeTypes() {
		if kind.Name != t.Name && (unplanned[kind.Name] != "" || kind.Provider != t.Provider) {
			continue
		}
		if kind.Local || kind.Name != t.Name && g.space.unattachable(kind) {
			continue
		}
		for _, o := range g.orders(kind) {
			g.add(&out, o, g.need(o))
		}
	}

	// Stripe only the data volume. The log is written sequentially, one request after another, so more
	// volumes in parallel would not shorten its waits.
	if t.Provider == "aws" && g.now.Members() == 1 && g.path == "volumes.data" {
		for _, n := range stripes {
			if o, ok := striped(g.now, n); ok {
				g.add(&out, o, NewVolume)
			}
		}
	}

	if g.space.opt.Ephemeral && t.Provider == "aws" {
		for _, n := range localStripes {
			g.add(&out, localDisks(g.now, n), NewVolume)
		}
	}

	return out
}

// localStripes are the numbers of local disks to try for data. The scenario's checks reject machines
// with fewer or smaller disks.
var localStripes = []int{1, 2, 4}

// localDisks returns an order for the same data on n local disks of the instance.
func localDisks(o *catalog.Order, n int) catalog.Order {
	s := catalog.Order{Type: catalog.LocalType}
	if n > 1 {
		s.Stripe = n
	}
	if o.Size > 0 {
		all := o.Size * units.Size(o.Members())
		s.Size = (all/units.Size(n) + units.GiB - 1) / units.GiB * units.GiB
	}
	return s
}

// add adds an order as an option if its checks pass, its price is known, and it respects --keep and
// the target.
func (g *volumeGrid) add(out *[]option, o catalog.Order, need Need) {
	sets := orderSets(g.path, g.now, &o)
	if len(sets) == 0 || len(o.Check()) > 0 || g.space.kept(sets) || g.space.barred(g.before(), &o) {
		return
	}

	cost := g.cost(&o)
	if cost < 0 {
		return
	}

	op := option{sets: sets, need: need, order: &o, cost: cost, ordered: g.ordered(&o), danger: o.Members() - 1}

	// Local disks are riskier than any stripe of network volumes.
	if o.Local() {
		op.danger += 100
	}

	if !slices.ContainsFunc(*out, func(other option) bool { return slices.Equal(other.sets, op.sets) }) {
		*out = append(*out, op)
	}
}

// before returns the current volume, for the target; nil if it does not exist yet.
func (g *volumeGrid) before() *catalog.Order {
	if g.space.opt.New {
		return nil
	}
	return g.now
}

// need returns what it takes to change the current order to another. EBS can change the type, IOPS and
// throughput of a volume in use and enlarge it, but never shrink it (Amazon EBS user guide, "Modify a
// volume using Elastic Volumes operations"). Google and Azure can change the limits of a disk in use,
// but another type needs a new disk from a snapshot (Google Cloud documentation, "Change the disk
// type"; Azure's conversions require stopping the machine).
func (g *volumeGrid) need(o catalog.Order) Need {
	was, err1 := catalog.Type(g.now.Type)
	is, err2 := catalog.Type(o.Type)
	if g.now.Members() != o.Members() || err1 == nil && err2 == nil && was != is && was.Provider != "aws" {
		return NewVolume
	}
	return Online
}

// cost returns the order's monthly price on all machines that have it; negative: unknown.
func (g *volumeGrid) cost(o *catalog.Order) dollars {
	if g.space.opt.Unpriced {
		return 0
	}
	bill, err := g.space.now.Catalog().Monthly(o, g.space.opt.Region)
	if err != nil {
		return -1
	}
	return micro(bill.Total) * dollars(g.machines)
}

// ordered returns what the order provisions on all machines that have it: IOPS and throughput only
// beyond what the type includes.
func (g *volumeGrid) ordered(o *catalog.Order) ordered {
	sum := ordered{size: int64(o.Size)}
	if t, err := catalog.Type(o.Type); err == nil {
		full := inFull(*o)
		if t.ChoosesIOPS {
			asked := int64(full.IOPS)
			if asked == 0 {
				asked = int64(float64(full.IOPSPerGB) * float64(full.Size/units.GiB))
			}
			sum.iops = max(asked-int64(t.IOPSIncluded.Value), 0)
		}
		if t.ChoosesThroughput {
			sum.throughput = max(int64(full.Throughput-t.ThroughputIncluded.Value), 0)
		}
	}

	return sum.times(o.Members() * g.machines)
}

// orders returns the ladder of a type at the current size.
func (g *volumeGrid) orders(product *catalog.VolumeType) []catalog.Order {
	base := *g.now
	base.IOPS, base.IOPSPerGB, base.Throughput = 0, 0, 0

	// A latency measured on the old type says nothing about another one.
	if base.Type != product.Name {
		base.Type, base.Latency = product.Name, nil
	}

	if product.SizeMin.Known() {
		base.Size = max(base.Size, product.SizeMin.Value)
	}

	if !product.ChoosesIOPS {
		return []catalog.Order{base}
	}

	var out []catalog.Order

	// Stop at the largest machine's limit: IOPS beyond it would cost money without effect.
	cap := g.space.capIOPS
	iops := max(product.IOPSIncluded.Value, product.IOPSMin.Value)
	if !product.IOPSIncluded.Known() {
		iops = max(iops, iopsFirst)
	}

	for range ladderSteps {
		o := base
		// The included figure is left implicit, as a user would write it.
		if o.IOPS = iops; iops == product.IOPSIncluded.Value {
			o.IOPS = 0
		}
		out = append(out, g.throughputs(product, o, iops)...)
		if next := iops * ladder; iops == product.IOPSMax.Value || cap > 0 && iops >= cap {
			break
		} else if iops = next; product.IOPSMax.Known() {
			iops = min(iops, product.IOPSMax.Value)
		}
	}

	return out
}

func (g *volumeGrid) throughputs(product *catalog.VolumeType, order catalog.Order,
	iops catalog.IOPS) []catalog.Order {
	if !product.ChoosesThroughput {
		return []catalog.Order{order}
	}

	var out []catalog.Order
	mib := product.ThroughputIncluded.Value
	for range ladderSteps {
		if mib == 0 || product.ThroughputMax.Known() && mib > product.ThroughputMax.Value {
			break
		}

		// Some types limit the throughput per provisioned IOPS.
		if per := product.ThroughputPerIOPS; per.Known() &&
			mib > units.Throughput(iops)*units.Throughput(per.Value) {
			break
		}

		// Others require a minimum throughput per IOPS: skip the rungs below it.
		if mib > product.ThroughputIncluded.Value &&
			mib < units.Throughput(iops)*units.Throughput(product.ThroughputLeastPerIOPS.Value) {
			mib *= ladder
			continue
		}

		with := order
		if with.Throughput = mib; mib == product.ThroughputIncluded.Value {
			with.Throughput = 0
		}

		out = append(out, with)
		if most := g.space.capThroughput; most > 0 && mib >= most {
			break
		}

		mib *= ladder
	}

	if len(out) == 0 {
		out = append(out, order)
	}

	return out
}

// striped returns an order for the same data on n volumes of the type, each with the included figures.
func striped(o *catalog.Order, n int) (catalog.Order, bool) {
	t, err := catalog.Type(o.Type)
	if err != nil || !t.IOPSIncluded.Known() || o.Size == 0 {
		return catalog.Order{}, false
	}
	s := *o
	s.IOPS, s.IOPSPerGB, s.Throughput, s.Stripe = 0, 0, 0, n
	s.Size = (o.Size/units.Size(n) + units.GiB - 1) / units.GiB * units.GiB
	return s, true
}

// orderSets returns the assignments that change one order to another.
func orderSets(path string, from, to *catalog.Order) []scenario.Set {
	canonical := func(name string) string {
		if t, err := catalog.Type(name); err == nil {
			return t.Name
		}
		return name
	}

	a, b := *from, *to
	a.Type, b.Type = canonical(a.Type), canonical(b.Type)
	a, b = inFull(a), inFull(b)
	out := slices.Concat(
		changed(path+".type", a.Type, b.Type), changed(path+".size", a.Size, b.Size),
		changed(path+".iops", a.IOPS, b.IOPS), changed(path+".iops_per_gb", a.IOPSPerGB, b.IOPSPerGB),
		changed(path+".throughput", a.Throughput, b.Throughput), changed(path+".stripe", a.Stripe, b.Stripe),
	)

	// Without a value, the assignment removes the measured latency.
	if from.Latency != nil && to.Latency == nil {
		out = append(out, scenario.Set{Path: path + ".latency"})
	}

	return out
}

// changed assigns a value that differs from the old one; a zero removes the key.
func changed[T comparable](path string, was, is T) []scenario.Set {
	var none T
	switch is {
	case was:
		return nil
	case none:
		return []scenario.Set{{Path: path}}
	}
	return []scenario.Set{{Path: path, Value: is}}
}

// inFull makes included figures explicit: {} of gp3 is {iops: 3000, throughput: 125MiB/s}.
func inFull(o catalog.Order) catalog.Order {
	t, err := catalog.Type(o.Type)
	if err != nil {
		return o
	}
	if t.ChoosesIOPS && t.IOPSIncluded.Known() && o.IOPS == 0 && o.IOPSPerGB == 0 {
		o.IOPS = t.IOPSIncluded.Value
	}
	if t.ChoosesThroughput && t.ThroughputIncluded.Known() && o.Throughput == 0 {
		o.Throughput = t.ThroughputIncluded.Value
	}
	return o
}

// logAxis returns axes for separate log volumes that the engine supports and that do not exist yet.
func (m *spaceMaker) logAxis() []axis {
	var out []axis
	for _, extra := range m.engine.ExtraVolumes {
		if m.now.Volumes.Get(extra.Name) != nil {
			continue
		}

		path := "volumes." + extra.Name
		ax := axis{path: path, options: []option{{}}}
		data := m.now.Volumes.Get("data")
		if data == nil {
			continue
		}

		t, err := catalog.Type(data.Type)
		if err != nil {
			continue
		}

		// Local disks come with the instance, so the option has no cost.
		if m.opt.Ephemeral && t.Provider == "aws" {
			o := catalog.Order{Type: catalog.LocalType, Size: extra.Size}
			op := option{sets: []scenario.Set{{Path: path, Value: o}}, need: NewVolume, order: &o,
				ordered: ordered{size: int64(o.Size)}.times(m.members), danger: 100}
			if !m.kept(op.sets) && !m.barred(nil, &o) {
				ax.options = append(ax.options, op)
			}
		}

		for _, kind := range catalog.VolumeTypes() {
			if kind.Provider != t.Provider || kind.Local || unplanned[kind.Name] != "" || m.unattachable(kind) {
				continue
			}

			g := &volumeGrid{space: m, path: path, now: &catalog.Order{Type: kind.Name, Size: extra.Size},
				machines: m.members}
			for _, o := range g.orders(kind) {
				if len(o.Check()) > 0 {
					continue
				}
				op := option{sets: []scenario.Set{{Path: path, Value: o}}, need: NewVolume, order: &o, cost: g.cost(&o),
					ordered: g.ordered(&o)}
				if op.cost >= 0 && !m.kept(op.sets) && !m.barred(nil, &o) {
					ax.options = append(ax.options, op)
				}
			}
		}

		out = append(out, ax)
	}

	return out
}
