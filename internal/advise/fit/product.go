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

// A seenVolume is a volume with everything that the recording says about it.
type seenVolume struct {
	*Fitting
	use
	identity

	limit  rules.Limit
	levels []level
	calm   struct{ writes, reads await }
	onHost []string // levels that are the instance's, in words
}

// A candidate is a product that the volume may be, with a measure of what contradicts it.
type candidate struct {
	catalog.Match
	against float64
}

// What speaks against a product, in one measure: that a limit was chosen and not what everybody
// gets; that nothing is known of a figure that had to be ordered; a latency off by a factor of e.
// Of equals the one that is bought more often (assumed) comes first.
const (
	againstChosen  = 1.0
	againstOrdered = 0.3
	againstLatency = 1.5
	againstRare    = 0.15
	againstOff     = 20.0 // a level off by 2.5 % counts half as much as one that was chosen
)

var usual = []string{"gp3", "gp2", "io2", "io1", "hyperdisk-balanced", "pd-ssd", "pd-balanced", "premium-v2",
	"premium-ssd", "ultra", "hyperdisk-balanced-ha", "hyperdisk-extreme", "st1", "sc1", "hyperdisk-throughput",
	"hyperdisk-ml", "standard-ssd", "pd-standard", "standard-hdd"}

// matches returns the products that would provide what was seen, the likeliest first.
func (w *seenVolume) matches() []candidate {
	s, ok := w.seen()
	if !ok {
		return nil
	}

	var out []candidate
	for _, m := range catalog.Recognise(s) {
		c := candidate{Match: m, against: againstRare * float64(slices.Index(usual, m.Order.Type))}
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

// latencyOff is how far the calm latency is from a type's own: the logarithm of the factor, 0 if
// unknown.
func (w *seenVolume) latencyOff(name string) float64 {
	x := w.scaleOf(name)
	if math.IsNaN(x) || x <= 0 {
		return 0
	}
	return math.Abs(math.Log(x))
}

// scaleOf is the calm latency as a factor of a type's own; NaN if unknown.
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

// seen is what the catalogue is asked by; false where limits are not a product's, as a cgroup's of
// one direction.
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

// hostWithin is how close a level must be to an instance's limit to count as it.
const hostWithin = 0.025

// instances describes a level that is the instance's limit for all its volumes, not the volume's
// own; "" if it is not.
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
			return fmt.Sprintf("%s%s are what %s lets through to all its volumes", trim(x.as(limit)),
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

// nameable reports whether the evidence is good enough to name a product: the provider is known, or
// a limit was reached that is sold as such. A round number alone may be any provider's.
func (w *seenVolume) nameable(best *candidate) bool {
	return w.provider != "" || w.reached() && best.Sold
}

// local reports whether the device is one of the machine's own disks.
func (w *seenVolume) local() bool {
	return w.given.Type == "" && w.model.Local || w.given.Local()
}

// enter enters a product by its name.
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
		w.Remark("volumes.%s is given as %s, and none of those delivers what was seen: check its limits", w.volume,
			w.given.Type)
	}

	w.enterType(key, &m, fits, matches[min(1, len(matches)):])
	w.enterSize(key, m.Order.Size)
	if n := m.Order.Members(); n > 1 {
		w.Add(key+"stripe", Count(float64(n)), Measured, "the device lies over %d others", n)
	}

	for i := range w.levels {
		w.enterLevel(key, &w.levels[i], &m, fits)
	}

	w.slots(key, true)
	w.enterScale(key, m.Order.Type)
}

// enterParts says about a device that the kernel combines from others that its parts are unknown,
// if no source shows them. Then all of them were fitted as one: a stripe of gp3 looks like one
// volume with other limits.
func (w *seenVolume) enterParts() {
	by := layer(w.device)
	if by == "" || w.parts > 0 {
		return
	}
	key := "volumes." + w.volume + ".stripe"
	w.Add(key, Count(1), Assumed,
		"over how many volumes the data lies: %s is a device of %s, which is made of others, and the recording does not show which; "+
			"it is fitted as one volume, so limits and size are those of all its parts together", w.device,
		by).AsDefault().
		ToKnow("lsblk -s /dev/" + lastPart(w.device) + ", and of LVM lvs -o +stripes,devices")
	w.Remark("volumes.%s is %s, a device of %s: its parts are not known, and it is fitted as one volume. If it is a stripe, write type, size and stripe by hand",
		w.volume, w.device, by)
}

// layer is the kernel's layer that combines devices into this one, by the device's name; "" if none
// does: the device mapper names its devices dm-0 and so on, md its md0 (Linux,
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

// enterType enters the volume's type, with alternatives.
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
		why = "which product it is: " + why + "; no limit was reached that would identify it; the likeliest assumed"
	case len(others) > 0:
		why += "; the likeliest of those that fit"
	}

	if known == Assumed {
		var names []string
		for _, c := range others {
			names = append(names, c.Order.Type)
		}
		w.Remark("volumes.%s is assumed to be %s, and may be %s: no limit was reached that would decide. If you know it, set it: fit --volume %s=TYPE, plan --set volumes.%s.type=TYPE",
			w.volume, m.Order.Type, strings.Join(names, " or "), w.volume, w.volume)
	}

	v := w.Add(key+"type", word(m.Order.Type), known, "%s. Device %s is the volume %s: %s", why, w.device,
		w.volume, w.use.why)
	if len(others) > 0 {
		v.ToKnow("the provider's console, or aws ec2 describe-volumes and the like")
	}

	v.Or = alternatives(others)
}

