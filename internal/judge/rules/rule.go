// Package rules is the pack: what Plimsoll knows about why writes stall.
//
// A rule is a claim about a recording, with the condition under which it holds. The condition is
// PromQL over signals, and a signal is PromQL over exporters' metric names, with an alternative for
// each way in which a source may report it. So the same rule judges a recording, a simulation and,
// exported, a Prometheus server. Where the condition holds, the rule's Judge examines those seconds
// and returns its findings in numbers, if it has any.
//
// There are three kinds of findings: a symptom (what hurts), a cause (why), and a refutation (what
// is not the cause, or what will not help). A rule whose signals a source cannot provide is not
// measurable. It is never judged on a zero that nobody measured.
//
// Each rule has one file here, one script in testdata with a positive, a negative and a
// not-measurable case, and one page in docs/rules.
package rules

import (
	"strings"
	"time"

	"plimsoll/internal/record/timeline"
)

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
	Refutation Kind = "refutation" // what is not the cause, or what will not help
)

// A Rule is one claim about a recording.
type Rule struct {
	ID    string // "disk/iops-capped"
	Title string // a few words: "The volume's IOPS cap binds"
	Kind  Kind
	// the database it is about, as recordings name it; set by the pack. "" is the disk, the host or
	// the data
	Engine string
	// When is PromQL over signals (names starting with "plimsoll:"). It holds in the cells where
	// the result is not empty.
	When string
	// Needs are the signals that the rule requires; nil means those of When.
	Needs []*Signal
	// AnyOf are signals of which the rule requires at least one.
	AnyOf []*Signal
	// Whole says that the rule judges an entire recording, not the stalled time of one incident.
	Whole bool
	// Storage says that the cause makes clients wait for this host's storage, so that other waits
	// contradict it. Rules of disks do so in any case.
	Storage bool
	// Sums says that the rule can judge sums since a process began, which is all that one page of
	// metrics has.
	Sums bool
	// Cause explains the mechanism to a reader who does not know it.
	Cause string
	// Words and Advice are the texts for what Judge finds, by name.
	Words  Words
	Advice map[string]Advice
	// Refutes are resources of which more would change nothing where a finding of this rule is a
	// refutation, or a cause that weighs.
	Refutes []Resource
	// Traced is what a trace of system calls sees if the rule is right; nil if a trace cannot tell.
	Traced *Mechanism
	// NoAlert says why the condition alone makes no alert; "" if it does.
	NoAlert string
	// Judge turns the cells where When holds into findings, in numbers. It receives one track for
	// each label set of the result.
	Judge func(c *Case, held []timeline.Track) []Finding
}

// Docs is the path of the rule's page.
func (r Rule) Docs() string {
	return "docs/rules/" + strings.ReplaceAll(r.ID, "/", "-") + ".md"
}

// A Span is a stretch of time.
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
	Subject  string     `json:"subject"`         // what it is about: "nvme1n1", "mongodb"
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
	// Ongoing says that it held still when the recording ended, or was about to recur: of what is
	// being watched, that it is true now.
	Ongoing bool `json:"ongoing,omitempty"`
	// SupportCase is what to attach to a provider's support case; nil if the finding is not about a
	// volume's own fault.
	SupportCase *SupportCase `json:"support_case,omitempty"`
	// Measured is what a trace makes of it: Confirmed, Partly or RuledOut; "" if none ran or it cannot
	// tell.
	Measured string `json:"measured,omitempty"`
	// Cap is the volume's limit that binds; nil if the finding is not about one.
	Cap *Cap `json:"-"`
	// Always says that a resource was at its limit nearly all the time, so that nothing tells what
	// would be usual without.
	Always bool `json:"-"`
	// Alike says that a volume's other limit binds for as long, so that neither is the cause alone.
	Alike bool `json:"-"`
	// Foremost says that the finding explains others that explain as much: a volume that became slow
	// by itself is why a checkpoint takes long on it.
	Foremost bool `json:"-"`

	// Effect says that the finding shows where clients waited, and not why: any other cause of its
	// severity is listed before it.
	Effect bool `json:"-"`

	// Opening and Closing are sentences with which the finding begins or ends the verdict; "" if it
	// has none.
	Opening string `json:"-"`
	Closing string `json:"-"`

	// Asked is what the Judge asked for and [Rule.Write] has not yet written.
	Asked Asked `json:"-"`
}

// A Cap is a volume's limit: of IOPS or of throughput (bytes/s); the other is 0.
type Cap struct {
	IOPS, Throughput float64
	// Types are the catalogue's volumes that are sold with such a limit.
	Types []string
}

// Evidence is one number that a finding rests on. Value is nil when the text is enough.
type Evidence struct {
	Text   string    `json:"text"`
	Metric string    `json:"metric"` // metric or signal it was read from
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

	// Do carries it out, with the values of the advice.
	Do     []*Remedy `json:"-"`
	Values Values    `json:"-"`
	// Decisive is the advice's.
	Decisive bool `json:"-"`
}
