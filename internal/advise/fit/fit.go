package fit

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"plimsoll/internal/base/units"
	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/model/catalog"
	"plimsoll/internal/model/database"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/timeline"
)

// Options say which part of the recordings to fit, and how.
type Options struct {
	// Pack defines the signals.
	Pack *rules.Pack
	// Engines are the candidates.
	Engines []database.With[*Engine]
	// Catalog has the machines and prices; nil is the one without a user's imports.
	Catalog *catalog.Catalog
	// From and To limit the fitted time; zero: no limit.
	From, To time.Time
	// Engine is the engine's key in scenarios. Empty: the one in the recordings.
	Engine string
	// Name of the scenario. Empty: after the sources.
	Name string
	// Devices maps volumes to devices: {"journal": "nvme2n1"}. Other volumes' devices are recognised by
	// their I/O.
	Devices map[string]string
	// Volumes is what the user knows about volumes but no metric shows: {"data": {Type: "gp3",
	// Size: 500 * units.GiB}}. Only type and size count.
	Volumes map[string]catalog.Order
	// Hosts are host names given by the user, by source name.
	Hosts map[string]string
	// Progress, if not nil, receives the progress of each stage.
	Progress func(stage string, done, total int)
}

// Fitted is a scenario with its evidence.
type Fitted struct {
	// Name is the scenario's name. Engine is the engine's key in it.
	Name   string `json:"name"`
	Engine string `json:"engine"`
	// From and To limit the fitted time.
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
	// Values are in the order of the YAML.
	Values []Value `json:"values"`
	// Remarks are caveats about the result as a whole.
	Remarks []string `json:"remarks,omitempty"`
}

// Value returns the value with a key, or nil if there is none.
func (f *Fitted) Value(key string) *Value {
	for i := range f.Values {
		if f.Values[i].Key == key {
			return &f.Values[i]
		}
	}
	return nil
}

// Fit derives a scenario from recordings of the same time. It fails if they cannot be read, with a
// [diagnose.SeveralError] if they contain several databases, with a [ShortError] if they are too short,
// with a [MissingError] if they lack something that a scenario needs, and with an [EngineError] if the
// engine is unclear.
func Fit(ctx context.Context, in []recording.Reader, opt Options) (*Fitted, error) {
	of := diagnose.Options{Pack: opt.Pack, From: opt.From, To: opt.To, Hosts: opt.Hosts, Progress: opt.Progress}

	// A scenario has one database, so several in the recordings need a choice.
	one, err := diagnose.Only(ctx, in, of, databaseOf(&opt))
	if err != nil {
		return nil, err
	}

	in = one.Readers
	c, err := diagnose.Lay(ctx, in, of)
	if err != nil {
		return nil, err
	}

	e, err := choose(c, &opt)
	if err != nil {
		return nil, err
	}

	fitting := &Fitting{Case: c, engine: e, volumes: volumesOf(e.Traits), opt: opt, remarks: one.Notes}
	if err := fitting.useDevices(); err != nil {
		return nil, err
	}

	whole := c.Whole()
	out := &Fitted{Name: opt.Name, Engine: e.Key, From: whole.From, To: whole.To}
	if out.Name == "" {
		out.Name = "fitted from " + nameOf(in)
	}

	// The order matters: the engine's fit uses the host's values, and the volumes' sizes use the
	// engine's data.
	fitting.host()
	if err := e.Part.Fit(fitting); err != nil {
		return nil, err
	}

	if err := fitting.fitVolumes(); err != nil { // needs the size of the data, which the engine has added
		return nil, err
	}

	fitting.run()
	fitting.order()

	for _, v := range fitting.values {
		out.Values = append(out.Values, *v)
	}

	out.Remarks = fitting.remarks
	return out, nil
}

// nameOf returns a name for the sources.
func nameOf(in []recording.Reader) string {
	var names []string
	for _, r := range in {
		for _, s := range r.Sources() {
			if !slices.Contains(names, s.Name) {
				names = append(names, s.Name)
			}
		}
	}

	switch len(names) {
	case 0:
		return "a recording"
	case 1:
		return names[0]
	}

	return fmt.Sprintf("%s and %d more", names[0], len(names)-1)
}

