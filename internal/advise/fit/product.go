package fit

import (
	"cmp"
	"fmt"
	"math"
	"slices"

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
