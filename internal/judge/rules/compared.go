package rules

import "time"

// Compared holds the figures by which two recordings of an engine are compared.
type Compared struct {
	// Operations lists possible counters of completions; the first that both recordings have is
	// used.
	Operations []Operations
	// Writes and Reads are the clients' latencies as counted by the server.
	Writes, Reads Felt
	// CycleEvery is the usual time from one cycle to the next; 0 if recordings do not separate
	// them.
	CycleEvery time.Duration
	// LastCycle is the duration of the last cycle, for recordings that contain nothing else about
	// cycles.
	LastCycle *Signal
	// Source names the source to record with.
	Source string
	// Figures are further numbers to compare.
	Figures []Figure
	// Inserts and Updates count the kinds of writes separately.
	Inserts, Updates *Signal
	// Logged is the rate in bytes/s at which writes fill the log.
	Logged *Signal
}

// Felt is the latency of a kind of operation: from signals, or from the stalls of a rule.
type Felt struct {
	Latency, Rate *Signal // mean latency in seconds, and completions per second
	Rule          string
}

// Operations is the sum of completions per second, over the signals that were measured.
type Operations struct {
	Signals []*Signal
	// EachCountsAll means that every instance counts all operations; then the busiest instance's
	// count is used.
	EachCountsAll bool
}

// A Figure is a number by which two recordings are compared: the quantile Q of Classes, Time
// credited over Events, or the mean of a signal over time.
type Figure struct {
	Name, Title, Unit string
	Wanted            Wanted
	// Felt marks the figures that clients notice. They decide whether a change as a whole is better
	// or worse.
	Felt bool

	Classes      *Signal
	Q            float64
	Time, Events *Signal
	Mean         *Signal
}

// Wanted is the direction in which a figure should change.
type Wanted string

// The directions.
const (
	Less    Wanted = "less"
	More    Wanted = "more"
	Neither Wanted = "neither"
)
