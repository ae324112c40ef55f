package fit

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"plimsoll/internal/base/units"
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/model/catalog"
)

// A seenVolume is a volume with everything that the recording shows about it.
type seenVolume struct {
	*Fitting
	use
	identity

	limit  rules.Limit
	levels []level
	calm   struct{ writes, reads await }
	onHost []string // limits of the instance rather than the volume, in words
}

// A candidate is a possible product of the volume, with a score of the evidence against it.
type candidate struct {
	catalog.Match
	against float64
}

// Scores of the evidence against a product: a limit that had to be provisioned instead of the standard
// one; a provisioned figure about which nothing is known; a latency that differs by a factor of e. Among
// equals, the more popular product (assumed) comes first.
const (
	againstChosen  = 1.0
	againstOrdered = 0.3
	againstLatency = 1.5
	againstRare    = 0.15
	againstOff     = 20.0 // a level that is off by 2.5 % counts half as much as againstChosen
)

// usual are the products by assumed popularity.
var usual = []string{"gp3", "gp2", "io2", "io1", "hyperdisk-balanced", "pd-ssd", "pd-balanced", "premium-v2",
	"premium-ssd", "ultra", "hyperdisk-balanced-ha", "hyperdisk-extreme", "st1", "sc1", "hyperdisk-throughput",
	"hyperdisk-ml", "standard-ssd", "pd-standard", "standard-hdd"}

// matches returns the products that are consistent with the observations, the most likely first.
func (w *seenVolume) matches() []candidate {
	s, ok := w.seen()
	if !ok {
		return nil
	}

	var out []candidate
	for _, m := range catalog.Recognise(s) {
		c := candidate{Match: m, against: againstRare * float64(slices.Index(usual, m.Order.Type))}
		// A limit that matches a standard offer is stronger evidence than one that someone may have
		// chosen.
		if !m.Sold {
			c.against += againstChosen
		}
		if m.IOPSLeast || m.ThroughputLeast {
			c.against += againstOrdered
		}
		c.against += againstOff*m.Off + againstLatency*w.latencyOff(m.Order.Type)
		out = append(out, c)
	}

	slices.SortStableFunc(out, func(a, b candidate) int { return cmp.Compare(a.against, b.against) })
	return out
}

// latencyOff returns the deviation of the calm latency from a type's latency: the absolute logarithm of
// their ratio, 0 if unknown.
func (w *seenVolume) latencyOff(name string) float64 {
	x := w.scaleOf(name)
	if math.IsNaN(x) || x <= 0 {
		return 0
	}
	return math.Abs(math.Log(x))
}

// scaleOf returns the calm latency divided by a type's latency; NaN if unknown.
func (w *seenVolume) scaleOf(name string) float64 {
	t, err := catalog.Type(name)
	if err != nil || t.Write == nil {
		return math.NaN()
	}
	if x := w.calm.writes.median() / t.Write.Latency().Mean().Std().Seconds(); !math.IsNaN(x) {
		return x
	}
	return w.calm.reads.median() / t.Read.Latency().Mean().Std().Seconds()
}

// seen returns the observations for the catalogue's search; false if the limits cannot be a product's, such
// as a cgroup's limit for one direction.
func (w *seenVolume) seen() (catalog.Seen, bool) {
	s := catalog.Seen{Provider: w.provider, Type: w.given.Type, Size: w.size, SizeKnown: w.size > 0,
		Parts: w.parts}
	if !s.SizeKnown {
		s.Size = w.room()
	}

	w.onHost = nil
	for i := range w.levels {
		x := &w.levels[i]
		at := 0.0
		if x.stood != nil {
			at = x.stood.Level
			// The instance's limit says nothing about the volume.
			if text := w.instances(x); text != "" {
				w.onHost = append(w.onHost, text)
				at = 0
			}
		}

		switch x.field {
		case "iops":
			s.IOPS, s.MostIOPS = units.Frequency(at), units.Frequency(x.often)
		case "throughput":
			s.Throughput, s.MostThroughput = units.Throughput(at), units.Throughput(x.often)
		default:
			return s, false
		}
	}

	return s, true
}

// hostWithin is the relative tolerance for matching a level with an instance's limit.
const hostWithin = 0.025