// alternativesMax is how many other products are listed.
const alternativesMax = 4

// alternatives are other products as orders, with the reason why they are possible.
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
		ToKnow("lsblk; a volume's price, and its IOPS on some types, go by it")
}

// enterLevel enters one limit of a product: as it was reached, or the product's own.
func (w *seenVolume) enterLevel(key string, x *level, m *candidate, fits bool) {
	t, err := catalog.Type(m.Order.Type)
	if err != nil {
		return
	}

	const reported = "its provider reports what was bought"
	switch {
	case x.field == "iops" && w.given.IOPS > 0:
		w.Add(key+x.field, iops(float64(w.given.IOPS)), Measured, reported)
		return
	case x.field == "throughput" && w.given.Throughput > 0:
		w.Add(key+x.field, ordinary(float64(w.given.Throughput)), Measured, reported)
		return
	}

	chooses, ordered, included, least := t.ChoosesIOPS, float64(m.Order.IOPS),
		float64(t.IOPSIncluded.Value), m.IOPSLeast
	as := iops
	if x.field == "throughput" {
		chooses, ordered, included, least = t.ChoosesThroughput, float64(m.Order.Throughput),
			float64(t.ThroughputIncluded.Value), m.ThroughputLeast
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
			"%s; %s has what follows from the rest", text, t.Name).AsDefault()
		if own {
			v.Known = Inferred
			v.Between(x.low, x.high)
		}
	case own:
		w.Add(key+x.field, as(has), Inferred, "%s, and %s", text, m.Why).Between(x.low, x.high)
	case ordered > 0 && !least:
		w.Add(key+x.field, as(has), Inferred, "%s; %s follows from the other limit", text, x.field)
	case ordered > 0:
		w.Add(key+x.field, as(has), Assumed, "%s; the least that allows it is assumed", text).Between(x.most,
			math.NaN()).
			ToKnow("the provider's console")
	default:
		w.Add(key+x.field, as(has), Assumed, "%s; what %s includes is assumed", text, t.Name).Between(x.most,
			math.NaN()).AsDefault().
			ToKnow("the provider's console, or plimsoll probe on an idle volume of the kind")
	}
}

// ordinary is a throughput in the unit of an order: in MiB/s if it is a whole number of them.
func ordinary(x float64) Quantity {
	return Quantity{units.Size(math.Round(x)).Exact() + "/s", math.Round(x), "bytes/s"}
}

// Within these the calm latency is the type's own: the mean of calm seconds is some tenths too
// long, since requests that come in pairs wait for each other.
const scaleLow, scaleHigh = 0.8, 1.35

// enterScale enters the latency if it is not the product's own.
func (w *seenVolume) enterScale(key, name string) {
	x := w.scaleOf(name)
	if math.IsNaN(x) || x <= 0 {
		w.Add(key+"latency.scale", Quantity{"100%", 1, "ratio"}, Assumed,
			"requests' latency: no %d s in which few were in flight; assumed as for %s", calmCells, name).AsDefault()
		return
	}

	v := w.Add(key+"latency.scale", factor(x), Inferred,
		"a request took %s on average in calm seconds, %s times as long as on %s", units.Seconds(w.calmMedian()),
		units.Number(x), name)
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

// enterLocal enters a disk of the machine.
func (w *seenVolume) enterLocal(key string) {
	w.Add(key+"type", word(catalog.LocalType), Measured,
		"device %s is the volume %s: %s. It is a disk of the machine itself (%s): empty after the machine was stopped",
		w.device, w.volume, w.use.why, w.whose)
	if i := w.instance(); i == nil || i.Disk.Count == 0 {
		w.Add(key+"size", Exactly(float64(cmp.Or(w.size, w.room()))), w.sizeKnown(), "the disk's size")
	}
	for i := range w.levels {
		x := &w.levels[i]
		w.Add(key+x.field, Quantity{"", x.most, x.as(x.most).unit}, Assumed,
			"%s; the instance's type says what its disks do", x.text(w.Fitting)).AsDefault()
	}
}

func (w *seenVolume) sizeKnown() Known {
	if w.size > 0 {
		return w.sizeIs
	}
	return Assumed
}

// enterCustom enters the limits and the latency that were seen, if no product is known.
func (w *seenVolume) enterCustom(matches []candidate, like *catalog.VolumeType) {
	key := "volumes." + w.volume + "."
	lacks := slices.Clone(w.lacks)
	if !w.reached() {
		lacks = append(lacks, "a limit that was reached")
	}

	missing := "nothing that is sold has such limits"
	if len(lacks) > 0 {
		missing = "the recording lacks " + strings.Join(lacks, ", ")
	}

	v := w.Add(key+"type", word("custom"), w.use.known,
		"device %s is the volume %s: %s. Its product cannot be determined: %s. Its limits and latency are those observed",
		w.device, w.volume, w.use.why, missing)
	if w.reached() {
		v.Or = alternatives(matches)
	}

	w.limits(key)
	w.latency(key, like)
	w.slots(key, false)
	w.enterSize(key, cmp.Or(w.size, w.room()))
}

// room is the assumed size of a volume if it is unknown: twice the data.
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
