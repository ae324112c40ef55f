package rules

import (
	"io/fs"
	"strings"

	"plimsoll/internal/record/timeline"
)

// Knowledge is everything that the pack takes from an engine's folder. A field that is not set is
// something the engine does not report.
type Knowledge struct {
	// Database names the engine in recordings and rules, Product is its display name.
	Database, Product string
	// Programs are the names of the engine's processes, at most 15 bytes as the kernel truncates
	// them.
	Programs []string
	// Scheme is the URL scheme of its live source; "" if it has none. The list of engines sets it.
	Scheme string
	// Anchor is a signal with few series that every recording of this engine has, and no other
	// engine's recordings.
	Anchor *Signal
	// Agreed, if not nil, is read from a metric that all members of a cluster report alike, so that
	// members of different clusters can be distinguished.
	Agreed *Signal
	// Signals are the signals that the folder declares.
	Signals Group
	// Host lists additional expressions for the core's signals, for an engine that reports about its
	// host.
	Host map[*Signal][]string
	// Rules are in the order in which they are judged; Scripts are their tests.
	Rules   []Rule
	Scripts fs.FS

	// Stalls finds stalled time in the engine's own figures, if there are any. It reads only the
	// signals in Felt.
	Stalls func(sig *Signals) []Stall
	Felt   []*Signal
	// Account attributes the stalled waiting by the engine's own wait counters; nil if the
	// recording has none.
	Account func(c *Case) []Spent
	// Waited divides the stalled time by what executing sessions waited for, if the engine counts
	// sessions and not the time of waits.
	Waited func(c *Case) []Spent
	// Handed is the bytes per second that the engine handed to the operating system for its files;
	// nil if not measured.
	Handed func(sig *Signals) []float64
	// Folder is the name of the fact with the folder of the engine's files on its host; "" if no
	// source reports it.
	Folder string
	// Throttled is the measured effect of the kernel's writeback throttling on the engine's writes,
	// for each file system tested.
	Throttled []Throttled
	// HeldUp returns what clients waited for in the stalled time; false if the engine does not
	// report it or if they waited for this host's storage.
	HeldUp func(c *Case) (HeldUp, bool)
	// Cycle is the engine's recurring burst of writing, if the recording contains it.
	Cycle func(sig *Signals) (Cycle, bool)
	Log   Log
	// Cluster, if not nil, compares a server with the other members of its cluster.
	Cluster *Cluster

	// Latencies are distributions of durations that are kept in histogram classes.
	Latencies []Latency
	// Criteria are what the engine's vendor requires of its storage.
	Criteria []Criterion
	// Synced, if not nil, describes what one client gets, given the duration of one sync, for engines
	// without criteria.
	Synced *Synced
	// Bounds are limits of the engine itself, below which it makes no client wait.
	Bounds []Bound
	// Plots are the signals that a diagnosis draws.
	Plots    []Plot
	Compared Compared
	// Counters are the metrics that watch exports unchanged.
	Counters []Counter

	// Remedies are the engine's implementations of the remedies that every engine implements
	// itself.
	Remedies map[*Remedy]*Remedy
	// Client returns the commands that run statements in the engine's own shell; nil if it has no
	// shell with a command line.
	Client func(at ClientAt, statements []string) []string
	// Settings are signals, and SettingFacts the prefixes of facts' names, that hold settings of
	// the engine.
	Settings     []*Signal
	SettingFacts []string
	// ManagedHosts are suffixes of host names at which a provider runs the engine.
	ManagedHosts []string
	// AzureHosts is the suffix of the host names of its servers in Azure Database, and AzureCommand the words
	// of az that manage one; "" if there are none.
	AzureHosts, AzureCommand string

	// Providers list where the engine's metrics can be obtained.
	Providers []Provider
	// Exporter describes the exporter that a metrics server has to scrape for the engine.
	Exporter string
	// CoresHint and CacheHint name the settings for the engine's CPUs and cache size.
	CoresHint, CacheHint string
}

// ClientAt describes where an engine's client runs and the server's version. Facts come from the
// sources, such as the server's port.
type ClientAt struct {
	Place   Place
	Version string
	Facts   map[string]string
}

