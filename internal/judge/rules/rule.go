// Package rules is the language in which Plimsoll states why writes stall.
//
// A rule is a claim about a recording, with the condition under which it holds. The condition is
// PromQL over signals, and a signal is PromQL over exporters' metric names, with an alternative for
// each way in which a source may report it. So the same rule judges a recording, a simulation and,
// exported, a Prometheus server. If the condition holds, the rule's Judge examines those seconds
// and returns findings with numbers, if it has any.
//
// There are three kinds of findings: a symptom (what is slow), a cause (why), and a refutation (what
// is not the cause, or what will not help). A rule whose signals a source cannot provide is not
// measurable. A missing measurement is never treated as zero.
//
// The signals of disks, hosts, containers and clients are declared here, because rules of every engine
// read them, and so are the detectors that several rules need: of ceilings, of devices that became slow
// by themselves, of layers. The rules are in package corerules and in the engines' folders.
package rules

import (
	"slices"
	"strings"
	"time"

	"plimsoll/internal/record/timeline"
)

// Severity is how much a finding matters.
type Severity string

// The severities, from worst to least.
const (
	Critical Severity = "critical"
	Warning  Severity = "warning"
	Info     Severity = "info"
)

// Rank orders severities, the worst first; a finding without one comes last.
func (s Severity) Rank() int {
	all := []Severity{Critical, Warning, Info}
	if i := slices.Index(all, s); i >= 0 {
		return i
	}
	return len(all)
}

// Kind is the kind of a finding.
type Kind string

// The kinds of findings.
const (
	Cause      Kind = "cause"      // why
	Symptom    Kind = "symptom"    // what is slow
	Refutation Kind = "refutation" // what is not the cause, or what will not help
)

// A Rule is one claim about a recording.
type Rule struct {
	ID    string // "disk/iops-capped"
	Title string // a few words: "The volume's IOPS cap binds"
	Kind  Kind
	// Engine is the database that the rule is about, as recordings name it; set by the pack. It is
	// "" for rules about the disk, the host or the data.
	Engine string
	// When is PromQL over signals (names starting with "plimsoll:"). It holds in the cells where
	// the result is not empty.
	When string
	// Needs are the signals that the rule requires; nil means those of When.
	Needs []*Signal
	// AnyOf are signals; the rule requires at least one of them.
	AnyOf []*Signal
	// Whole means that the rule judges an entire recording, not the stalled time of one incident.
	Whole bool
	// Stalled means that the rule judges only a database whose operations stall.
	Stalled bool
	// Storage means that the cause makes clients wait for this host's storage, so that other waits
	// contradict it. Rules about disks always do.
	Storage bool
	// Sums means that the rule can judge sums since a process started, which is all that a single
	// page of metrics has.
	Sums bool
	// Cause explains the mechanism to a reader who does not know it.
	Cause string
	// Words and Advice are the texts for Judge's findings, by name.
	Words  Words
	Advice map[string]Advice
	// Refutes are resources that would not help if a finding of this rule is a refutation, or a
	// cause with weight.
	Refutes []Resource
	// Traced is what a trace of system calls shows if the rule is right; nil if a trace cannot show
	// it.
	Traced *Mechanism
	// NoAlert says why the condition alone is not an alert; "" if it is.
	NoAlert string
	// Judge turns the cells in which When holds into findings, in numbers. It receives one track
	// for each label set of the result.
	Judge func(c *Case, held []timeline.Track) []Finding
}

// Docs is the path of the rule's page.
func (r Rule) Docs() string {
	return "docs/rules/" + strings.ReplaceAll(r.ID, "/", "-") + ".md"
}

// A Span is a period of time.
type Span struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
}

// Seconds is the span's length.
func (s Span) Seconds() float64 { return s.To.Sub(s.From).Seconds() }

// A Finding is one result of the diagnosis.
type Finding struct {
	Rule     string     `json:"rule"` // "disk/iops-capped"
	Severity Severity   `json:"severity"`
	Kind     Kind       `json:"kind"`
	Subject  string     `json:"subject"`         // "nvme1n1", "mongodb"
	Title    string     `json:"title"`           // a few words
	Summary  string     `json:"summary"`         // one or two sentences with the numbers
	Cause    string     `json:"cause,omitempty"` // the mechanism
	Weight   float64    `json:"weight"`          // share of the stalled time it explains, 0 to 1
	Evidence []Evidence `json:"evidence"`
	Fixes    []Fix      `json:"fixes"`
	Windows  []Span     `json:"windows,omitempty"` // when it held (the longest ones)
	// PeriodS is the time between its recurrences in seconds, if regular.
	PeriodS float64 `json:"period_seconds,omitempty"`
	Docs    string  `json:"docs,omitempty"` // the rule's page
	// Ongoing means that it still held when the recording ended, or was about to recur. For a live
	// source, it is true now.
	Ongoing bool `json:"ongoing,omitempty"`
	// SupportCase is the attachment for a provider's support case; nil if the finding is not about
	// a fault of a volume.
	SupportCase *SupportCase `json:"support_case,omitempty"`
	// Measured is the result of comparing it with a trace: Confirmed, Partly or RuledOut; "" if no
	// trace ran or if a trace cannot show it.
	Measured string `json:"measured,omitempty"`
	// Cap is the volume's limit that binds; nil if the finding is not about one.
	Cap *Cap `json:"-"`
	// Always means that a resource was at its limit nearly all the time, so nothing shows what
	// would be normal without it.
	Always bool `json:"-"`
	// Alike means that a volume's other limit binds for as long, so neither is the cause alone.
	Alike bool `json:"-"`
	// Foremost means that the finding explains others with the same weight: a volume that became
	// slow by itself is why a checkpoint on it takes long.
	Foremost bool `json:"-"`

	// Effect means that the finding shows where clients waited, but not why: any other cause of its
	// severity is listed before it.
	Effect bool `json:"-"`

	// Judged means that it is the symptom of the operations by which stalled time is judged, which the
	// verdict is about. It is listed before every other symptom.
	Judged bool `json:"-"`

	// Opening and Closing are sentences that begin or end the verdict; "" for none.
	Opening string `json:"-"`
	Closing string `json:"-"`

	// Referrals are about findings of other rules; [Refer] adds those that hold to the summary.
	Referrals []Referral `json:"-"`

	// Asked is what the Judge requested and [Rule.Write] has not written yet.
	Asked Asked `json:"-"`
}

// A Cap is a volume's limit, either on IOPS or on throughput (bytes/s); the other is 0.
type Cap struct {
	IOPS, Throughput float64
	// Types are the volume types in the catalogue that are sold with such a limit.
	Types []string
}

// Evidence is one number that supports a finding. Value is nil if the text is enough.
type Evidence struct {
	Text   string    `json:"text"`
	Metric string    `json:"metric"` // the metric or signal it was read from
	Value  *float64  `json:"value"`
	Unit   string    `json:"unit"` // "seconds", "bytes", "bytes/s", "ratio", "1/s", ""
	From   time.Time `json:"from"`
	To     time.Time `json:"to"`
}

// A Fix is something to do about a finding.
type Fix struct {
	Summary  string `json:"summary"`
	Expect   string `json:"expect"`
	TradeOff string `json:"trade_off"`

	// Do carries out the fix, with the values of the advice.
	Do     []*Remedy `json:"-"`
	Values Values    `json:"-"`
	// Decisive is copied from the advice.
	Decisive bool `json:"-"`
}
