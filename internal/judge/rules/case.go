package rules

import (
	"slices"

	"plimsoll/internal/record/timeline"
)

// A Case is what a rule judges: a recording's signals on one time grid, and the stalled time.
type Case struct {
	Time
	Signals
	Stalls
	// Pack is what the case is judged by.
	Pack *Pack
	// Engines are the sources' databases.
	Engines []string
	// Facts are settings that the sources reported ("cores", "memory_bytes",
	// "vm.dirty_background_bytes").
	Facts map[string]string
	// Provisioned are the devices whose limits are known: what their volumes were ordered with.
	Provisioned map[string]Provision
	// Machine is the machine's type, if it is known; nil if not.
	Machine *Machine
	// machineLimits is what machineCaps found; nil before it was asked.
	machineLimits *[]machineCap
	// slow is what slowdowns found; nil before it was asked.
	slow *[]*slowdown
	// Trouble is the gaps and damage that the sources reported.
	Trouble []Trouble
	// SinceStart says that the recording is one page of metrics: its rates are means since the
	// processes began.
	SinceStart bool
	// Clocks is the number of sources with a clock of their own.
	Clocks int
	// Elsewhere, if not nil, says that the sources do not contain the data's device. Then no signal
	// of a device is measured: those that the sources do contain would be taken for the data's.
	Elsewhere *Elsewhere
}

// A Provision is what a device's volume gives always.
type Provision struct {
	IOPS, Throughput float64 // per second, bytes per second
	Text             string  // "gp3 of 500 GiB"
	Even             bool    // it has no burst: it gives the same always
}

// NewCase makes a case from signals on a grid, without any stall.
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

// FactMachine is the fact that is the machine's type, as its provider calls it.
const FactMachine = "instance_type"

// MachineType is the type of the machine that the metrics are of, as they say it; "" if they do
// not, or are of machines of several types.
func (c *Case) MachineType() string {
	all := c.Signal(MachineInfo)
	if len(all) != 1 {
		return ""
	}
	return all[0].Labels.Get(FactMachine)
}

// SlowFrom sets the mean latency above which a cell counts as stalled, whatever is usual; 0: none.
func (c *Case) SlowFrom(seconds float64) {
	c.Time.SlowFromS, c.Signals.SlowFromS, c.Stalls.SlowFromS = seconds, seconds, seconds
}

// Sampled sets the sampling periods of signals in seconds, by their names.
func (c *Case) Sampled(periods map[string]float64) {
	c.Time.Periods, c.Signals.Periods, c.Stalls.Periods = periods, periods, periods
}

// Slice is the case of the cells from first to last, as if nothing else had been recorded. Its
// stalled time may be changed; signals are shared.
func (c *Case) Slice(first, last int) *Case {
	out := *c
	out.slow, out.machineLimits = nil, nil
	t := Time{Grid: c.Grid.Slice(first, last), SlowFromS: c.Time.SlowFromS, Periods: c.Time.Periods}
	out.Time, out.Signals.Time, out.Stalls.Time = t, t, t
	cut := map[*Signal][]timeline.Track{}
	out.Tracks = func(s *Signal) []timeline.Track {
		tracks, ok := cut[s]
		if !ok {
			tracks = Cut(c.Tracks(s), first, last)
			cut[s] = tracks
		}
		return tracks
	}

	out.Stall = c.Stall.Slice(first, last)
	out.Others = slices.Clone(part(c.Others, first, last))
	out.Symptoms = make([]Stall, len(c.Symptoms))

	for i, s := range c.Symptoms {
		out.Symptoms[i] = s.Slice(first, last)
	}

	return &out
}

// Cut returns the tracks that have a value in the given cells, reduced to these cells.
func Cut(all []timeline.Track, first, last int) []timeline.Track {
	var out []timeline.Track
	for _, t := range all {
		t.Values = t.Values[first : last+1 : last+1]
		if timeline.Count(t.Values) > 0 {
			out = append(out, t)
		}
	}
	return out
}

// Trouble is a gap or damage in a source.
type Trouble struct {
	Kind   string // a recording.NoteKind
	Source string
	Text   string
	Span   Span // zero if not known
}