// instances describes a level that equals the instance's limit for the total of its volumes; "" if it does
// not.
func (w *seenVolume) instances(x *level) string {
	i := w.instance()
	if i == nil || !i.HasEBS || x.sold != "" {
		return ""
	}

	for _, r := range []struct {
		iops, bytes float64
	}{{float64(i.Baseline.IOPS), float64(i.Baseline.Throughput)},
		{float64(i.Maximum.IOPS), float64(i.Maximum.Throughput)}} {
		limit := r.iops
		if x.field == "throughput" {
			limit = r.bytes
		}
		if math.Abs(x.stood.Level-limit) <= hostWithin*limit {
			return fmt.Sprintf("%s%s is the limit of %s for the total of its volumes", trim(x.as(limit)),
				unit(x.unit), i.Name)
		}
	}

	return ""
}

// reached reports whether a limit of the volume itself was reached.
func (w *seenVolume) reached() bool {
	for i := range w.levels {
		if x := &w.levels[i]; x.stood != nil && w.instances(x) == "" {
			return true
		}
	}
	return false
}

// nameable reports whether the evidence suffices to name a product: the provider is known, or the volume
// reached a limit that is a standard offer. A round number alone could be any provider's.
func (w *seenVolume) nameable(best *candidate) bool {
	return w.provider != "" || w.reached() && best.Sold
}

// local reports whether the device is a local disk of the machine.
func (w *seenVolume) local() bool {
	return w.given.Type == "" && w.model.Local || w.given.Local()
}

// enter adds the values of a volume whose product is known.
func (w *seenVolume) enter(matches []candidate) {
	key := "volumes." + w.volume + "."
	if w.local() {
		w.enterLocal(key)
		return
	}

	var m candidate
	fits := len(matches) > 0
	if fits {
		m = matches[0]
	} else {
		m.Order = catalog.Order{Type: w.given.Type, Size: cmp.Or(w.size, w.room())}
		w.Remark("volumes.%s is specified as %s, but no volume of that type matches the observations: check its limits",
			w.volume,
			w.given.Type)
	}

	w.enterType(key, &m, fits, matches[min(1, len(matches)):])
	w.enterSize(key, m.Order.Size)
	if n := m.Order.Members(); n > 1 {
		w.Add(key+"stripe", Count(float64(n)), Measured, "the device consists of %d others", n)
	}

	for i := range w.levels {
		w.enterLevel(key, &w.levels[i], &m, fits)
	}

	w.slots(key, true)
	w.enterScale(key, m.Order.Type)
}

// enterParts adds a remark about a device that the kernel combines from others, if no source shows its
// parts. They were fitted as one volume: a stripe of gp3 looks like a single volume with other limits.
func (w *seenVolume) enterParts() {
	by := layer(w.device)
	if by == "" || w.parts > 0 {
		return
	}
	key := "volumes." + w.volume + ".stripe"
	w.Add(key, Count(1), Assumed,
		"number of volumes of the stripe: %s is a device of %s, which combines others, but the recording does not show which; "+
			"it is fitted as one volume, so limits and size are the totals of its parts", w.device,
		by).AsDefault().
		ToKnow("lsblk -s /dev/" + lastPart(w.device) + ", and for LVM lvs -o +stripes,devices")
	w.Remark("volumes.%s is %s, a device of %s: its parts are unknown, so it is fitted as one volume. If it is a stripe, set type, size and stripe by hand",
		w.volume, w.device, by)
}

// layer returns the kernel's layer that combines devices into this one, by the device's name, or "" if
// none does: the device mapper's devices are named dm-0 and so on, those of md md0 (Linux,
// Documentation/admin-guide/devices.txt).
func layer(device string) string {
	name := lastPart(device)
	for _, l := range []struct{ prefix, is string }{{"dm-", "the device mapper (LVM, encryption, multipath)"},
		{"md", "md (RAID)"}} {
		if rest, ok := strings.CutPrefix(name, l.prefix); ok && rest != "" &&
			strings.Trim(rest, "0123456789") == "" {
			return l.is
		}
	}
	return ""
}

