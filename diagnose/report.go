// Package diagnose runs the rule pack over recordings, accounts for the stalled
// time, ranks what it found, and says what it could not measure.
package diagnose

import "time"

// Version is the version of the JSON contract of [Report]. Fields are added,
// never renamed or removed.
const Version = 1

// A Report is a diagnosis: the contract of `diagnose -o json`.
type Report struct {
	Version  int           `json:"version"`
	Sources  []Source      `json:"sources"`
	Span     Span          `json:"span"`
	Verdict  string        `json:"verdict"` // one or two sentences a person reads first
	Findings []Finding     `json:"findings"`
	Account  []Share       `json:"accounting"`
	Missing  []NotMeasured `json:"not_measurable"`
	Timeline []Track       `json:"timeline,omitempty"` // the few series worth plotting
	Stalls   StallSummary  `json:"stalls"`
}

// A Source is where samples came from, as the report tells it.
type Source struct {
	Kind    string            `json:"kind"`
	Name    string            `json:"name"`
	Engine  string            `json:"engine,omitempty"`
	Version string            `json:"version,omitempty"`
	Host    string            `json:"host,omitempty"`
	From    time.Time         `json:"from"`
	To      time.Time         `json:"to"`
	PeriodS float64           `json:"period_seconds"`
	Samples int64             `json:"samples"`
	Facts   map[string]string `json:"facts,omitempty"`
}

// A Span is a stretch of time.
type Span struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
}

// Seconds is the span's length.
func (s Span) Seconds() float64 { return s.To.Sub(s.From).Seconds() }

// Severity says how much a finding matters.
type Severity string

// The severities, from worst to least.
const (
	Critical Severity = "critical"
	Warning  Severity = "warning"
	Info     Severity = "info"
)

// Kind says what a finding is.
type Kind string

// The kinds of findings.
const (
	Cause      Kind = "cause"      // why
	Symptom    Kind = "symptom"    // what hurts
	Refutation Kind = "refutation" // what it is not, or what will not help
)

// A Finding is one thing the diagnosis says.
type Finding struct {
	Rule     string     `json:"rule"` // "disk/iops-capped"
	Severity Severity   `json:"severity"`
	Kind     Kind       `json:"kind"`
	Subject  string     `json:"subject"`         // what it is about: "nvme1n1", "mongodb"
	Title    string     `json:"title"`           // a few words: "Checkpoints stall writes"
	Summary  string     `json:"summary"`         // one or two sentences with the numbers
	Cause    string     `json:"cause,omitempty"` // the mechanism, for one who does not know it
	Weight   float64    `json:"weight"`          // share of the stalled seconds it explains, 0 to 1
	Evidence []Evidence `json:"evidence"`
	Fixes    []Fix      `json:"fixes"`
	Windows  []Span     `json:"windows,omitempty"`        // when it held (the longest ones)
	PeriodS  float64    `json:"period_seconds,omitempty"` // if it recurs regularly
	Docs     string     `json:"docs,omitempty"`           // "docs/rules/disk-iops-capped.md"
}

// Evidence is one number a finding rests on. Value is nil when the text alone tells.
type Evidence struct {
	Text   string    `json:"text"`
	Metric string    `json:"metric,omitempty"` // metric or signal it was read from
	Value  *float64  `json:"value,omitempty"`
	Unit   string    `json:"unit,omitempty"` // "seconds", "bytes", "bytes/s", "ratio", "1/s", ""
	From   time.Time `json:"from"`
	To     time.Time `json:"to"`
}

// A Fix is something to do about a finding.
type Fix struct {
	Summary  string `json:"summary"`
	Expect   string `json:"expect"`
	TradeOff string `json:"trade_off"`
}

// A Share is a part of the stalled time and where it went.
type Share struct {
	Share   string  `json:"share"`   // "journal fdatasync", "execution queue", "unexplained"
	Seconds float64 `json:"seconds"` // of waiting, summed over operations
	Of      float64 `json:"of"`      // the whole it is a part of, in the same seconds
	// Overlaps is true when this share may be counted in another one too.
	Overlaps bool   `json:"overlaps,omitempty"`
	Note     string `json:"note,omitempty"`
}

// NotMeasured names a rule that could not be judged and the metrics it lacks.
type NotMeasured struct {
	Rule    string   `json:"rule"`
	Missing []string `json:"missing"` // metric names, or what to record instead
}

// StallSummary counts the stalled time.
type StallSummary struct {
	Signal     string  `json:"signal"`                      // what was judged: "mongodb write latency"
	ThresholdS float64 `json:"threshold_seconds,omitempty"` // latency above which a second is stalled
	Seconds    float64 `json:"seconds"`                     // stalled seconds
	Of         float64 `json:"of"`                          // seconds observed
	Episodes   int     `json:"episodes"`
	LongestS   float64 `json:"longest_seconds"`
	PeriodS    float64 `json:"period_seconds,omitempty"` // if they recur regularly
	Windows    []Span  `json:"windows,omitempty"`
}

// A Track is one series reduced to at most a few hundred points for plotting:
// the maximum of each slot (a stall must not vanish by averaging).
type Track struct {
	Name   string     `json:"name"` // "write latency", "dirty", "nvme1n1 busy"
	Unit   string     `json:"unit"`
	From   time.Time  `json:"from"`
	To     time.Time  `json:"to"`
	StepS  float64    `json:"step_seconds"`
	Values []*float64 `json:"values"` // nil where nothing was measured
}
