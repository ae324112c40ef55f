package catalog

import (
	"cmp"
	"fmt"

	"plimsoll/internal/model/volume"
)

// A Basis is the kind of source for a type's latency.
type Basis string

// The bases, from the best to the worst.
const (
	// Measured is calibrated on a public measurement of the type itself.
	Measured Basis = "measured"
	// Promised is the provider's own statement about it.
	Promised Basis = "promised"
	// Assumed is another type's, or a guess: LatencyNote says which.
	Assumed Basis = "assumed"
)

var basisWords = map[Basis]string{
	Measured: "calibrated on a public measurement",
	Promised: "as its provider promises: no public measurement is known here",
}

// spread describes the quality of a calibration's figures for the type. The quality of a borrowed
// calibration concerns the type that it comes from.
func (t *VolumeType) spread(c *volume.Calibration) string {
	if t.LatencyBasis == Assumed {
		return ""
	}
	return c.Spread
}

// LatencyRestsOn describes the source of the type's latency and its quality in a sentence. It is
// empty if the order gives the latency.
func (t *VolumeType) LatencyRestsOn() string {
	of := t.Name + "'s latency is "
	switch t.LatencyBasis {
	case Assumed:
		return of + "taken to be " + t.LatencyNote
	case Promised:
		return of + "what its provider promises, as no public measurement is known here: " + t.takes()
	case Measured:
		return of + "calibrated on a public measurement: " + t.takes()
	}
	return ""
}

// takes describes how long requests take, the source of the figures, and which figures are unknown.
func (t *VolumeType) takes() string {
	write, by, reads := t.Write.Latency(), cmp.Or(t.Write.By, t.Write.Source), ""
	if t.Read != t.Write {
		reads = fmt.Sprintf(", reads %v", t.Read.Latency().Mean())
	}
	if t.Write.Spread != "" {
		by += ": " + t.Write.Spread
	}
	return fmt.Sprintf("mean %v%s (%s), p99 %v (assumed: %s)", write.Mean(), reads, by, write.Quantile(.99),
		t.Write.Assumed)
}
