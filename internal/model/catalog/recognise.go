package catalog

import (
	"fmt"
	"math"
	"sort"

	"plimsoll/internal/base/units"
	"plimsoll/internal/model/volume"
)

// Seen holds what was observed of a volume. [Recognise] searches the catalogue for orders that
// match it.
type Seen struct {
	Provider string // the cloud provider; "" if unknown
	Type     string // the product as the user names it; "" if unknown
	// Size of one volume. If it is not known, the size to assume for types whose limits do not
	// depend on it.
	Size      units.Size
	SizeKnown bool
	Parts     int // volumes in the stripe that the rates are for; 0 or 1: none
	// IOPS and Throughput are the constant rates while requests waited; 0: no limit was reached.
	IOPS       units.Frequency
	Throughput units.Throughput
	// MostIOPS and MostThroughput were delivered repeatedly, so no limit is below them.
	MostIOPS       units.Frequency
	MostThroughput units.Throughput
}

// A Match is an order that accounts for the observations.
type Match struct {
	Order Order
	// Sold: every limit that was reached comes with the type, or with this size of it. Otherwise it
	// was chosen.
	Sold bool
	Off  float64 // largest relative difference between the limits and those seen
	// IOPSLeast and ThroughputLeast: the figure is the lowest that allows the delivered rate; the limit
	// itself was not reached.
	IOPSLeast, ThroughputLeast bool
	Burst                      bool   // the limit that was reached holds while there are credits
	Why                        string // "3,000 IOPS are included", in the catalogue's words
}

// How close a level must be to a limit to match it. On a real volume, the median of a plateau over some
// seconds varies by about a hundredth, and 125 and 128 MiB/s must be distinguished.
const (
	recogniseWithin = 0.025
	roundWithin     = 0.01 // a chosen value is assumed to be the roundest number this near
	deliveredOver   = 1.05 // sampling may shift this share from one second to the next
)

// Recognise returns orders of products that would behave as observed: the nearest of each type, in the
// order of the catalogue. Local disks and custom volumes, which have no product limits, are never among
// them.
func Recognise(s Seen) []Match {
	// Catalogue limits are those of one volume. A stripe's rates are spread evenly over its
	// volumes.
	n := units.Throughput(max(s.Parts, 1))
	s.IOPS, s.MostIOPS = s.IOPS/units.Frequency(n), s.MostIOPS/units.Frequency(n)
	s.Throughput, s.MostThroughput = s.Throughput/n, s.MostThroughput/n

	var out []Match
	for _, t := range types {
		if t.Local || t.Name == "custom" || s.Provider != "" && t.Provider != s.Provider ||
			s.Type != "" && t.Name != canonical(s.Type) {
			continue
		}

		var best *Match
		for _, o := range t.explain(&s) {
			m, ok := t.match(&s, o)
			if ok && (best == nil || m.Off < best.Off) {
				best = &m
			}
		}

		if best != nil {
			if s.Parts > 1 {
				best.Order.Stripe = s.Parts
			}
			out = append(out, *best)
		}
	}

	return out
}

// explain returns the orders of a type that may account for the observations.
func (t *VolumeType) explain(s *Seen) []Match {
	o := Order{Type: t.Name, Size: units.Size(wholeGiB(max(s.Size, 1))) * units.GiB}

	// An assumed size must not rule out a type.
	if !s.SizeKnown && t.SizeMin.Known() {
		o.Size = min(max(o.Size, t.SizeMin.Value), t.SizeMax.Value)
	}

	if !t.ChoosesIOPS && t.ChoosesThroughput {
		return []Match{t.byThroughput(s, o)}
	}

	if !t.ChoosesIOPS {
		if s.SizeKnown {
			return []Match{{Order: o}}
		}
		return t.sized(s, o)
	}

	m := Match{Order: o}
	t.chooseIOPS(s, &m)
	t.chooseThroughput(s, &m)

	if per := t.IOPSPerGiB; per.Known() && !s.SizeKnown { // the smallest size that is possible
		m.Order.Size = max(m.Order.Size, units.Size((m.Order.IOPS+per.Value-1)/per.Value)*units.GiB)
	}

	// Rounded, the two may break a rule that holds between them; what was observed keeps it.
	for _, whole := range []func(float64) float64{math.Ceil, math.Floor} {
		if s.IOPS <= 0 || s.Throughput <= 0 || m.Order.IOPS == 0 || m.Order.Throughput == 0 ||
			len(m.Order.Check()) == 0 {
			break
		}
		m.Order.IOPS = IOPS(math.Round(float64(s.IOPS)))
		m.Order.Throughput = units.Throughput(whole(float64(s.Throughput)/t.unit()) * t.unit())
	}

	return []Match{m}
}

