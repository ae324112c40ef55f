package rules

import "time"

// Compared holds the figures by which two recordings of an engine are compared.
type Compared struct {
	// Operations lists its completions; the first that both recordings have is used.
	Operations []Operations
	// Writes and Reads are the clients' latencies, as the server counted them.
	Writes, Reads Felt
	// CycleEvery is the usual time from one cycle to the next; 0 where a recording does not
	// separate them.
	CycleEvery time.Duration
	// LastCycle is the duration of the last cycle, for recordings that have nothing else about
	// cycles.
	LastCycle *Signal
	// Source is what to record it by.
	Source string
	// Figures are further numbers.
	Figures []Figure
	// Inserts and Updates tell writes apart.
	Inserts, Updates *Signal
	// Logged are the bytes that writes put into the log per second.
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
	// EachCountsAll says that every instance counts all operations; then the busiest instance's
	// count is used.
	EachCountsAll bool
}

// A Figure is a number by which two recordings are compared: the quantile Q of Classes, Time
// credited over Events, or the mean of a signal over time.
type Figure struct {
	Name, Title, Unit string
	Wanted            Wanted
	// Felt marks what clients feel. These figures decide whether a change is better or worse as a
	// whole.
	Felt bool

	Classes      *Signal
	Q            float64
	Time, Events *Signal
	Mean         *Signal
}

// Wanted is which way a figure should go.
type Wanted string

// The ways.
const (
	Less    Wanted = "less"
	More    Wanted = "more"
	Neither Wanted = "neither"
)
