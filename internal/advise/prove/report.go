package prove

import (
	"plimsoll/internal/judge/diagnose"
)

// Version is the version of the JSON contract of [Report]. Fields are added, never renamed or
// removed.
const Version = 1

// A Verdict is the conclusion about a figure, or about the whole report.
type Verdict string

// The verdicts. Better and Worse are for figures that are always better when lower (or higher), Higher
// and Lower for the others.
const (
	Better   Verdict = "better"
	Worse    Verdict = "worse"
	Higher   Verdict = "higher"
	Lower    Verdict = "lower"
	NoChange Verdict = "no change" // less than 5 % either way
	// no conclusion: neither that something changed nor that nothing did
	CantTell Verdict = "can't tell"
	Mixed    Verdict = "mixed" // overall: some better, some worse
	// AsMeant: it rose because that is how the fix works, and it is not client-visible.
	AsMeant Verdict = "as meant"
)

// A Report is the comparison of two recordings, and the JSON contract of `prove -o json`. Times are in
// seconds; null means unknown.
type Report struct {
	Version    int     `json:"version"`
	Verdict    Verdict `json:"verdict"`  // on the client-visible figures
	Sentence   string  `json:"sentence"` // the summary
	Confidence float64 `json:"confidence"`
	Seed       uint64  `json:"seed"`
	Method     Method  `json:"method"`
	Before     Side    `json:"before"`
	After      Side    `json:"after"`
	// Workload compares the loads of both.
	Workload Workload `json:"workload"`
	Figures  []Figure `json:"figures"`
	// Settings are those that differ between the recordings. Fixes are the named ones, or those that the
	// changed settings show.
	Settings     []Setting     `json:"settings"`
	Fixes        []string      `json:"fixes"`
	OnlyBefore   []string      `json:"only_before"` // figures that the other recording lacks
	OnlyAfter    []string      `json:"only_after"`
	Requirements []Requirement `json:"requirements"`
	Cost         *Cost         `json:"cost"` // null: not given
	Warnings     []string      `json:"warnings"`
	// Short says why there is no verdict yet; absent if the recordings are long enough.
	Short *Short `json:"not_proved_yet,omitempty"`

	undone []string // named fixes whose settings did not change
}

// A Method describes how intervals and verdicts were computed.
type Method struct {
	Units        string   `json:"units"` // "checkpoint cycles" or "cells"
	Resamples    int      `json:"resamples"`
	Permutations int      `json:"permutations"`
	Correction   string   `json:"correction"` // for several figures: "Holm"
	Family       int      `json:"family"`     // number of figures corrected for
	Margin       float64  `json:"margin"`     // the smallest change that counts
	Assumptions  []string `json:"assumptions"`
}

// A Side is one of the recordings, with the part of it that was used.
type Side struct {
	Sources []diagnose.Source `json:"sources"`
	// Server is the compared database; null: the sources show none.
	Server      *diagnose.Server `json:"server,omitempty"`
	Span        diagnose.Span    `json:"span"`
	StepSeconds float64          `json:"step_seconds"`
	Units       int              `json:"units"`             // whole cycles, or cells
	UnitSeconds float64          `json:"unit_seconds"`      // mean length of a unit
	UsedSeconds float64          `json:"used_seconds"`      // in units
	LeftSeconds float64          `json:"left_over_seconds"` // outside whole cycles
	// false: cut into pieces as long as the other side's cycles, or there are none
	CyclesOfOwn  bool   `json:"cycles_of_its_own"`
	StallSubject string `json:"stalled_judged_by"` // "MongoDB writes"
	// latency from which an interval counts as stalled; 0: stalls are judged by throughput
	ThresholdS float64 `json:"threshold_seconds"`
	// the device of the device figures: that of the engine's files, or otherwise the busiest, by bytes
	// moved in both recordings
	Device string `json:"device,omitempty"`
}

