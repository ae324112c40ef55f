package rules

import (
	"io/fs"
	"strings"

	"plimsoll/internal/record/timeline"
)

// An Engine is a storage engine that recordings can be judged of.
type Engine interface {
	Rules() Knowledge
}

// Knowledge is what the pack takes from an engine's folder. What is left out the engine cannot
// tell.
type Knowledge struct {
	// Database names the engine in recordings and rules, Product is its name for people.
	Database, Product string
	// Anchor is a signal that every recording of the engine has and no other, of few series.
	Anchor *Signal
	// Signals are those that the folder declares.
	Signals Group
	// Host are further ways to read the core's signals: what the engine tells of its host.
	Host map[*Signal][]string
	// Rules in the order in which they are judged, and their test scripts.
	Rules   []Rule
	Scripts fs.FS

	// Stalls finds stalled time, where the engine's own view of it is told; it reads the signals of
	// Felt and no others.
	Stalls func(sig *Signals) []Stall
	Felt   []*Signal
	// Account says where the stalled waiting went, by the engine's own wait counters; nil if the
	// recording has none of them.
	Account func(c *Case) []Spent
	// Cycle is the engine's recurring burst of writing, if the recording tells of it.
	Cycle func(sig *Signals) (Cycle, bool)
	Log   Log

	// Latencies are distributions of durations that are kept in classes.
	Latencies []Latency
	// Plots are signals that a diagnosis draws.
	Plots    []Plot
	Compared Compared
	// Counters are the metrics that watching passes on as they are.
	Counters []Counter

	// Providers are what gives the engine's metrics, to whoever lacks them.
	Providers []Provider
	// Exporter says what a server of metrics has to scrape for it.
	Exporter string
	// CoresHint and CacheHint say how the engine is told of its CPUs and of how much to cache.
	CoresHint, CacheHint string
}

// Short is the engine's name in a table: the product without its maker.
func (k Knowledge) Short() string {
	words := strings.Fields(k.Product)
	return words[len(words)-1]
}

// Log is what an engine tells of the syncs of its log.
type Log struct {
	// Syncing is the share of each cell in which a sync was under way; nil if not measured.
	Syncing func(sig *Signals) []float64
	// Late reports whether syncs miss the engine's own criterion.
	Late func(sig *Signals) bool
	// Serial is evidence that the syncs are what is written one at a time in some cells.
	Serial func(sig *Signals, cells timeline.Mask) []Evidence
}

// A Cycle is a recurring burst of writing: a checkpoint.
type Cycle struct {
	// Cells are those in which one ran, or wrote.
	Cells timeline.Mask
	// Took is the time credited per second when one ends; nil if only told by running.
	Took []float64
	// Before and After are how many cells around one are counted to it.
	Before, After int
	// Flushes is the rule that tells of cycles whose own fsync asks the kernel for its dirty pages;
	// "" where they do not.
	Flushes string
}

// Spent is a part of the stalled time and where it went.
type Spent struct {
	Share   string  `json:"share"`   // "journal fdatasync", "execution queue", "unexplained"
	Seconds float64 `json:"seconds"` // of waiting, summed over operations
	Of      float64 `json:"of"`      // the whole it is a part of, in the same seconds
	// Overlaps is true when this share may be counted in another one too.
	Overlaps bool   `json:"overlaps,omitempty"`
	Note     string `json:"note,omitempty"`
}

// A Latency is a distribution of durations: a signal whose series are classes, by their label le.
type Latency struct {
	Classes *Signal
	Subject string // "PostgreSQL commits"
}

// A Plot is a signal that is drawn.
type Plot struct {
	Title  string
	Signal *Signal
}

// A Counter is a counter or gauge of a source that is passed on as it is.
type Counter struct {
	Metric string // as the source names it
	Name   string // as passed on
	Help   string
	Gauge  bool
	// Scale makes the unit of what is passed on from what the source tells.
	Scale float64
	// Label is the source's label that is passed on, and As is its name there; "" for none.
	Label, As string
}

// A Provider is what gives the metrics whose names begin with a prefix.
type Provider struct {
	Prefix string
	Ways   []Way
}

// A Way is something to hand over the next time.
type Way struct {
	Kind string // of the source that it makes: whoever gave one is not asked for it again; "" if none
	Text string
}
