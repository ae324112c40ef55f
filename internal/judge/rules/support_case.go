package rules

import (
	"time"

	"plimsoll/internal/base/units"
)

// A SupportCase is the evidence about a volume that a provider's support needs: when it was slow,
// by which counters, how it and its peers did at other times, and what was ruled out. Users attach
// it unchanged.
type SupportCase struct {
	Device string `json:"device"`
	// Volume is the provider's ID if the sources report exactly one; "" if unknown.
	Volume string    `json:"volume_id,omitempty"`
	From   time.Time `json:"from"`
	To     time.Time `json:"to"`
	// SlowS is for how many seconds of that time it was slow.
	SlowS    float64   `json:"slow_seconds"`
	Counters []Counted `json:"counters"`
	Excluded []string  `json:"excluded"`
}

// Counted is one counter of a device: its median while the volume was slow and in the time used for
// comparison; nil if not measured.
type Counted struct {
	Device  string   `json:"device"`
	Counter string   `json:"counter"`
	Metric  string   `json:"metric"`
	Unit    string   `json:"unit"`
	Slow    *float64 `json:"slow"`
	Usual   *float64 `json:"usual"`
}

// Joined names things in a sentence: "a, b and c".
func Joined(names []string) Value { return Value(units.Joined(names)) }