// Short is the engine's name in a table: the product without its vendor.
func (k Knowledge) Short() string {
	words := strings.Fields(k.Product)
	return words[len(words)-1]
}

// Log is what an engine reports about its log's syncs.
type Log struct {
	// Syncing is the share of each cell with a sync in progress; nil if not measured.
	Syncing func(sig *Signals) []float64
	// Apart reports whether the log is already on a different device from the data.
	Apart func(c *Case) bool
	// AlsoWaited names what clients waited for in addition to the log in a good part of the stalled
	// time ("room in the cache"), so that a faster log alone does not end the stall; "" if there is
	// nothing else.
	AlsoWaited func(c *Case) string
	// Late reports whether syncs miss the engine's own criterion.
	Late func(sig *Signals) bool
	// Serial returns evidence that the writes made one at a time in some cells are the syncs.
	Serial func(sig *Signals, cells timeline.Mask) []Evidence
}

// A Cycle is a recurring burst of writing: a checkpoint.
type Cycle struct {
	// Cells are the cells in which a cycle ran or wrote.
	Cells timeline.Mask
	// Took is the time credited per second when a cycle ends; nil if the engine reports only
	// running cycles.
	Took []float64
	// Before and After are how many cells around a cycle count as part of it.
	Before, After int
	// Flushes is the rule for cycles whose own fsync makes the kernel write its dirty pages; "" if
	// they do not.
	Flushes string
	// Left means that a cycle's writes are known to stay in the page cache until the cycle's fsync.
	Left bool
}

// Spent is a part of the stalled time and what it was spent on.
type Spent struct {
	Share   string  `json:"share"`   // "journal fdatasync", "execution queue", "unexplained"
	Seconds float64 `json:"seconds"` // of waiting, summed over operations
	Of      float64 `json:"of"`      // the total that it is a part of, in the same seconds
	// Overlaps is true if another Spent may count the same time.
	Overlaps bool   `json:"overlaps,omitempty"`
	Note     string `json:"note,omitempty"`
	// Otherwise is the share of the time under load without a stall in which the same held.
	Otherwise float64 `json:"-"`
}

// A Latency is a distribution of durations: a signal whose series are histogram classes, labelled
// le.
type Latency struct {
	Classes *Signal
	Subject string // "PostgreSQL commits"
}

// A Bound is a limit of the engine itself: a trigger, a number of tickets, a quota.
type Bound struct {
	Resource string  // a stable key: "cache_dirty"
	Title    string  // "dirty part of the cache"
	Used     *Signal // what is used, in the unit of the limit
	// Level converts the signal's values by cell to what is used; nil if no conversion is needed.
	// Unit is then the result's unit, "" for the signal's.
	Level func(sig *Signals, values []float64) []float64
	Unit  string
	// The limit is what Fact finds among a source's settings, otherwise Limit, a signal with the
	// labels of Used, otherwise At.
	Fact  func(facts map[string]string) (limit float64, ok bool)
	Limit *Signal
	At    float64
	Text  string // where the limit comes from: "the default of eviction_dirty_trigger"
	Then  string // what happens at the limit: "writes fail"
	// Fills means that the level only grows, as in a store: it does not come and go.
	Fills bool
}

// A Plot is a signal that is drawn.
type Plot struct {
	Title  string
	Signal *Signal
}

// A Counter is a counter or gauge of a source that is exported unchanged.
type Counter struct {
	Metric string // as the source names it
	Name   string // as passed on
	Help   string
	Gauge  bool
	// Scale converts the source's unit to the exported one.
	Scale float64
	// Label is the source's label that is exported, and As is its exported name; "" for none.
	Label, As string
}

// A Provider offers the metrics whose names begin with a prefix.
type Provider struct {
	Prefix string
	Ways   []Way
}

// A Way is something that users can provide next time.
type Way struct {
	Kind string // the kind of source it creates, not requested from users who gave one; "" if none
	Text string
}

// Synced describes what one client of an engine gets from a disk, given the duration of one sync, for
// engines whose vendor states no criterion.
type Synced struct {
	// Does describes what can happen at most once per sync: "commits at most %s times per second".
	Does   string
	Source string
}