// byThroughput returns an order of a type whose IOPS follow from its throughput: the observed
// operations imply a throughput, too.
func (t *VolumeType) byThroughput(s *Seen, o Order) Match {
	one := o
	one.Throughput = units.MiBps
	// Asking for 1 MiB/s shows how many IOPS come with it.
	per := units.Throughput(float64(units.MiBps) / float64(t.limits(t, &one, nil).Sustained.IOPS))
	as := *s
	as.Throughput = max(s.Throughput, units.Throughput(float64(s.IOPS)*float64(per)))
	as.MostThroughput = max(s.MostThroughput, units.Throughput(float64(s.MostIOPS)*float64(per)))
	m := Match{Order: o}
	t.chooseThroughput(&as, &m)
	m.Order.Throughput = max(m.Order.Throughput, t.ThroughputMin.Value,
		units.Throughput(t.ThroughputLeastPerGiB.Value)*units.Throughput(o.gib()))
	return m
}

func (t *VolumeType) chooseIOPS(s *Seen, m *Match) {
	included := t.IOPSIncluded.Value
	switch {
	case s.IOPS > 0 && stoodAt(float64(s.IOPS), float64(included)):
	case s.IOPS > 0:
		m.Order.IOPS = IOPS(roundest(float64(s.IOPS), 1-roundWithin, 1+roundWithin))
	case float64(s.MostIOPS) > deliveredOver*float64(included):
		m.Order.IOPS, m.IOPSLeast = IOPS(roundest(float64(s.MostIOPS), 1, 1.2)), true
	}
	if !t.ChoosesThroughput && t.ThroughputPerIOPS.Known() {
		t.throughputOfIOPS(s, m)
	}
	if m.Order.IOPS == 0 && !t.IOPSIncluded.Known() || m.IOPSLeast && m.Order.IOPS < t.IOPSMin.Value {
		m.Order.IOPS, m.IOPSLeast = t.IOPSMin.Value, true
	}
}

// throughputOfIOPS handles types whose throughput follows from their IOPS: the observed bytes imply
// a number of IOPS.
func (t *VolumeType) throughputOfIOPS(s *Seen, m *Match) {
	per := float64(t.ThroughputPerIOPS.Value)
	least := IOPS(math.Ceil(float64(s.MostThroughput) / per / deliveredOver))
	switch {
	case s.IOPS > 0:
	case s.Throughput > 0 && float64(s.Throughput) < (1-recogniseWithin)*float64(t.ThroughputMax.Value):
		m.Order.IOPS, m.IOPSLeast = IOPS(roundest(float64(s.Throughput)/per, 1-roundWithin, 1+roundWithin)), false
	case least > m.Order.IOPS:
		m.Order.IOPS, m.IOPSLeast = IOPS(roundest(float64(least), 1, 1.2)), true
	}
}

// unit is what the provider sells throughput in: Azure's disks are in MB/s.
func (t *VolumeType) unit() float64 {
	if t.ThroughputMin.Value%units.MiBps != 0 {
		return float64(units.MBps)
	}
	return float64(units.MiBps)
}

func (t *VolumeType) chooseThroughput(s *Seen, m *Match) {
	if !t.ChoosesThroughput {
		return
	}

	unit := t.unit()
	included := t.ThroughputIncluded.Value
	switch {
	case s.Throughput > 0 && stoodAt(float64(s.Throughput), float64(included)):
	case s.Throughput > 0:
		m.Order.Throughput = units.Throughput(roundest(float64(s.Throughput)/unit, 1-roundWithin,
			1+roundWithin) * unit)
	case float64(s.MostThroughput) > deliveredOver*float64(included):
		m.Order.Throughput, m.ThroughputLeast = units.Throughput(roundest(float64(s.MostThroughput)/unit, 1,
			1.2)*unit), true
	}

	if m.Order.Throughput == 0 && !t.ThroughputIncluded.Known() {
		m.Order.Throughput, m.ThroughputLeast = t.ThroughputMin.Value, true
	}

	// A type's throughput limit for each IOPS: if the IOPS limit was not reached, it is at least
	// this.
	per := t.ThroughputPerIOPS
	have := max(m.Order.IOPS, t.IOPSIncluded.Value)
	if need := IOPS((int64(m.Order.Throughput) + max(int64(per.Value), 1) - 1) / max(int64(per.Value),
		1)); per.Known() && need > have && s.IOPS == 0 {
		m.Order.IOPS, m.IOPSLeast = IOPS(roundest(float64(need), 1, 1.2)), true
	}
}

