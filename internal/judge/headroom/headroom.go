// Package headroom reports the peak use of each limit, its usual use, its growth, and when the limit
// will be reached at this rate.
//
// It computes these from signals and limits in three steps:
//
//  1. Each resource is a series of use and a series of its limit ([resource]). Limits are given by
//     the user, measured, seen (a rate that stays flat while requests queue, by the criteria of the
//     rules that report a cap), or an engine's own. An unknown limit stays unknown.
//  2. Peaks are taken from the finest intervals of the series, because a five-second burst
//     disappears in the mean of a minute.
//  3. The end is exact for a bucket of credits: balance divided by drain. For growing use, the end
//     is an interval, from a robust slope, and only if the recording supports one ([trend]).
package headroom

import (
	"time"

	"plimsoll/internal/judge/rules"
)

// The sources of a limit's value.
const (
	Given    = "given"    // by the user, as a type and a size
	Measured = "measured" // a source reports it
	Seen     = "seen"     // a rate stayed flat there while requests queued
	Own      = "own"      // an engine's setting or default
	Unknown  = "unknown"
)

// A Headroom is a limit and how much of it is used.
type Headroom struct {
	Resource string `json:"resource"` // a stable key: "volume_iops"
	Title    string `json:"title"`    // for display: "IOPS"
	Subject  string `json:"subject"`  // the device, mount, member or database
	Unit     string `json:"unit"`     // of the figures: "1/s", "bytes/s", "bytes", "ratio", "operations", ""
	// Limit is the limit at the time of Most; nil if unknown.
	Limit     *float64 `json:"limit"`
	LimitFrom string   `json:"limit_from"` // Given, Measured, Seen, Own or Unknown
	LimitText string   `json:"limit_text"` // its origin, for display
	// Most is the highest use in an interval; nil if none was measured.
	Most *Use `json:"most"`
	// UsualRatio is the median share of the limit that was used.
	UsualRatio *float64 `json:"usual_ratio,omitempty"`
	// IntervalS is the finest interval in which use was measured, in seconds.
	IntervalS float64 `json:"interval_seconds"`
	// Bursts are the times at the limit; nil if there were none, or if the limit is not one of a
	// rate.
	Bursts *Bursts `json:"bursts,omitempty"`
	// Trend is nil if the recording does not support one.
	Trend *Trend `json:"trend,omitempty"`
	Ends  *Ends  `json:"ends,omitempty"`
	// NotSeen says what intervals of this length hide; "" if nothing.
	NotSeen string `json:"not_seen,omitempty"`
}

// A Use is an amount used, and when.
type Use struct {
	Value float64   `json:"value"`
	Ratio *float64  `json:"ratio"` // of the limit; nil if unknown
	At    time.Time `json:"at"`    // the end of the interval
}

// Bursts summarises the times in which a rate was at its limit.
type Bursts struct {
	Seconds  float64 `json:"seconds"`
	Episodes int     `json:"episodes"`
	LongestS float64 `json:"longest_seconds"`
	PeriodS  float64 `json:"period_seconds,omitempty"` // if they recur regularly
	// MinuteRatio is the share of the limit used in the minute with the highest mean: the most that
	// sampling once a minute would show.
	MinuteRatio float64 `json:"minute_ratio"`
}

// A Trend is how fast use grows, in units per second: the median of all pairwise slopes, and its 95
// % confidence interval.
type Trend struct {
	PerS float64 `json:"per_second"`
	Low  float64 `json:"low"`
	High float64 `json:"high"`
	// OverS is the time that the trend is based on.
	OverS float64 `json:"over_seconds"`
	Of    string  `json:"of"` // what grows: "used", "95 % of each day"
}

// Ends is when the limit will be reached at this rate, counted from the last sample.
type Ends struct {
	InS float64 `json:"in_seconds"`
	// LowS and HighS are the interval for growing use; both equal InS if the end is exact.
	LowS  float64 `json:"low_seconds"`
	HighS float64 `json:"high_seconds"`
	Exact bool    `json:"exact"` // computed from balance and drain
	// Assumes is the assumption behind an exact end; "" if there is none.
	Assumes string `json:"assumes,omitempty"`
	// Then is what happens at that point, for display.
	Then string `json:"then,omitempty"`
}

// A Volume is the performance of a volume of known type.
type Volume struct {
	Text string // "gp2 of 50 GiB"
	// Sustained is always available, Burst only while there are credits. They are equal for a
	// volume without credits.
	Sustained, Burst rules.Rate
	// Credits is the capacity of its bucket, in operations, or in bytes if Bytes is set. It refills
	// at the Sustained rate.
	Credits float64
	Bytes   bool
	// ByteCredits is the capacity of a second bucket, in bytes; 0 is none.
	ByteCredits float64
	// Operation is the largest operation in bytes; 0 means unbounded. A larger request counts as
	// several.
	Operation float64
}

// An Offer returns the performance of a volume that the user named, given the size of its device; 0
// if the size is unknown.
type Offer func(sizeBytes int64) (Volume, error)

// Known is the user's information about volumes and the machine.
type Known struct {
	// Volumes are keyed by the name of a device or a volume. Devices maps volumes to devices.
	Volumes map[string]Offer
	Devices map[string]string
	// Machine returns the machine of a type, or with "" the one that the user named. If the user named
	// none, it is called with the type in the recording. nil means that no machine is known.
	Machine func(kind string) (rules.Machine, bool)
	// Described parses a source's description of a volume, such as gp3,500GiB; nil ignores
	// descriptions.
	Described func(text string) (Offer, error)
}

// A Balance is how much of a bucket of credits was left at a time.
type Balance struct {
	At      time.Time
	Credits float64
}

// Options adds what is known from outside a recording.
type Options struct {
	Known Known
	// Balances are those of an earlier [Result]; nil means that every bucket was full when the
	// recording began.
	Balances map[string]Balance
}

// A Result is the headroom of a recording.
type Result struct {
	All []Headroom
	// Balances are the computed balances at the last sample, for the next diagnosis.
	Balances map[string]Balance
}
