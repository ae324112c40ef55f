package rules

import (
	"math"

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

	out := make([]float64, sig.Grid.N)
	for k := range out {
		out[k] = math.NaN()
		for _, t := range tracks {
			if x := t.Values[k]; !math.IsNaN(x) {
				if math.IsNaN(out[k]) {
					out[k] = 0
				}
				out[k] += x
			}
		}
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

// ValueAt is a value of a series; NaN if the series has none.
func ValueAt(values []float64, k int) float64 {
	if k >= len(values) {
		return math.NaN()
	}
	return values[k]
}