// enterType adds the volume's type, with alternatives.
func (w *seenVolume) enterType(key string, m *candidate, fits bool, others []candidate) {
	known, parts := Inferred, []string{}
	if w.whose != "" {
		parts = append(parts, w.whose)
	}

	if fits && w.reached() {
		parts = append(parts, m.Why)
	}

	why := strings.Join(append(parts, w.onHost...), ", ")
	switch {
	case w.given.Type != "":
		known, others = Measured, nil
	case len(others) > 0 && !w.reached():
		known = Assumed
		why = "product: " + why + "; no limit was reached that would identify it; the most likely assumed"
	case len(others) > 0:
		why += "; the most likely of the matching products"
	}

	// Users should know that the price and the limits of the plan depend on this guess.
	if known == Assumed {
		var names []string
		for _, c := range others {
			names = append(names, c.Order.Type)
		}
		w.Remark("volumes.%s is assumed to be %s, but may be %s: no limit was reached that would distinguish them. If you know the type, set it: fit --volume %s=TYPE, plan --set volumes.%s.type=TYPE",
			w.volume, m.Order.Type, strings.Join(names, " or "), w.volume, w.volume)
	}

	v := w.Add(key+"type", word(m.Order.Type), known, "%s. Device %s is the volume %s: %s", why, w.device,
		w.volume, w.use.why)
	if len(others) > 0 {
		v.ToKnow("the provider's console or command line, such as aws ec2 describe-volumes")
	}

	v.Or = alternatives(others)
}

// alternativesMax bounds the number of alternatives listed.
const alternativesMax = 4

// alternatives returns other products as orders, with the reason why they are possible.
func alternatives(others []candidate) []string {
	var out []string
	for _, c := range others[:min(len(others), alternativesMax)] {
		o := c.Order
		out = append(out, fmt.Sprintf("%s (%s)", o.String(), c.Why))
	}
	return out
}

func (w *seenVolume) enterSize(key string, size units.Size) {
	if w.size > 0 {
		w.Add(key+"size", Exactly(float64(size)), w.sizeIs, "the volume's size: %s", w.sizeHow)
		return
	}
	w.Add(key+"size", Exactly(float64(size)), Assumed, "the volume's size; %s assumed", size.Exact()).
		ToKnow("lsblk; the price depends on it, and for some types the IOPS")
}

// enterLevel adds a limit of a product: as observed, or the product's own.
func (w *seenVolume) enterLevel(key string, x *level, m *candidate, fits bool) {
	product, err := catalog.Type(m.Order.Type)
	if err != nil {
		return
	}

	const reported = "reported by its provider"
	switch {
	// The provider's own figures need no inference.
	case x.field == "iops" && w.given.IOPS > 0:
		w.Add(key+x.field, iops(float64(w.given.IOPS)), Measured, reported)
		return
	case x.field == "throughput" && w.given.Throughput > 0:
		w.Add(key+x.field, ordinary(float64(w.given.Throughput)), Measured, reported)
		return
	}

	chooses, ordered, included, least := product.ChoosesIOPS, float64(m.Order.IOPS),
		float64(product.IOPSIncluded.Value), m.IOPSLeast
	as := iops
	if x.field == "throughput" {
		chooses, ordered, included, least = product.ChoosesThroughput, float64(m.Order.Throughput),
			float64(product.ThroughputIncluded.Value), m.ThroughputLeast
		as = ordinary
	}

	has := max(ordered, included)
	if ordered > 0 {
		has = ordered
	}

	text, own := x.text(w.Fitting), x.stood != nil && w.instances(x) == ""
	switch {
	case !chooses || !fits:
		v := w.Add(key+x.field, Quantity{"", x.most, x.as(x.most).unit}, Assumed,
			"%s; the limit of %s follows from its other properties", text, product.Name).AsDefault()
		if own {
			v.Known = Inferred
			v.Between(x.low, x.high)
		}
	case own:
		w.Add(key+x.field, as(has), Inferred, "%s, and %s", text, m.Why).Between(x.low, x.high)
	case ordered > 0 && !least:
		w.Add(key+x.field, as(has), Inferred, "%s; %s follows from the other limit", text, x.field)
	case ordered > 0:
		w.Add(key+x.field, as(has), Assumed, "%s; the minimum that allows it is assumed", text).Between(x.most,
			math.NaN()).
			ToKnow("the provider's console")
	default:
		w.Add(key+x.field, as(has), Assumed, "%s; the included amount of %s is assumed", text,
			product.Name).Between(x.most,
			math.NaN()).AsDefault().
			ToKnow("the provider's console, or plimsoll probe on an idle volume of the same kind")
	}
}