// databaseOf returns the database of the requested engine, by its name in sources; "": any.
func databaseOf(opt *Options) string {
	for _, e := range opt.Engines {
		if e.Key == opt.Engine || slices.Contains(e.Aliases, opt.Engine) {
			return e.Database
		}
	}
	return ""
}

// choose returns the engine to fit.
func choose(c *rules.Case, opt *Options) (database.With[*Engine], error) {
	if opt.Engine != "" {
		return database.Find(opt.Engines, opt.Engine, "be fitted")
	}

	var found []database.With[*Engine]
	without := ""
	for _, e := range opt.Engines {
		switch {
		// Streams are always possible, so they are only a suggestion.
		case e.Database == "":
			without = e.Key
		case slices.Contains(c.Engines, e.Database):
			found = append(found, e)
		}
	}

	if len(found) == 1 {
		return found[0], nil
	}

	none := &EngineError{Without: without}
	for _, e := range found {
		none.Found = append(none.Found, e.Key)
	}

	return database.With[*Engine]{}, none
}

// A Fitting is a fit in progress.
type Fitting struct {
	*rules.Case
	engine  database.With[*Engine]
	volumes []string // of the engine, the log volume last
	opt     Options
	uses    []use
	values  []*Value
	remarks []string
	// PeriodS is the checkpoints' period in seconds; 0: the engine has none.
	PeriodS float64
	// Data is the size of the data in bytes, if known.
	Data float64
}

// Remark adds a remark about the whole scenario.
func (f *Fitting) Remark(format string, args ...any) {
	f.remarks = append(f.remarks, fmt.Sprintf(format, args...))
}

// Gauge returns the median of a signal that hardly changes, such as a setting; NaN if not measured.
func (f *Fitting) Gauge(signal *rules.Signal) float64 {
	for _, t := range f.Signal(signal) {
		if timeline.Count(t.Values) > 0 {
			return timeline.Quantile(t.Values, 0.5)
		}
	}
	return math.NaN()
}

// Mean returns a signal's mean over the time in which it is known; NaN if not measured.
func (f *Fitting) Mean(signal *rules.Signal) float64 { return timeline.Mean(f.One(signal)) }

// known returns how long a signal is known.
func (f *Fitting) known(values []float64) time.Duration {
	return time.Duration(float64(timeline.Count(values)) * f.Grid.StepSeconds() * 1e9)
}

// Enough checks that a recording is long enough.
func (f *Fitting) Enough(values []float64, need time.Duration, why string) error {
	got := f.known(values)
	// Allow for three missing cells: a counter's first sample does not complete an interval, and the cells
	// at both ends may be only half known.
	if got+3*f.Grid.Step() >= need {
		return nil
	}
	return &ShortError{Engine: f.engine.Key, Got: got, Need: need, Why: why}
}

// EnoughForRates checks that a recording without checkpoints is long enough for meaningful rates.
func (f *Fitting) EnoughForRates(values []float64) error {
	return f.Enough(values, time.Minute, "a minute, for meaningful rates")
}

// run adds the scenario's duration: at least three checkpoints.
func (f *Fitting) run() {
	const usual, warmup = 600.0, 120.0
	last, before := usual, warmup
	// A run must cover several checkpoints, or their effect would depend on chance.
	if f.PeriodS > 0 {
		last = max(usual, math.Ceil(3*f.PeriodS/60)*60)
		before = max(warmup, math.Ceil(f.PeriodS/60)*60)
	}
	f.Add("run.duration", Duration(last),
		Assumed, "duration of a run; three checkpoints, but at least 10 min (the recording covers %s)",
		units.Seconds(f.Grid.StepSeconds()*float64(f.Grid.N)))
	f.Add("run.warmup", Duration(before),
		Assumed, "warm-up before the run; one checkpoint, but at least 2 min")
}

// sections are the top-level keys of a scenario, in the order of the YAML.
var sections = []string{"run", "host", "volumes", "engine", "members", "workload"}

// order sorts values in the order of the YAML.
func (f *Fitting) order() {
	slices.SortStableFunc(f.values, func(a, b *Value) int {
		return slices.Index(sections, first(a.Key)) - slices.Index(sections, first(b.Key))
	})
}

// Device returns the nth fitted device, or "" if there are fewer.
func (f *Fitting) Device(n int) string {
	if n >= len(f.uses) {
		return ""
	}
	return f.uses[n].device
}
