// Package frame sets one screen of a database and its storage as a text of so many columns and lines:
// what clients feel, what is under way and why, the devices against their limits, where the stalled
// time went, and the last incidents.
//
// It has two steps, both pure functions, so that a test needs no terminal. [At] takes the numbers of
// one moment out of a case and its diagnosis. [Render] places them in lines of styled text. Whoever
// has a terminal puts the lines on it; [Text] makes plain text of them.
package frame

import (
	"math"
	"time"

	"plimsoll/internal/base/units"
	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/judge/rules"
)

// A Moment is what is shown of one moment. A number that was not measured is NaN.
type Moment struct {
	At time.Time
	// From and To are the time that there is something to show of.
	From, To time.Time
	Now      Now
	// Server is what is shown if the sources hold several servers, and Others how the rest fare, the
	// most harmful first.
	Server string
	Others []string
	Host   []Figure
	// Clients are the classes of operation that databases report, closest to clients first.
	Clients []Client
	Devices []Device
	// Limits are others than those of devices' rates: credits, a file system's space, a quota.
	Limits []Limit
	Spent  Spent
	// Incidents are those that had begun, the newest first.
	Incidents []Incident
	// Begins are when all incidents began, also those after the moment.
	Begins []time.Time
	// Marks are those up to the moment, the newest first.
	Marks []diagnose.Marked
}

// Now is what is under way.
type Now struct {
	Level Level
	Text  string
	Fix   string // the first thing to do about it; "" for none
}

// A Level is how good or bad something is.
type Level int

// The levels.
const (
	Unknown Level = iota
	Good
	Warning
	Critical
)

// A Figure is a number with its name.
type Figure struct{ Label, Text string }

// A Client is a class of operation. Times are in seconds.
type Client struct {
	Name     string
	Rate     float64 // completed per second
	Mean     float64 // latency
	Worst    float64 // the highest mean of the last 15 s
	Usual    float64 // the median so far
	StalledS float64 // so far
	Stalled  bool    // right now
	// Recent are the mean latencies of the last minute, oldest first, and Threshold is the one from
	// which an interval is stalled.
	Recent    []float64
	Threshold float64
}

// A Device is a block device. A limit is NaN where none is known.
type Device struct {
	Name                     string
	Idle                     bool    // it has done nothing so far
	Busy                     float64 // 0 to 1
	IOPS, LimitIOPS          float64
	BytesS, LimitBytesS      float64
	Queue                    float64
	AwaitS                   float64 // of a request, read or write, weighted by their numbers
	SharedIOPS, SharedBytesS float64 // of the limit, 0 to 1
}

// A Limit is one of headroom: how much of it was used at most in the time that was judged, and when it
// ends at this rate, in seconds; NaN if that is not known.
type Limit struct {
	Subject, Title string
	Part           float64
	EndsS          float64
}

// Spent is where the stalled time of an incident went.
type Spent struct {
	Incident int // its number; 0 if there is none
	Rows     []Share
}

// A Share is a part of the stalled time.
type Share struct {
	Name     string
	Part     float64
	Overlaps bool
}

// An Incident is one line of the list.
type Incident struct {
	ID       int
	From, To time.Time
	Now      bool
	Who, Why string
	StalledS float64
	WorstS   float64
}

const (
	recentSpan = time.Minute
	worstSpan  = 15 * time.Second
	// stalledSpan is how recently a cell may have stalled for clients to be stalled now.
	stalledSpan = 5 * time.Second
	// knownSpan is how old a figure may be, in time and in cells: sources are sampled at different
	// times.
	knownSpan  = 10 * time.Second
	knownCells = 3
)

// At is the moment of a case at a time: of its last cell up to it. The report is of the same time, or
// nil while there is none.
func At(c *rules.Case, r *diagnose.Report, at time.Time) *Moment {
	m := &Moment{At: at}
	if c == nil || c.Grid.N == 0 {
		m.Now = Now{Text: "waiting for samples"}
		return m
	}

	m.From, m.To = c.Whole().From, c.Whole().To
	a := &cursor{Case: c, k: cellAt(c, at)}
	m.At = c.Grid.Time(a.k)
	m.Clients, m.Devices, m.Host = a.clients(), a.devices(r), a.host()
	m.Server, m.Others = servers(r)

	if r != nil {
		m.Incidents, m.Limits = incidentsAt(r, m.At), limits(r)
		for _, x := range r.Incidents {
			m.Begins = append(m.Begins, x.From)
		}
		for i := len(r.Marks) - 1; i >= 0; i-- {
			if !r.Marks[i].At.After(m.At) {
				m.Marks = append(m.Marks, r.Marks[i])
			}
		}
	}

	current := underWay(r, m.At)
	m.Now = now(m, r, current)
	m.Spent = spent(r, current)

	return m
}

// cellAt is the last cell that ends at a time or before it; the first one if there is none.
func cellAt(c *rules.Case, at time.Time) int {
	low, high := 0, c.Grid.N-1
	for low < high {
		if mid := (low + high + 1) / 2; c.Grid.Time(mid).After(at) {
			high = mid - 1
		} else {
			low = mid
		}
	}
	return low
}

// A cursor is a cell of a case.
type cursor struct {
	*rules.Case
	k int
}

// recent is the newest value that is known, if it is not too old.
func (a *cursor) recent(values []float64) float64 {
	reach := max(knownCells, a.Cells(knownSpan))
	for k := a.k; k >= 0 && k > a.k-reach && k < len(values); k-- {
		if !math.IsNaN(values[k]) {
			return values[k]
		}
	}
	return math.NaN()
}

// last are the values of the last cells that cover a time.
func (a *cursor) last(values []float64, span time.Duration) []float64 {
	if a.k >= len(values) {
		return nil
	}
	return values[max(0, a.k+1-a.Cells(span)) : a.k+1]
}

// servers names the server of a report and says how the others fare; nothing if it is the only one.
func servers(r *diagnose.Report) (server string, others []string) {
	if r == nil || r.Server == nil {
		return "", nil
	}
	for _, o := range r.Others {
		how := "no stall"
		if s := o.StalledS(); s > 0 {
			how = "stalled " + units.Seconds(s)
		}
		others = append(others, o.Server.Name+" "+how)
	}
	return r.Server.Name, others
}
