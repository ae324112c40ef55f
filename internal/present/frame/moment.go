// Package frame renders one screen of a database and its storage as text with a given number of
// columns and lines: client latency, the current incident and its cause, the devices against their
// limits, where the stalled time went, and the latest incidents.
//
// It works in two steps, both pure functions, so that tests need no terminal. [At] extracts the
// numbers of one moment from a case and its diagnosis. [Render] lays them out in lines of styled
// text. The caller writes the lines to a terminal; [Text] converts them to plain text.
package frame

import (
	"math"
	"slices"
	"time"

	"plimsoll/internal/base/units"
	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/judge/rules"
)

// A Moment is what the screen shows for one moment. A number that was not measured is NaN.
type Moment struct {
	At time.Time
	// From and To bound the available time.
	From, To time.Time
	Now      Now
	// Server is the server shown if the sources contain several, and Others is the state of the rest,
	// worst-affected first.
	Server string
	Others []string
	Host   []Figure
	// Clients are the classes of operation that databases report, closest to clients first.
	Clients []Client
	Devices []Device
	// Limits are those other than the rates of devices: credits, file system space, a quota.
	Limits []Limit
	Spent  Spent
	// Incidents are those that had started by then, newest first.
	Incidents []Incident
	// Begins are the start times of all incidents, including those after the moment.
	Begins []time.Time
	// Marks are those up to the moment, newest first.
	Marks []diagnose.Marked
}

// Now is the current state.
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
	// Recent are the mean latencies of the last minute, oldest first. Threshold is the latency from
	// which an interval is stalled.
	Recent    []float64
	Threshold float64
}

// A Device is a block device. An unknown limit is NaN.
type Device struct {
	Name                     string
	Idle                     bool    // no I/O so far
	Busy                     float64 // 0 to 1
	IOPS, LimitIOPS          float64
	BytesS, LimitBytesS      float64
	Queue                    float64
	AwaitS                   float64 // of a request, read or write, weighted by their numbers
	SharedIOPS, SharedBytesS float64 // of the limit, 0 to 1
}

// A Limit is one from headroom: its peak use in the time judged, and the seconds until it is
// reached at this rate; NaN if unknown.
type Limit struct {
	Subject, Title string
	Part           float64
	EndsS          float64
}

// Spent shows where the stalled time of an incident went.
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

// An Incident is one line of the list of incidents.
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
	// stalledSpan is how recently a cell must have stalled for clients to count as stalled now.
	stalledSpan = 5 * time.Second
	// knownSpan and knownCells are how old a figure may be, because sources are sampled at
	// different times.
	knownSpan  = 10 * time.Second
	knownCells = 3
)

// At returns the moment of a case at the given time: that of the last cell that ends by then. The
// report is of the same recording, or nil if there is none yet.
func At(c *rules.Case, r *diagnose.Report, at time.Time) *Moment {
	m := &Moment{At: at}
	if c == nil || c.Grid.N == 0 {
		m.Now = Now{Text: "waiting for samples"}
		return m
	}
	if r == nil { // it is not judged yet
		r = &diagnose.Report{}
	}

	m.From, m.To = c.Whole().From, c.Whole().To
	a := &cursor{Case: c, k: cellAt(c, at)}
	m.At = c.Grid.Time(a.k)
	m.Clients, m.Devices, m.Host = a.clients(), a.devices(r), a.host()
	m.Server, m.Others = servers(r)

	m.Incidents, m.Limits = incidentsAt(r, m.At), limits(r)
	for _, x := range r.Incidents {
		m.Begins = append(m.Begins, x.From)
	}

	// Marks are in order of time; the screen shows the newest first.
	for _, mark := range slices.Backward(r.Marks) {
		if !mark.At.After(m.At) {
			m.Marks = append(m.Marks, mark)
		}
	}

	current := underWay(r, m.At)
	m.Now = now(m, r, current)
	m.Spent = spent(r, current)

	return m
}

// cellAt returns the last cell that ends at or before a time; the first cell if there is none.
func cellAt(c *rules.Case, at time.Time) int {
	// The invariant: low is the first cell or ends by then, and everything after high ends
	// later.
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

// A cursor points to a cell of a case.
type cursor struct {
	*rules.Case
	k int
}

// recent is the newest known value, if it is not too old.
func (a *cursor) recent(values []float64) float64 {
	// A fine grid has empty cells between the samples of a slow source; a coarse one may have
	// no cell within the span.
	reach := max(knownCells, a.Cells(knownSpan))
	for k := a.k; k >= 0 && k > a.k-reach && k < len(values); k-- {
		if !math.IsNaN(values[k]) {
			return values[k]
		}
	}
	return math.NaN()
}

// last returns the values of the newest cells, covering the given time.
func (a *cursor) last(values []float64, span time.Duration) []float64 {
	if a.k >= len(values) {
		return nil
	}
	return values[max(0, a.k+1-a.Cells(span)) : a.k+1]
}

// servers names the server of a report and describes the state of the others; nothing if it is the
// only one.
func servers(r *diagnose.Report) (server string, others []string) {
	if r.Server == nil {
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
