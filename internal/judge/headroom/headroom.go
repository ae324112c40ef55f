// Package headroom says of each limit how much of it was used at most, what is usual, how that
// grows, and when the limit is met at this rate.
//
// It goes from signals and limits to values, in three steps:
//
//  1. Each resource is a series of what is used and one of its limit ([resource]). Limits are given
//     by the user, measured, seen (a rate that stands still while requests queue: the criteria of
//     the rules that report a cap), or an engine's own. A limit that is not known stays unknown.
//  2. The most is looked for in the finest intervals that the series has, because a burst of five
//     seconds in a minute is gone from the minute's mean.
//  3. What is left ends exactly where it is a bucket of credits: balance and drain. Where it grows,
//     it ends in an interval, by a robust slope, and only if the recording carries one ([trend]).
package headroom

import (
	"time"

	"plimsoll/internal/judge/rules"
)

// Where a limit is known from.
const (
	Given    = "given"    // by the user, as a type and a size
	Measured = "measured" // a source reports it
	Seen     = "seen"     // a rate stood still there while requests queued
	Own      = "own"      // an engine's setting or default
	Unknown  = "unknown"
)

// A Headroom is one limit and what is used of it.
type Headroom struct {
	Resource string `json:"resource"` // a key that stays: "volume_iops"
	Title    string `json:"title"`    // for people: "IOPS"
	Subject  string `json:"subject"`  // the device, mount, member or database
	Unit     string `json:"unit"`     // of the figures: "1/s", "bytes/s", "bytes", "ratio", "operations", ""
	// Limit is that of the time of Most; nil if it is not known.
	Limit     *float64 `json:"limit"`
	LimitFrom string   `json:"limit_from"` // Given, Measured, Seen, Own or Unknown
	LimitText string   `json:"limit_text"` // where it is from, for people
	// Most is the highest use in one interval; nil if none was measured.
	Most *Use `json:"most"`
	// UsualRatio is the median share of the limit that was used.
	UsualRatio *float64 `json:"usual_ratio,omitempty"`
	// IntervalS is the finest interval in which use was measured, in seconds.
	IntervalS float64 `json:"interval_seconds"`
	// Bursts are the times at the limit; nil if there were none, or the limit is none of a rate.
	Bursts *Bursts `json:"bursts,omitempty"`
	// Trend is nil where the recording does not carry one.
	Trend *Trend `json:"trend,omitempty"`
	Ends  *Ends  `json:"ends,omitempty"`
	// NotSeen is what could not be seen in these intervals; "" if that is nothing.
	NotSeen string `json:"not_seen,omitempty"`
}

// A Use is how much was used, and when.
type Use struct {
	Value float64   `json:"value"`
	Ratio *float64  `json:"ratio"` // of the limit; nil if that is not known
	At    time.Time `json:"at"`    // the end of the interval
}

// Bursts are times in which a rate was at its limit.
type Bursts struct {
	Seconds  float64 `json:"seconds"`
	Episodes int     `json:"episodes"`
	LongestS float64 `json:"longest_seconds"`
	PeriodS  float64 `json:"period_seconds,omitempty"` // if they recur regularly
	// MinuteRatio is the share of the limit in the minute with the highest mean: what a sampling of
	// one minute would show at most.
	MinuteRatio float64 `json:"minute_ratio"`
}

// A Trend is how fast use grows, in the unit per second: the median of the slopes of all pairs, and
// the interval that holds it with 95 %.
type Trend struct {
	PerS float64 `json:"per_second"`
	Low  float64 `json:"low"`
	High float64 `json:"high"`
	// OverS is the time that it rests on.
	OverS float64 `json:"over_seconds"`
	Of    string  `json:"of"` // what grows: "used", "95 % of each day"
}

// Ends is when the limit is met at this rate, counted from the last sample.
type Ends struct {
	InS float64 `json:"in_seconds"`
	// LowS and HighS are the interval of a growth; equal to InS where the end is exact.
	LowS  float64 `json:"low_seconds"`
	HighS float64 `json:"high_seconds"`
	Exact bool    `json:"exact"` // by balance and drain
	// Assumes is what an exact end rests on; "" if nothing.
	Assumes string `json:"assumes,omitempty"`
	// Then is what happens then, for people.
	Then string `json:"then,omitempty"`
}

// A Rate is a pair of limits; 0 is none.
type Rate struct {
	IOPS       float64
	Throughput float64 // bytes per second
}

// A Volume is what a volume of a known type gives.
type Volume struct {
	Text string // "gp2 of 50 GiB"
	// Sustained is what it gives always, Burst while it has credits: those two are equal if it has
	// none.
	Sustained, Burst Rate
	// Credits fill its bucket: operations, or bytes if Bytes says so. Sustained flows in.
	Credits float64
	Bytes   bool
	// ByteCredits fill a second bucket, of bytes; 0 is none.
	ByteCredits float64
	// Operation is the most bytes of one operation; 0 means no bound. A larger request is several.
	Operation float64
}

// A Machine is what an instance gives to all its volumes together: Maximum is for 30 minutes a day.
type Machine struct {
	Name              string
	Baseline, Maximum Rate
}

// An Offer is a volume that a user names: what it gives if its device has this size, 0 if that is
// not known.
type Offer func(sizeBytes int64) (Volume, error)

// Known is what a user says of volumes and the machine.
type Known struct {
	// Volumes are known by the name of a device or a volume; Devices are the devices of volumes.
	Volumes map[string]Offer
	Devices map[string]string
	// Machine knows the machine of a type, "" for the one that the user names. It is asked about
	// what the recording names if the user names none; nil knows none.
	Machine func(kind string) (Machine, bool)
	// Described reads what a source reports of a volume, as gp3,500GiB; nil reads nothing.
	Described func(text string) (Offer, error)
}

// A Balance is how much of a bucket of credits was left at a time.
type Balance struct {
	At      time.Time
	Credits float64
}

// Options are what is known besides a recording.
type Options struct {
	Known Known
	// PeriodS is the finest interval in seconds of a signal's samples; nil means the grid's.
	PeriodS func(*rules.Signal) float64
	// Balances are those of an earlier time, by [Result]; nil means that every bucket was full when
	// the recording began.
	Balances map[string]Balance
}

// A Result is the headroom of a recording.
type Result struct {
	All []Headroom
	// Balances are what is left of computed buckets at the last sample, for whoever goes on.
	Balances map[string]Balance
}
