// Package fleet diagnoses every database that a Prometheus-compatible server holds, and says what
// many of them have in common.
//
// It adds no judgement of its own. A database of a fleet is a set of series with the same value of
// some labels ([Census]); its raw samples are asked for, one database at a time on each worker, and
// judged by package diagnose exactly as a recording of them would be. What a server is asked for
// are samples, not rates: rate and irate at fixed steps lose and double intervals, each engine
// extrapolates in a way of its own, and a stall of one interval is what is looked for. So the
// findings are the same on every engine, and the same as those of `plimsoll diagnose` on a
// recording of the same samples.
//
// It is also the cheaper way. A diagnosis reads some fifty series a database; all of them, of one
// database, come with one request for each three hours, bounded in bytes, while one query for all
// databases would have to be held whole, twice, before the first could be judged. Before a sample
// is read its series are counted and its samples estimated ([Census.Estimate]): a query that would
// be too much is not made.
//
// What many databases have in common is then counted ([Group]): the same rule, over so many of
// them, for so many stalled hours. Money is said only where it is known (see [Price]).
package fleet

import (
	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/judge/rules"
)

// Version is the version of the JSON contract of [Report]. Fields are added, never renamed or
// removed.
const Version = 1

// A Report is the diagnosis of a fleet: the contract of `diagnose --prometheus URL -o json`.
type Report struct {
	Version int    `json:"version"`
	Server  string `json:"server"` // its URL, without credentials
	// Selector is what series were asked for: {cluster=~"prod-.*"}; "" is all.
	Selector string `json:"selector,omitempty"`
	// By are the labels that tell one database from another; Chosen says that nobody gave them.
	By     []string      `json:"by"`
	Chosen bool          `json:"by_chosen,omitempty"`
	Span   diagnose.Span `json:"span"`
	// Verdict is one to three sentences that a person reads first.
	Verdict string `json:"verdict"`
	// Found is how many databases there are, Read how many of them were judged: fewer where one
	// could not be, or after an interrupt.
	Found       int  `json:"databases_found"`
	Read        int  `json:"databases_read"`
	Interrupted bool `json:"interrupted,omitempty"`
	// Stalled is how many of those read stalled at all, StalledS their stalled seconds, WatchedS
	// the seconds in which they were watched.
	Stalled  int     `json:"databases_stalled"`
	StalledS float64 `json:"stalled_seconds"`
	WatchedS float64 `json:"watched_seconds"`
	Samples  int64   `json:"samples"`

	Groups    []Group    `json:"groups"`
	Databases []Database `json:"databases"`
	// Missing are rules that could not be judged, with of how many databases, the most first.
	Missing []Missing `json:"not_measurable"`
	// Notes are what the server warned of, and what stands in the way of a diagnosis.
	Notes []string `json:"notes,omitempty"`
}

// A Group is one rule's findings over the fleet.
type Group struct {
	Rule     string            `json:"rule"`
	Title    string            `json:"title"`
	Kind     diagnose.Kind     `json:"kind"`
	Severity diagnose.Severity `json:"severity"` // the worst
	// Names are the databases with such a finding, the most stalled first.
	Names []string `json:"databases"`
	// Critical is in how many of them it is critical.
	Critical int `json:"critical"`
	// ExplainedS are the stalled seconds that it explains, summed over the databases: of a cause
	// its weight times what stalled, so that two causes that hold together count the same second
	// twice; of a symptom what stalled; of a refutation what it refutes something of.
	ExplainedS float64 `json:"explained_seconds"`
	// Fixes are what the findings advise, the one for most databases first.
	Fixes []FleetFix `json:"fixes"`
	// Price is what the volumes of the fix cost, if that is known.
	Price *Price `json:"price,omitempty"`
	// Example is the summary of the most stalled database's finding.
	Example string `json:"example"`
	Docs    string `json:"docs,omitempty"`
}

// A FleetFix is one thing to do, with for how many databases it is advised.
type FleetFix struct {
	diagnose.Fix
	Databases int `json:"databases"`
}

// A Price is what a fix costs a month where that can be told from samples and the catalogue alone:
// what binds is a limit that is sold, so one knows what twice of it costs. What else a fix costs is
// not known here, which is not nothing: `plimsoll plan` prices layouts of a scenario.
type Price struct {
	MonthlyUSD float64 `json:"monthly_usd"`
	Volumes    int     `json:"volumes"`
	// Of says what is bought, where, and what is assumed.
	Of string `json:"of"`
}

// A Database is one database's diagnosis in short.
type Database struct {
	Name    string            `json:"name"`
	Labels  map[string]string `json:"labels"`
	Verdict string            `json:"verdict,omitempty"`
	// Problem says why it was not judged; then there is nothing else.
	Problem  string            `json:"problem,omitempty"`
	Series   int               `json:"series"`
	Samples  int64             `json:"samples"`
	Signal   string            `json:"signal,omitempty"` // what was judged: "MongoDB writes"
	StalledS float64           `json:"stalled_seconds"`
	WatchedS float64           `json:"watched_seconds"`
	LongestS float64           `json:"longest_seconds"`
	PeriodS  float64           `json:"period_seconds,omitempty"`
	Severity diagnose.Severity `json:"severity,omitempty"` // of its worst cause or symptom
	// Findings are its causes, symptoms and refutations, each in one line, as its own diagnosis
	// ranks them.
	Findings []Finding `json:"findings"`
	Missing  []string  `json:"not_measurable,omitempty"` // rules

	report *diagnose.Report
	store  []string
}

// A Finding is one finding of a database in short.
type Finding struct {
	Rule     string            `json:"rule"`
	Kind     diagnose.Kind     `json:"kind"`
	Severity diagnose.Severity `json:"severity"`
	Subject  string            `json:"subject"`
	Weight   float64           `json:"weight"`
	Summary  string            `json:"summary"`
}

// Missing is a rule that could not be judged on some databases.
type Missing struct {
	Rule      string   `json:"rule"`
	Databases int      `json:"databases"`
	Metrics   []string `json:"missing"` // as the first of them tells
}

// Ranks are the orders that groups can have: by stalled time explained, by databases, by stalled
// time for the money.
var Ranks = []string{"hours", "databases", "money"}

// Options say how to diagnose a fleet.
type Options struct {
	// Pack is what databases are judged by.
	Pack *rules.Pack
	// By are the labels that tell one database from another. None: those that fit are found, see
	// [Find].
	By []string
	// Parallel is how many databases are read at the same time, each held in memory while it is
	// judged. 0 means 4.
	Parallel int
	// SamplesMax is how many samples, estimated before, are read without Force. 0 means 250
	// million: a minute or some of a server's time.
	SamplesMax int64
	Force      bool
	// Rank is one of [Ranks], "" for hours.
	Rank string
	// Diagnose are the options of each diagnosis, but for the pack.
	Diagnose diagnose.Options
	// Progress, if not nil, is told after each database how many are done.
	Progress func(done, of int, samples int64)
}