// A Workload says whether two recordings had a comparable load.
type Workload struct {
	Comparable bool    `json:"comparable"`
	Checks     []Check `json:"checks"`
}

// A Check is one property that must be similar.
type Check struct {
	Name      string   `json:"name"` // "rate"
	Before    *float64 `json:"before"`
	After     *float64 `json:"after"`
	Unit      string   `json:"unit"`
	Tolerance float64  `json:"tolerance"` // relative; for a share, absolute
	OK        bool     `json:"ok"`
	Text      string   `json:"text"` // "612/s before, 1,190/s after (tolerance 10 %)"
}

// An Estimate is a value with its interval at the report's confidence.
type Estimate struct {
	Value *float64 `json:"value"`
	Low   *float64 `json:"low"`  // null: too few units for an interval
	High  *float64 `json:"high"` // also null if nothing bounds it: see woodruff
	// AtLeast: the value is the lower bound of the histogram's last bucket, which has no upper bound, so
	// the true value may be far larger.
	AtLeast bool `json:"at_least,omitempty"`
}

// A Figure is one quantity, before and after.
type Figure struct {
	Name  string `json:"name"`  // "write_p99", as in --require
	Title string `json:"title"` // "write p99"
	Unit  string `json:"unit"`  // "seconds", "seconds/h", "1/s", "bytes", "bytes/s", "ratio"
	// Wanted is "less", "more" or "neither".
	Wanted string `json:"wanted"`
	// Basis describes what it was computed from: "histogram, summed over the run", for example.
	Basis string `json:"basis"`
	// Signals are the signals that it was read from, named as in `plimsoll rules show`; none for stalled
	// time.
	Signals []string `json:"signals,omitempty"`
	Before  Estimate `json:"before"`
	After   Estimate `json:"after"`
	// Ratio is after divided by before, Difference after minus before.
	Ratio      Estimate `json:"ratio"`
	Difference Estimate `json:"difference"`
	// BlockUnits is the number of units that were resampled together.
	BlockUnits int `json:"block_units"`
	// Resolution is the width of the histogram's class that contains the value, relative to the
	// value, on the side where it is larger. Intervals include it, and smaller changes are not
	// visible. 0 without classes.
	Resolution float64  `json:"resolution"`
	P          *float64 `json:"p_value"`
	PAdjusted  *float64 `json:"p_adjusted"`
	Verdict    Verdict  `json:"verdict"`
	// Record is how long each recording should be for a verdict; null if there is one.
	Record *Advice `json:"record"`
}

// An Advice is how long to record to get a verdict with a probability of four in five.
type Advice struct {
	Seconds float64 `json:"seconds"`
	Units   int     `json:"units"`
	For     string  `json:"for"` // "the change seen", "a change of 10 %", "the bound", "any verdict"
}

// An Outcome is the result for a requirement.
type Outcome string

// The outcomes.
const (
	Met          Outcome = "met"             // the whole interval meets it
	NotMet       Outcome = "not met"         // no part of the interval meets it
	CantTellYet  Outcome = "cannot tell yet" // the bound is within the interval
	NotMeasured  Outcome = "not measured"    // not in the recording after
	Incomparable Outcome = "not comparable"  // the workload differed
)

// A Requirement is a bound on a figure of the recording after.
type Requirement struct {
	Text    string   `json:"requirement"` // as given
	Name    string   `json:"name"`
	Less    bool     `json:"less"` // true: the figure must be less than the bound; false: more
	Bound   float64  `json:"bound"`
	Unit    string   `json:"unit"`
	After   Estimate `json:"after"`
	Outcome Outcome  `json:"outcome"`
	Record  *Advice  `json:"record"`
}

// A Cost has both monthly costs in dollars, as given.
type Cost struct {
	BeforeUSD *float64 `json:"before_usd_month"`
	AfterUSD  *float64 `json:"after_usd_month"`
	ChangeUSD *float64 `json:"change_usd_month"`
}
