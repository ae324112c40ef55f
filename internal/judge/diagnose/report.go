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

	"plimsoll/internal/base/units"
	"plimsoll/internal/judge/act"
	"plimsoll/internal/judge/headroom"
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
	Share    = rules.Spent  // a part of the stalled time and where it went
	Measured = rules.Traced // what a trace measured in the stalled time
	Action   = act.Action   // something to do now
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
	Version int      `json:"version"`
	Sources []Source `json:"sources"`
	Span    Span     `json:"span"`
	Verdict string   `json:"verdict"` // one to three sentences a person reads first
	// Server is what the report is of, if the sources hold several servers or hosts. Others are the
	// reports of the others, the most harmful first; each is what a diagnosis of that server alone
	// says.
	Server *Server   `json:"server,omitempty"`
	Others []*Report `json:"others,omitempty"`
	// Notes say on what grounds series were taken for those of this server and its host.
	Notes []string `json:"notes,omitempty"`
	// Lost is what the sources lost of their samples, if it is over [LostLeast] of one.
	Lost     []Loss    `json:"lost,omitempty"`
	Findings []Finding `json:"findings"`
	// Elsewhere are findings about devices of the host that are known not to be the database's.
	Elsewhere []Finding     `json:"elsewhere,omitempty"`
	Account   []Share       `json:"accounting"`
	Measured  *Measured     `json:"measured,omitempty"` // nil if no trace ran in the stalled time
	Missing   []NotMeasured `json:"not_measurable"`
	Timeline  []Track       `json:"timeline,omitempty"` // the few series worth plotting
	Stalls    StallSummary  `json:"stalls"`
	// Actions are what to do now about the incident that is shown, the first to try first; none if
	// nothing stalled, or if nothing that a command can do is known to help.
	Actions []Action `json:"actions"`
	// Incidents are what happened, the most harmful first. The fields above describe the first one,
	// or the one that [Options] ask for; MoreIncidents were found and not judged.
	Incidents []Incident `json:"incidents"`
	// Incident is the number of that one; 0 if there is none.
	Incident      int `json:"incident,omitempty"`
	MoreIncidents int `json:"more_incidents,omitempty"`
	// Judged are the classes of operation that could be judged at all, and NotSeen is what could not
	// be seen, a sentence each: what "no stall" is said of, and what it is not.
	Judged  []JudgedClass `json:"judged"`
	NotSeen []string      `json:"not_seen"`
	// Headroom is what is used of each limit, the most urgent first.
	Headroom []headroom.Headroom `json:"headroom"`
	// WatchedS is how long anything was watched, in seconds: without gaps. Periods are the hours or
	// days of a long recording, and WorstMinutes those in which operations waited most.
	// Runs are the stretches between gaps that are long beside what was watched: none if there is no
	// such gap. A series of Timeline then has a track for each.
	Runs         []Span   `json:"runs,omitempty"`
	WatchedS     float64  `json:"watched_seconds"`
	Periods      []Period `json:"periods,omitempty"`
	WorstMinutes []Minute `json:"worst_minutes,omitempty"`
	// Marks are the moments at which somebody said that something was changed, in time order.
	Marks []Marked `json:"marks,omitempty"`
	// Detail is for pages with plots, and not part of the contract; nil if [Options] do not ask for
	// it.
	Detail *Detail `json:"-"`
	// Balances are of computed credits, for [Options] of the next diagnosis of a live source.
	Balances map[string]headroom.Balance `json:"-"`
}

// A Server is one database server, or a host whose devices belong to none.
type Server struct {
	Name   string `json:"name"`
	Engine string `json:"engine,omitempty"` // "" for a host
	Host   string `json:"host,omitempty"`
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

// The kinds of incidents.
const (
	Stalled = "stall" // operations waited
	Worse   = "worse" // slower than usual, without a stall
)

// An Incident is one thing that happened: stalled time that has one cause, once or again and again,
// with who was hurt, why, and what it is not.
type Incident struct {
	ID      int    `json:"id"`      // from 1 on, by harm
	Kind    string `json:"kind"`    // Stalled or Worse
	Class   string `json:"class"`   // of operation: "writes"
	Subject string `json:"subject"` // "MongoDB writes"
	// From is the beginning of the first episode, To the end of the last.
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
	// Ongoing says that it was under way when the recording ended, as [Finding] has it.
	Ongoing bool         `json:"ongoing,omitempty"`
	Verdict string       `json:"verdict"`
	Hurt    []Hurt       `json:"hurt"` // whoever it is judged by first
	Stalls  StallSummary `json:"stalls"`
	// Findings are judged by this incident's time alone; so is what they refute.
	Findings []Finding `json:"findings"`
	Account  []Share   `json:"accounting"`
	Measured *Measured `json:"measured,omitempty"`
	Actions  []Action  `json:"actions"`
}

// Hurt is what one class of operation of one database or device had of an incident.
type Hurt struct {
	Signal string `json:"signal"` // "MongoDB reads", "writes of nvme1n1"
	Class  string `json:"class"`
	// Seconds are stalled ones, Operations those that ended in them, WaitedS what they waited in
	// all, and WorstS the highest mean latency of an interval; nil where no latency is told.
	Seconds    float64  `json:"seconds"`
	Operations float64  `json:"operations"`
	WaitedS    *float64 `json:"waited_seconds,omitempty"`
	WorstS     *float64 `json:"worst_seconds,omitempty"`
}

// A JudgedClass is one class of operation of one database or device that was watched.
type JudgedClass struct {
	Signal     string  `json:"signal"`
	Class      string  `json:"class"`
	Seconds    float64 `json:"seconds"` // watched
	Operations float64 `json:"operations"`
	ThresholdS float64 `json:"threshold_seconds,omitempty"` // mean latency from which an interval is stalled
	StepS      float64 `json:"interval_seconds"`            // of the means that were judged
}

// StallSummary counts the stalled time.
type StallSummary struct {
	Signal     string  `json:"signal"`                      // what was judged: "mongodb writes"
	ThresholdS float64 `json:"threshold_seconds,omitempty"` // latency above which a second is stalled
	// Seconds are stalled ones. If the means that were judged are longer than coarseS, IntervalS is their
	// length, Seconds are all intervals in which something stalled, and the stalled time is from LeastS to
	// MostS: an interval may have stalled in part, and another may hide a shorter stall, also if Seconds is 0.
	Seconds   float64 `json:"seconds"`
	AtMost    bool    `json:"at_most,omitempty"`
	LeastS    float64 `json:"least_seconds,omitempty"`
	MostS     float64 `json:"most_seconds,omitempty"`
	IntervalS float64 `json:"interval_seconds,omitempty"`
	// UndeterminedS are seconds at the end in which nothing completed and no source counts who waits: a
	// stall, or the end of the demand.
	UndeterminedS float64 `json:"undetermined_seconds,omitempty"`
	Of            float64 `json:"of"` // seconds observed
	Episodes      int     `json:"episodes"`
	LongestS      float64 `json:"longest_seconds"`
	PeriodS       float64 `json:"period_seconds,omitempty"` // if they recur regularly
	Windows       []Span  `json:"windows,omitempty"`
}

// Range is the stalled time in words: "63.0 s", "5.00 s to 1m15s", "at most 15.0 s".
func (s StallSummary) Range() string {
	switch {
	case !s.AtMost:
		return units.Seconds(s.Seconds)
	case s.LeastS > 0:
		return units.Seconds(s.LeastS) + " to " + units.Seconds(s.MostS)
	}
	return "at most " + units.Seconds(s.MostS)
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
