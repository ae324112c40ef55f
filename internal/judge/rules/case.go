package rules

import (
	"slices"

	"plimsoll/internal/record/timeline"
)

// A Case is the input of a rule: a recording's signals on one time grid, and the stalled time.
type Case struct {
	Time
	Signals
	Stalls
	// Pack holds the rules that judge the case.
	Pack *Pack
	// Engines are the databases that the sources belong to.
	Engines []string
	// Facts are settings reported by the sources ("cores", "memory_bytes",
	// "vm.dirty_background_bytes").
	Facts map[string]string
	// Provisioned maps devices to the limits that their volumes were ordered with, if known.
	Provisioned map[string]Provision
	// Machine is the machine's type; nil if unknown.
	Machine *Machine
	// computed holds the results of [Once] by name.
	computed map[string]any
	// Trouble is the gaps and damage that the sources reported.
	Trouble []Trouble
	// Unsampled marks the cells in gaps that every source noted. A counter's mean over such a gap shows a
	// long stall in it but rules none out, so only stalled cells of it count as watched.
	Unsampled timeline.Mask
	// SinceStart is true if the recording is a single page of metrics: its rates are then means
	// since the processes started.
	SinceStart bool
	// Clocks is the number of sources with separate clocks.
	Clocks int
	// Slower, if not nil, says that the server is slower than another member of its cluster. Then the
	// case has nothing else.
	Slower *Slower
	// Elsewhere, if not nil, means that the sources do not contain the data's device. Then no
	// device signal counts as measured, because the devices they do contain would be mistaken for
	// it.
	Elsewhere *Elsewhere
}

// A Provision is a device's sustained limits.
type Provision struct {
	Rate
	Text string // "gp3 of 500 GiB"
	Even bool   // no burst: the limits never change
}

// A Rate is a pair of limits, per second and in bytes per second; 0 is none.
type Rate struct{ IOPS, Throughput float64 }

// A Machine is the performance of an instance for all its volumes together. Maximum is available for a
// while each day.
type Machine struct {
	Name              string
	Baseline, Maximum Rate
}

// NewCase makes a case from signals on a grid, without stalls.
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

// FactMachine is the fact that holds the machine's type, in its provider's spelling.
const FactMachine = "instance_type"

// MachineType is the machine type that the metrics report; "" if they report none or several
// machines.
func (c *Case) MachineType() string {
	all := c.Signal(MachineInfo)
	if len(all) != 1 {
		return ""
	}
	return all[0].Labels.Get(FactMachine)
}

// SlowFrom sets a fixed mean latency above which a cell counts as stalled, regardless of the usual
// latency; 0 removes it.
func (c *Case) SlowFrom(seconds float64) {
	c.Time.SlowFromS, c.Signals.SlowFromS, c.Stalls.SlowFromS = seconds, seconds, seconds
}

// Sampled sets the sampling periods of signals in seconds, by signal name.
func (c *Case) Sampled(periods map[string]float64) {
	c.Time.Periods, c.Signals.Periods, c.Stalls.Periods = periods, periods, periods
}

// Slice returns the part of the case from the first to the last cell, as if nothing else had been
// recorded. Callers may change its stalled time; signals are shared.
func (c *Case) Slice(first, last int) *Case {
	out := *c

	// The results computed so far describe the whole recording.
	out.computed = nil
	t := Time{Grid: c.Grid.Slice(first, last), SlowFromS: c.Time.SlowFromS, Periods: c.Time.Periods}
	out.Time, out.Signals.Time, out.Stalls.Time = t, t, t

	// Rules read the same signal many times, so each is cut only once.
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
	out.Unsampled = part(c.Unsampled, first, last)
	out.Symptoms = make([]Stall, len(c.Symptoms))

	for i, s := range c.Symptoms {
		out.Symptoms[i] = s.Slice(first, last)
	}

	return &out
}

// Once returns what compute returned on its first call for this case and name. Several rules need the same
// devices, and finding them takes a large part of a diagnosis.
func Once[T any](c *Case, name string, compute func() T) T {
	if found, ok := c.computed[name]; ok {
		return found.(T)
	}

	found := compute()
	if c.computed == nil {
		c.computed = map[string]any{}
	}

	c.computed[name] = found
	return found
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
