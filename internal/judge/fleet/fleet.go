// Package fleet diagnoses every database that a Prometheus-compatible server has metrics of, and
// reports what many of them have in common.
//
// It adds no judgement. A database of a fleet is a set of series with the same values of some
// labels ([Census]). Each worker queries the raw samples of one database at a time, and package
// diagnose judges them exactly like a recording. Fleet queries samples, not rates: rate and irate
// at fixed steps lose and double intervals, each engine extrapolates differently, and a stall may
// last one interval. So the findings are the same on every engine, and the same as those of
// `plimsoll diagnose` on a recording of the same samples.
//
// It is also cheaper. A diagnosis reads about fifty series per database. One request returns all of
// them for one database and three hours, bounded in bytes. The response to a single query for all databases
// would have to be in memory as a whole, twice, before the first database could be judged. Before reading
// samples, fleet counts the series and estimates their samples ([Census.Estimate]), and refuses to run a
// query that is too large.
//
// It then counts what databases have in common ([Group]): the same rule, on how many of them, for
// how many stalled hours. Prices are given only if known (see [Price]).
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
	// Selector is the selector of the requested series: {cluster=~"prod-.*"}; "" is all.
	Selector string `json:"selector,omitempty"`
	// By are the labels that identify a database. Chosen says that they were inferred, not given by
	// the user.
	By     []string      `json:"by"`
	Chosen bool          `json:"by_chosen,omitempty"`
	Span   diagnose.Span `json:"span"`
	// Verdict is one to three sentences that users read first.
	Verdict string `json:"verdict"`
	// Found is the number of databases, Read the number of judged ones: fewer if one could not be
	// judged, or after an interrupt.
	Found       int  `json:"databases_found"`
	Read        int  `json:"databases_read"`
	Interrupted bool `json:"interrupted,omitempty"`
	// Stalled is how many of the judged databases stalled, StalledS their stalled seconds, and
	// WatchedS the seconds in which they were measured.
	Stalled  int     `json:"databases_stalled"`
	StalledS float64 `json:"stalled_seconds"`
	WatchedS float64 `json:"watched_seconds"`
	Samples  int64   `json:"samples"`

	Groups    []Group    `json:"groups"`
	Databases []Database `json:"databases"`
	// Missing lists rules that could not be judged, with the number of databases, most first.
	Missing []Missing `json:"not_measurable"`
	// Notes are the server's warnings and obstacles to the diagnosis.
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
	// Critical is the number of databases in which it is critical.
	Critical int `json:"critical"`
	// ExplainedS are the stalled seconds that the group explains, summed over the databases. For a
	// cause it is the weight times the stalled time, so two simultaneous causes count the same
	// second twice. For a symptom it is the stalled time, for a refutation the stalled time of what
	// it refutes.
	ExplainedS float64 `json:"explained_seconds"`
	// Fixes are the findings' advice, starting with the fix for most databases.
	Fixes []FleetFix `json:"fixes"`
	// Price is the price of the fix's volumes, if known.
	Price *Price `json:"price,omitempty"`
	// Example is the summary of the most stalled database's finding.
	Example string `json:"example"`
	Docs    string `json:"docs,omitempty"`
}

// A FleetFix is one fix and the number of databases for which it is advised.
type FleetFix struct {
	diagnose.Fix
	Databases int `json:"databases"`
}

// A Price is a fix's monthly cost, if samples and the catalogue alone determine it: the binding
// limit is sold, so the price of twice the limit is known. Other costs of a fix are not known here,
// which does not make them zero. `plimsoll plan` prices layouts of a scenario.
type Price struct {
	MonthlyUSD float64 `json:"monthly_usd"`
	Volumes    int     `json:"volumes"`
	// Of says what is bought, where, and under which assumptions.
	Of string `json:"of"`
}

// A Database is a summary of one database's diagnosis.
type Database struct {
	Name    string            `json:"name"`
	Labels  map[string]string `json:"labels"`
	Verdict string            `json:"verdict,omitempty"`
	// Problem says why the database was not judged; the following fields are then empty.
	Problem  string            `json:"problem,omitempty"`
	Series   int               `json:"series"`
	Samples  int64             `json:"samples"`
	Signal   string            `json:"signal,omitempty"` // what was judged: "MongoDB writes"
	StalledS float64           `json:"stalled_seconds"`
	WatchedS float64           `json:"watched_seconds"`
	LongestS float64           `json:"longest_seconds"`
	PeriodS  float64           `json:"period_seconds,omitempty"`
	Severity diagnose.Severity `json:"severity,omitempty"` // of its worst cause or symptom
	// Findings are its causes, symptoms and refutations, each in one line, ranked as in its own
	// diagnosis.
	Findings []Finding `json:"findings"`
	Missing  []string  `json:"not_measurable,omitempty"` // rules

	report *diagnose.Report
	store  []string
	notes  []string
	group  string // the name in the census, if that group has several servers
}

// A Finding is a summary of one finding of a database.
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
	Metrics   []string `json:"missing"` // as for the first of them
}

// Ranks are the orders of groups: by stalled time explained, by number of databases, by stalled
// time per dollar.
var Ranks = []string{"hours", "databases", "money"}

// Options say how to diagnose a fleet.
type Options struct {
	// Pack holds the rules.
	Pack *rules.Pack
	// By are the labels that identify a database. If empty, [Find] chooses them.
	By []string
	// Parallel is how many databases are read at the same time. Each is in memory while it is
	// judged. 0 means 4.
	Parallel int
	// SamplesMax is the estimated number of samples above which Force is required. 0 means 250
	// million: a minute or more of a server's time.
	SamplesMax int64
	Force      bool
	// Rank is one of [Ranks], "" for hours.
	Rank string
	// Diagnose are the options of each diagnosis, except the pack.
	Diagnose diagnose.Options
	// Progress, if not nil, receives the number of finished databases after each one.
	Progress func(done, of int, samples int64)
}
