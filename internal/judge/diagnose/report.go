// Package diagnose runs the rule pack over recordings, accounts for the stalled time, ranks the
// findings and reports what it could not measure.
//
// Data flows in one direction. The sources' samples become signals on one time grid (package
// rules). Stalled seconds are detected from what the database's clients felt, before any cause is
// considered. Each rule is judged against those seconds. The engine's own wait counters account for
// the time waited in them. Finally, findings are ordered: causes first, by the share of the stalled
// time they explain.
package diagnose

import (
	"cmp"
	"time"

	"plimsoll/internal/base/units"
	"plimsoll/internal/judge/act"
	"plimsoll/internal/judge/headroom"
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/recording"
)

// Version is the version of the JSON contract of [Report]. Fields are added, but never renamed or
// removed.
const Version = 1

// The findings of rules are part of the contract.
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
	Verdict string   `json:"verdict"` // one to three sentences that users read first
	// Server is the subject of the report if the sources contain several servers or hosts. Others
	// are the reports of the other servers, most harmful first. Each is the same as a diagnosis of
	// that server alone, except for what members of a cluster show about each other.
	Server *Server   `json:"server,omitempty"`
	Others []*Report `json:"others,omitempty"`
	// Notes say why series were attributed to this server and its host.
	Notes []string `json:"notes,omitempty"`
	// Lost lists the sources that lost more than [LostLeast] of their samples.
	Lost     []Loss    `json:"lost,omitempty"`
	Findings []Finding `json:"findings"`
	// Elsewhere are findings about devices of the host that the database is known not to use.
	Elsewhere []Finding     `json:"elsewhere,omitempty"`
	Account   []Share       `json:"accounting"`
	Measured  *Measured     `json:"measured,omitempty"` // nil if no trace ran in the stalled time
	Missing   []NotMeasured `json:"not_measurable"`
	Timeline  []Track       `json:"timeline,omitempty"` // the few series worth plotting
	Stalls    StallSummary  `json:"stalls"`
	// Actions are what to do now about the incident shown, in the order to try them. There are none
	// if nothing stalled, or if no command is known to help.
	Actions []Action `json:"actions"`
	// Incidents are listed most harmful first. The fields above describe the first one, or the one
	// that [Options] select. MoreIncidents were found but not judged.
	Incidents []Incident `json:"incidents"`
	// Incident is the number of the incident that the fields above describe; 0 if there is none.
	Incident      int `json:"incident,omitempty"`
	MoreIncidents int `json:"more_incidents,omitempty"`
	// Judged are the classes of operation that could be judged. NotSeen says in a sentence each
	// what could not be seen. Together they define what "no stall" covers.
	Judged  []JudgedClass `json:"judged"`
	NotSeen []string      `json:"not_seen"`
	// Headroom is how much of each limit is used, most urgent first.
	Headroom []headroom.Headroom `json:"headroom"`
	// Runs are the stretches between long gaps, relative to the time watched; none if there is no
	// such gap. Each series of Timeline has a track for each run.
	Runs []Span `json:"runs,omitempty"`
	// WatchedS is how long anything was watched, in seconds, gaps excluded. Periods are the hours
	// or days of a long recording, and WorstMinutes those in which operations waited most.
	WatchedS     float64  `json:"watched_seconds"`
	Periods      []Period `json:"periods,omitempty"`
	WorstMinutes []Minute `json:"worst_minutes,omitempty"`
	// Marks are the moments at which the user noted a change, in time order.
	Marks []Marked `json:"marks,omitempty"`
	// Detail is for pages with plots and not part of the contract; nil unless [Options] request it.
	Detail *Detail `json:"-"`
	// Balances are the computed credit balances, for the [Options] of the next diagnosis of a live
	// source.
	Balances map[string]headroom.Balance `json:"-"`

	// member is compared with the other members of its cluster; nil if it is in none. active means that
	// there was load.
	member *rules.Member
	active bool
	// compared are the findings of that comparison.
	compared []Finding
}

// A Server is a database server, or a host whose devices belong to no database.
type Server struct {
	Name   string `json:"name"`
	Engine string `json:"engine,omitempty"` // "" for a host
	Host   string `json:"host,omitempty"`
}

// A Source is where samples came from.
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

// Argument returns the command-line argument that samples a live source again: its name, or its address
// with the user.
func (s *Source) Argument() string { return cmp.Or(s.Facts[recording.FactAgain], s.Name) }

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

// An Incident is stalled time with one cause, once or recurring, with the operations affected, the
// cause, and what was ruled out.
type Incident struct {
	ID      int    `json:"id"`      // from 1 on, by harm
	Kind    string `json:"kind"`    // Stalled or Worse
	Class   string `json:"class"`   // of operation: "writes"
	Subject string `json:"subject"` // "MongoDB writes"
	// From is the start of the first episode, To the end of the last.
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
	// Ongoing reports whether the incident was still in progress when the recording ended, as in
	// [Finding].
	Ongoing bool         `json:"ongoing,omitempty"`
	Verdict string       `json:"verdict"`
	Hurt    []Hurt       `json:"hurt"` // the class that the incident is judged by comes first
	Stalls  StallSummary `json:"stalls"`
	// Findings, including refutations, are judged on this incident's time alone.
	Findings []Finding `json:"findings"`
	Account  []Share   `json:"accounting"`
	Measured *Measured `json:"measured,omitempty"`
	Actions  []Action  `json:"actions"`
}

// Hurt is how an incident affected one class of operation of one database or device.
type Hurt struct {
	Signal string `json:"signal"` // "MongoDB reads", "writes of nvme1n1"
	Class  string `json:"class"`
	// Seconds is the stalled time, Operations how many completed in it, WaitedS how long they
	// waited in total, and WorstS the highest mean latency of an interval; nil if no latency is
	// known.
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
	StepS      float64 `json:"interval_seconds"`            // length of the intervals whose means were judged
}

// StallSummary counts the stalled time.
type StallSummary struct {
	Signal     string  `json:"signal"`                      // what was judged: "mongodb writes"
	ThresholdS float64 `json:"threshold_seconds,omitempty"` // latency above which a second is stalled
	// Seconds is the stalled time. If the judged intervals are longer than coarseS, IntervalS is
	// their length, Seconds counts every interval in which something stalled, and the actual
	// stalled time is between LeastS and MostS: an interval may have stalled only in part, and
	// another may hide a shorter stall, even if Seconds is 0.
	Seconds   float64 `json:"seconds"`
	AtMost    bool    `json:"at_most,omitempty"`
	LeastS    float64 `json:"least_seconds,omitempty"`
	MostS     float64 `json:"most_seconds,omitempty"`
	IntervalS float64 `json:"interval_seconds,omitempty"`
	// UndeterminedS is time at the end in which nothing completed and no source counts waiting
	// operations: either a stall or the end of the load.
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

// A Track is one series reduced to at most a few hundred points for plotting. Each is the maximum
// of its slot, because averaging would hide a stall.
type Track struct {
	Name   string     `json:"name"` // "write latency", "dirty", "nvme1n1 busy"
	Unit   string     `json:"unit"`
	From   time.Time  `json:"from"`
	To     time.Time  `json:"to"`
	StepS  float64    `json:"step_seconds"`
	Values []*float64 `json:"values"` // nil where nothing was measured
}
