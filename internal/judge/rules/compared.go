package rules

import "time"

// Compared is by what two recordings of an engine are compared.
type Compared struct {
	// Operations are its completions, the first that both recordings tell.
	Operations []Operations
	// Writes and Reads are what clients felt, as the server counted it.
	Writes, Reads Felt
	// CycleEvery is the usual distance of two cycles, 0 where a recording does not tell them apart.
	CycleEvery time.Duration
	// LastCycle is the duration of the last cycle, where that is all that is told of cycles.
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

// Felt is the latency of a kind of operation: by signals, or by the stalls of a rule.
type Felt struct {
	Latency, Rate *Signal // mean latency in seconds, and completions per second
	Rule          string
}

// Operations are completions per second, added up of those that are told.
type Operations struct {
	Signals []*Signal
	// EachCountsAll says that every instance counts all of them: then the busiest one's are taken.
	EachCountsAll bool
}

// A Figure is a number by which two recordings are compared: the quantile Q of Classes, Time
// credited over Events, or the mean of a signal over time.
type Figure struct {
	Name, Title, Unit string
	Wanted            Wanted
	// Felt is what clients feel: by these a change is called better or worse as a whole.
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
