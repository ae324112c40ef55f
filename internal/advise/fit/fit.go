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
	"plimsoll/internal/model/engine"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/timeline"
)

// Options say which part of the recordings to fit, and how.
type Options struct {
	// Pack defines the signals.
	Pack *rules.Pack
	// Engines are the candidates.
	Engines []engine.With[*Engine]
	// From and To bound the time; zero means all of it.
	From, To time.Time
	// Engine is the engine's key in scenarios. Empty: the one in the recordings.
	Engine string
	// Name of the scenario. Empty: after the sources.
	Name string
	// Devices says which device is which volume: {"journal": "nvme2n1"}. Others are recognised by
	// what they do.
	Devices map[string]string
	// Volumes is what the user knows about volumes and no metric shows: {"data": {Type: "gp3",
	// Size: 500 * units.GiB}}. Only type and size count.
	Volumes map[string]catalog.Order
	// Hosts are names of hosts that the user gave, by the name of a source.
	Hosts map[string]string
	// Progress, if not nil, receives the progress of a stage.
	Progress func(stage string, done, total int)
}

// Fitted is a scenario with its evidence.
type Fitted struct {
	// Name and Engine are the scenario's; Engine is its key there.
	Name   string `json:"name"`
	Engine string `json:"engine"`
	// From and To are the fitted time.
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
	// Values are in the order of the YAML.
	Values []Value `json:"values"`
	// Remarks say what may mislead in the result as a whole.
	Remarks []string `json:"remarks,omitempty"`
}

// Value finds a value by its key, nil if there is none.
func (f *Fitted) Value(key string) *Value {
	for i := range f.Values {
		if f.Values[i].Key == key {
			return &f.Values[i]
		}
	}
	return nil
}

// Fit makes a scenario from recordings of the same time. It fails if they cannot be read, with a
// [diagnose.SeveralError] if they hold several databases, with a [ShortError] if they are too
// short, a [MissingError] if they lack something that a scenario needs, and an [EngineError] if it
// is unclear which engine they are of.
func Fit(ctx context.Context, in []recording.Reader, opt Options) (*Fitted, error) {
	of := diagnose.Options{Pack: opt.Pack, From: opt.From, To: opt.To, Hosts: opt.Hosts, Progress: opt.Progress}
	one, err := diagnose.Only(ctx, in, of, database(&opt))
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

	f := &Fitting{Case: c, engine: e, volumes: volumesOf(e.Traits), opt: opt, remarks: one.Notes}
	if err := f.useDevices(); err != nil {
		return nil, err
	}

	whole := c.Whole()
	out := &Fitted{Name: opt.Name, Engine: e.Key, From: whole.From, To: whole.To}
	if out.Name == "" {
		out.Name = "fitted from " + nameOf(in)
	}

	f.host()
	if err := e.Part.Fit(f); err != nil {
		return nil, err
	}

	if err := f.fitVolumes(); err != nil { // the size of the data is known by now
		return nil, err
	}

	f.run()
	f.order()

	for _, v := range f.values {
		out.Values = append(out.Values, *v)
	}

	out.Remarks = f.remarks
	return out, nil
}

// nameOf names the sources.
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

// database is the database of the engine that was asked for, as sources name it; "" for any.
func database(opt *Options) string {
	for _, e := range opt.Engines {
		if e.Key == opt.Engine {
			return e.Database
		}
	}
	return ""
}

// choose finds the engine to fit.
func choose(c *rules.Case, opt *Options) (engine.With[*Engine], error) {
	if opt.Engine != "" {
		return engine.Find(opt.Engines, opt.Engine, "be fitted")
	}

	var found []engine.With[*Engine]
	without := ""
	for _, e := range opt.Engines {
		switch {
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

	return engine.With[*Engine]{}, none
}

// A Fitting is a fit in progress.
type Fitting struct {
	*rules.Case
	engine  engine.With[*Engine]
	volumes []string // of the engine, its log's last
	opt     Options
	uses    []use
	values  []*Value
	remarks []string
	// PeriodS is that of checkpoints, in seconds; 0: the engine has none.
	PeriodS float64
	// Data is the size of the data on its volume in bytes, as far as known.
	Data float64
}

// Remark adds a remark about the whole scenario.
func (f *Fitting) Remark(format string, args ...any) {
	f.remarks = append(f.remarks, fmt.Sprintf(format, args...))
}

// Gauge is the median of a signal that hardly changes, such as a setting. NaN if not measured.
func (f *Fitting) Gauge(signal *rules.Signal) float64 {
	for _, t := range f.Signal(signal) {
		if timeline.Count(t.Values) > 0 {
			return timeline.Quantile(t.Values, 0.5)
		}
	}
	return math.NaN()
}

// Mean is a signal's mean over the known time; NaN if not measured.
func (f *Fitting) Mean(signal *rules.Signal) float64 { return timeline.Mean(f.One(signal)) }

// known is how long a signal is known.
func (f *Fitting) known(values []float64) time.Duration {
	return time.Duration(float64(timeline.Count(values)) * f.Grid.StepSeconds() * 1e9)
}

// Enough checks that a recording is long enough.
func (f *Fitting) Enough(values []float64, need time.Duration, why string) error {
	got := f.known(values)
	// A counter's first sample begins no interval, and a cell at either end may be half known.
	if got+3*f.Grid.Step() >= need {
		return nil
	}
	return &ShortError{Engine: f.engine.Key, Got: got, Need: need, Why: why}
}

// EnoughForRates checks that a recording without checkpoints is long enough for meaningful rates.
func (f *Fitting) EnoughForRates(values []float64) error {
	return f.Enough(values, time.Minute, "a minute, for meaningful rates")
}

// run says how long the scenario runs: three checkpoints or more.
func (f *Fitting) run() {
	const usual, warmup = 600.0, 120.0
	last, before := usual, warmup
	if f.PeriodS > 0 {
		last = max(usual, math.Ceil(3*f.PeriodS/60)*60)
		before = max(warmup, math.Ceil(f.PeriodS/60)*60)
	}
	f.Add("run.duration", Duration(last),
		Assumed, "how long to run; three checkpoints, at least 10 min (the recording covers %s)",
		units.Seconds(f.Grid.StepSeconds()*float64(f.Grid.N)))
	f.Add("run.warmup", Duration(before),
		Assumed, "how long to warm up before that; one checkpoint, at least 2 min")
}

// sections are the parts of a scenario, in the order of the YAML.
var sections = []string{"run", "host", "volumes", "engine", "members", "workload"}

// order sorts values in the order of the YAML.
func (f *Fitting) order() {
	slices.SortStableFunc(f.values, func(a, b *Value) int {
		return slices.Index(sections, first(a.Key)) - slices.Index(sections, first(b.Key))
	})
}

// Device is the nth of the fitted devices, "" if there are fewer.
func (f *Fitting) Device(n int) string {
	if n >= len(f.uses) {
		return ""
	}
	return f.uses[n].device
}
