package fit

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"plimsoll/internal/base/units"
	"plimsoll/internal/model/catalog"
)

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

	v := w.Add(key+"type", Word(m.Order.Type), known, "%s. Device %s is the volume %s: %s", why, w.device,
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
func (w *seenVolume) enterLevel(key string, observed *level, match *candidate, fits bool) {
	product, err := catalog.Type(match.Order.Type)
	if err != nil {
		return
	}

	const reported = "reported by its provider"
	switch {
	// The provider's own figures need no inference.
	case observed.field == "iops" && w.given.IOPS > 0:
		w.Add(key+observed.field, IOPS(float64(w.given.IOPS)), Measured, reported)
		return
	case observed.field == "throughput" && w.given.Throughput > 0:
		w.Add(key+observed.field, ordinary(float64(w.given.Throughput)), Measured, reported)
		return
	}

	chooses, ordered, included, least := product.ChoosesIOPS, float64(match.Order.IOPS),
		float64(product.IOPSIncluded.Value), match.IOPSLeast
	as := IOPS
	if observed.field == "throughput" {
		chooses, ordered, included, least = product.ChoosesThroughput, float64(match.Order.Throughput),
			float64(product.ThroughputIncluded.Value), match.ThroughputLeast
		as = ordinary
	}

	has := max(ordered, included)
	if ordered > 0 {
		has = ordered
	}

	text, own := observed.text(w.Fitting), observed.stood != nil && w.instances(observed) == ""
	switch {
	case !chooses || !fits:
		v := w.Add(key+observed.field, Quantity{"", observed.most, observed.as(observed.most).unit}, Assumed,
			"%s; the limit of %s follows from its other properties", text, product.Name).AsDefault()
		if own {
			v.Known = Inferred
			v.Between(observed.low, observed.high)
		}
	case own:
		w.Add(key+observed.field, as(has), Inferred, "%s, and %s", text, match.Why).Between(observed.low, observed.high)
	case ordered > 0 && !least:
		w.Add(key+observed.field, as(has), Inferred, "%s; %s follows from the other limit", text, observed.field)
	case ordered > 0:
		w.Add(key+observed.field, as(has), Assumed, "%s; the minimum that allows it is assumed", text).Between(observed.most,
			math.NaN()).
			ToKnow("the provider's console")
	default:
		w.Add(key+observed.field, as(has), Assumed, "%s; the included amount of %s is assumed", text,
			product.Name).Between(observed.most,
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
	w.Add(key+"type", Word(catalog.LocalType), Measured,
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

	v := w.Add(key+"type", Word("custom"), w.use.known,
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
