// Package diagnose runs the rule pack over recordings, accounts for the stalled
// time, ranks what it found, and says what it could not measure.
//
// It goes in one direction: the sources' samples are laid on one grid of time as
// signals (package rules); the stalled seconds are found from what the database's
// clients felt, before any cause is looked at; each rule is judged against those
// seconds; the waiting time in them is accounted for from the engine's own wait
// counters; and what was found is ordered, causes first, by the share it explains.
package diagnose

import (
	"time"

	"plimsoll/internal/judge/rules"
)

// Version is the version of the JSON contract of [Report]. Fields are added,
// never renamed or removed.
const Version = 1

// What rules find is part of the contract.
type (
	Finding  = rules.Finding
	Evidence = rules.Evidence
	Fix      = rules.Fix
	Span     = rules.Span
	Severity = rules.Severity
	Kind     = rules.Kind
	Share    = rules.Spent // a part of the stalled time and where it went
)

// The severities and kinds of findings.
const (
	Critical   = rules.Critical
	Warning    = rules.Warning
	Info       = rules.Info
	Cause      = rules.Cause
	Symptom    = rules.Symptom
	Refutation = rules.Refutation
)

// A Report is a diagnosis: the contract of `diagnose -o json`.
type Report struct {
	Version  int           `json:"version"`
	Sources  []Source      `json:"sources"`
	Span     Span          `json:"span"`
	Verdict  string        `json:"verdict"` // one to three sentences a person reads first
	Findings []Finding     `json:"findings"`
	Account  []Share       `json:"accounting"`
	Missing  []NotMeasured `json:"not_measurable"`
	Timeline []Track       `json:"timeline,omitempty"` // the few series worth plotting
	Stalls   StallSummary  `json:"stalls"`
	// Detail is for pages with plots, and not part of the contract; nil if [Options] do not ask for
	// it.
	Detail *Detail `json:"-"`
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

// NotMeasured names a rule that could not be judged and the metrics it lacks.
type NotMeasured struct {
	Rule    string   `json:"rule"`
	Missing []string `json:"missing"` // metric names, any one of each signal's alternatives
}

// StallSummary counts the stalled time.
type StallSummary struct {
	Signal     string  `json:"signal"`                      // what was judged: "mongodb writes"
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