// ordinary returns a throughput in the unit of an order: in MiB/s if it is a whole number.
func ordinary(x float64) Quantity {
	return Quantity{units.Size(math.Round(x)).Exact() + "/s", math.Round(x), "bytes/s"}
}

// Within these bounds, the calm latency counts as the type's own. The mean of calm seconds is some tenths
// too long, because requests that arrive in pairs wait for each other.
const scaleLow, scaleHigh = 0.8, 1.35

// enterScale adds the latency if it differs from the product's.
func (w *seenVolume) enterScale(key, name string) {
	x := w.scaleOf(name)
	if math.IsNaN(x) || x <= 0 {
		w.Add(key+"latency.scale", Quantity{"100%", 1, "ratio"}, Assumed,
			"latency of requests: fewer than %d s with few requests in flight; assumed as for %s", calmCells,
			name).AsDefault()
		return
	}

	v := w.Add(key+"latency.scale", factor(x), Inferred,
		"a request took %s in calm seconds (median), %s times the latency of %s", units.Seconds(w.calmMedian()),
		units.Number(x), name)

	// Within the bounds, the product's own latency is the better estimate.
	if x >= scaleLow && x <= scaleHigh {
		v.Text, v.Number = "100%", new(float64)
		*v.Number = 1
		v.Evidence += ": within the usual range"
		v.AsDefault()
	}
}

func (w *seenVolume) calmMedian() float64 {
	if x := w.calm.writes.median(); !math.IsNaN(x) {
		return x
	}
	return w.calm.reads.median()
}

// enterLocal adds a local disk of the machine.
func (w *seenVolume) enterLocal(key string) {
	w.Add(key+"type", word(catalog.LocalType), Measured,
		"device %s is the volume %s: %s. It is a local disk of the machine (%s), which is empty after the machine stops",
		w.device, w.volume, w.use.why, w.whose)
	if i := w.instance(); i == nil || i.Disk.Count == 0 {
		w.Add(key+"size", Exactly(float64(cmp.Or(w.size, w.room()))), w.sizeKnown(), "the disk's size")
	}
	for i := range w.levels {
		x := &w.levels[i]
		w.Add(key+x.field, Quantity{"", x.most, x.as(x.most).unit}, Assumed,
			"%s; the instance type defines its disks' limits", x.text(w.Fitting)).AsDefault()
	}
}

func (w *seenVolume) sizeKnown() Known {
	if w.size > 0 {
		return w.sizeIs
	}
	return Assumed
}

// enterCustom adds the observed limits and latency of a volume whose product is unknown.
func (w *seenVolume) enterCustom(matches []candidate, like *catalog.VolumeType) {
	key := "volumes." + w.volume + "."
	lacks := slices.Clone(w.lacks)
	if !w.reached() {
		lacks = append(lacks, "a limit that was reached")
	}

	missing := "no product in the catalogue has such limits"
	if len(lacks) > 0 {
		missing = "the recording lacks " + strings.Join(lacks, ", ")
	}

	v := w.Add(key+"type", word("custom"), w.use.known,
		"device %s is the volume %s: %s. Its product cannot be determined: %s. Its limits and latency are as observed",
		w.device, w.volume, w.use.why, missing)
	if w.reached() {
		v.Or = alternatives(matches)
	}

	w.limits(key)
	w.latency(key, like)
	w.slots(key, false)
	w.enterSize(key, cmp.Or(w.size, w.room()))
}

// room returns the assumed size of a volume of unknown size: twice the data.
func (w *seenVolume) room() units.Size {
	const least = 100 * units.GiB
	if w.volume != "data" {
		return least
	}
	if !(w.Data < largest/4) {
		return least
	}
	return max(least, units.Size(math.Ceil(2*w.Data/float64(units.GiB)))*units.GiB)
}
