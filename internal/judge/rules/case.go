package rules

import "plimsoll/internal/record/timeline"

// A Case is what a rule judges: the signals of a recording on one grid of time, and the
// stalled time in it.
type Case struct {
	Time
	Signals
	Stalls
	// Pack is what the case is judged by.
	Pack *Pack
	// Engines are the databases the sources are of.
	Engines []string
	// Facts are settings the sources told ("cores", "memory_bytes", "vm.dirty_background_bytes").
	Facts map[string]string
	// Trouble are gaps and damage the sources reported.
	Trouble []Trouble
	// Clocks is the number of sources that took times from a clock of their own.
	Clocks int
}

// NewCase makes a case of signals on a grid, in which nothing has stalled.
func NewCase(pack *Pack, grid timeline.Grid, tracks func(*Signal) []timeline.Track) *Case {
	t := Time{Grid: grid}
	return &Case{
		Time:    t,
		Signals: Signals{Time: t, Tracks: tracks},
		Stalls:  Stalls{Time: t},
		Pack:    pack,
		Facts:   map[string]string{},
	}
}

// Trouble is a gap or damage in a source.
type Trouble struct {
	Kind   string // a recording.NoteKind
	Source string
	Text   string
	Span   Span // zero if not known
}