// sized returns orders of a type whose limits follow from an unknown size: the smallest sizes that
// allow the observed rates.
func (t *VolumeType) sized(s *Seen, o Order) []Match {
	least, most := wholeGiB(t.SizeMin.Value), wholeGiB(t.SizeMax.Value)
	limits := func(gib int64) Limits {
		with := o
		with.Size = units.Size(gib) * units.GiB
		return t.limits(t, &with, nil)
	}

	smallest := func(enough func(l Limits) bool) int64 {
		// Limits never fall as the size grows, so a binary search finds the smallest one.
		return least + int64(sort.Search(int(most-least),
			func(k int) bool { return enough(limits(least + int64(k))) }))
	}

	var out []Match
	try := func(gib int64) {
		with := o
		with.Size = units.Size(gib) * units.GiB
		out = append(out, Match{Order: with})
	}

	if s.IOPS > 0 {
		try(smallest(func(l Limits) bool { return l.Sustained.IOPS >= s.IOPS*(1-recogniseWithin/2) }))
	}

	if s.Throughput > 0 {
		try(smallest(func(l Limits) bool {
			return float64(l.Sustained.Throughput) >= float64(s.Throughput)*(1-recogniseWithin/2)
		}))
	}

	try(max(wholeGiB(o.Size), smallest(func(l Limits) bool {
		return float64(l.Sustained.IOPS)*deliveredOver >= float64(s.MostIOPS) &&
			float64(l.Sustained.Throughput)*deliveredOver >= float64(s.MostThroughput)
	})))

	return out
}

// match reports whether an order accounts for the observations, and how closely.
func (t *VolumeType) match(s *Seen, m Match) (Match, bool) {
	o := m.Order
	if len(o.Check()) > 0 {
		return m, false
	}

	l := t.limits(t, &o, nil)
	at, most := l.Sustained, l.Sustained
	if b := l.Burst; b != nil {
		full := volume.Rate{IOPS: max(at.IOPS, b.At.IOPS), Throughput: max(at.Throughput, b.At.Throughput)}
		// A level at the sustained limit means that the burst credits had run out.
		spent := full.IOPS > at.IOPS && stoodAt(float64(s.IOPS), float64(at.IOPS)) ||
			full.Throughput > at.Throughput && stoodAt(float64(s.Throughput), float64(at.Throughput))
		if most = full; spent { // without credits it has no more
			most = at
		} else if s.IOPS > 0 || s.Throughput > 0 {
			at, m.Burst = full, true
		}
	}

	// A volume cannot deliver more than its limit, so more rules the order out.
	if float64(s.MostIOPS) > deliveredOver*float64(most.IOPS) ||
		float64(s.MostThroughput) > deliveredOver*float64(most.Throughput) {
		return m, false
	}

	check := func(level, limit float64) bool {
		if level > 0 {
			m.Off = max(m.Off, math.Abs(level/limit-1))
		}
		return level == 0 || stoodAt(level, limit)
	}
	if !check(float64(s.IOPS), float64(at.IOPS)) || !check(float64(s.Throughput), float64(at.Throughput)) {
		return m, false
	}

	m.Sold = t.sold(s, &m)
	m.Why = m.why(t, s, at.IOPS)
	return m, true
}

// sold reports whether the limits that were reached are standard: included, given by the known
// size, available while there are credits, or the type's maximum.
func (t *VolumeType) sold(s *Seen, m *Match) bool {
	o := &m.Order
	switch {
	case m.Burst:
		return true
	case !t.ChoosesIOPS && !t.ChoosesThroughput:
		return s.SizeKnown
	case s.IOPS > 0 && o.asked(t) != 0 && o.asked(t) != t.IOPSMax.Value:
		return false
	case s.Throughput > 0 && !t.ChoosesThroughput: // of IOPS that were chosen
		return s.IOPS == 0 && stoodAt(float64(s.Throughput), float64(t.ThroughputMax.Value))
	}
	return s.Throughput == 0 || o.Throughput == 0 || o.Throughput == t.ThroughputMax.Value
}

func (m *Match) why(t *VolumeType, s *Seen, iops units.Frequency) string {
	burst := ""
	if m.Burst {
		burst = " while there are credits"
	}

	switch {
	case s.IOPS == 0 && s.Throughput == 0:
		return "what was delivered is within its limits"
	case !m.Sold:
		return "such figures can be ordered"
	case !t.ChoosesIOPS:
		return fmt.Sprintf("%s of %s has %s IOPS%s", t.Name, m.Order.Size.Exact(), units.Count(int64(iops)), burst)
	case s.IOPS == 0:
		return rate(max(m.Order.Throughput, t.ThroughputIncluded.Value)) + " is what " + t.Name +
			" has without ordering more"
	}

	return units.Count(int64(iops)) + " IOPS are what " + t.Name + " has without ordering more"
}

func stoodAt(level, limit float64) bool { return math.Abs(level-limit) <= recogniseWithin*limit }

// roundest returns the roundest whole number between two multiples of x, which a person would
// choose.
func roundest(x, low, high float64) float64 {
	// From the roundest steps to the finest: people order round figures.
	for _, step := range []float64{10_000, 5000, 1000, 500, 250, 100, 50, 25, 10, 5} {
		if step > x {
			continue
		}
		if n := math.Round(x/step) * step; n >= x*low && n <= x*high {
			return n
		}
		// The nearest multiple may be below a lower bound; try the next one up.
		if n := math.Ceil(x/step) * step; n >= x*low && n <= x*high {
			return n
		}
	}

	// With a lower bound of x itself, rounding down is not allowed.
	if low >= 1 {
		return math.Ceil(x)
	}

	return math.Round(x)
}
