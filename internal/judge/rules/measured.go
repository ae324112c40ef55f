package rules

import (
	"math"
	"slices"

	"github.com/prometheus/prometheus/model/labels"

	"plimsoll/internal/record/timeline"
)

// Signals are the sources' measurements.
type Signals struct {
	Time
	// Tracks returns a signal's tracks; none if no source contains it.
	Tracks func(*Signal) []timeline.Track
}

// Signal returns a signal's tracks; none if no source contains it.
func (sig *Signals) Signal(s *Signal) []timeline.Track { return sig.Tracks(s) }

// Measured reports whether a signal has any value.
func (sig *Signals) Measured(s *Signal) bool {
	for _, t := range sig.Signal(s) {
		if timeline.Count(t.Values) > 0 {
			return true
		}
	}
	return false
}

// One returns a signal's only series, or the sum of its series; nil if not measured.
func (sig *Signals) One(s *Signal) []float64 {
	tracks := sig.Signal(s)
	switch len(tracks) {
	case 0:
		return nil
	case 1:
		return tracks[0].Values
	}

	out := timeline.Unknown(sig.Grid.N)
	for _, t := range tracks {
		timeline.Add(out, t.Values)
	}
	return out
}

// For returns a signal's series with the given value of a label; nil if not measured.
func (sig *Signals) For(s *Signal, label, value string) []float64 {
	for _, t := range sig.Signal(s) {
		if t.Labels.Get(label) == value {
			return t.Values
		}
	}
	return nil
}

// SameAs returns a signal's values for the series in which the given labels are as in of; nil if not
// measured.
func (sig *Signals) SameAs(s *Signal, of labels.Labels, by ...string) []float64 {
	for _, t := range sig.Signal(s) {
		if !slices.ContainsFunc(by, func(l string) bool { return t.Labels.Get(l) != of.Get(l) }) {
			return t.Values
		}
	}
	return nil
}

// ValueAt is a value of a series; NaN if the series has none.
func ValueAt(values []float64, k int) float64 {
	if k >= len(values) {
		return math.NaN()
	}
	return values[k]
}
