package workload

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"plimsoll/internal/base/inputerror"
	"plimsoll/internal/base/units"
)

// A Workload is a specification made ready: preset and defaults filled in, checked, its recorded
// rate read. It does not change, and any number of runs may open it.
type Workload struct {
	spec     Spec
	schedule schedule
	kinds    []Kind // that have a share, by class
}

// An OpenFile opens a file that a specification names. The caller decides where relative names
// start.
type OpenFile func(name string) (io.ReadCloser, error)

// Resolve fills in the preset and defaults and checks the whole; open is nil if files of recorded rates
// cannot be read. Problems name fields relative to the specification ("arrivals.steps[2].rate"). If there
// are any, the workload is nil.
func (s Spec) Resolve(open OpenFile) (*Workload, inputerror.List) {
	var problems inputerror.List
	load := &Workload{spec: s}
	if load.spec.fromPreset(&problems); len(problems) > 0 {
		return nil, problems // without the preset, its fields would be reported as missing
	}

	load.spec.fillDefaults()
	c := checker{&load.spec, &problems}
	c.parts()
	c.arrivals()
	c.mix()
	c.keys()
	c.document()
	c.buckets()
	c.together()

	if len(problems) > 0 {
		return nil, problems
	}

	load.spec.WorkingSet = 0 // it has become keys.count
	load.schedule = scheduled(load.spec.Arrivals)
	if name := load.spec.Arrivals.Recorded; name != "" {
		pieces, err := recordedFile(open, name)
		if err != nil {
			problems.Addf("arrivals.recorded", "%v", err)
			return nil, problems
		}
		load.schedule.pieces = pieces
	}

	// Steps and a recorded rate have their own length, which bounds the run unless one is
	// given.
	if load.spec.Duration == 0 {
		load.spec.Duration = load.spec.stepsLast()
		if load.spec.Arrivals.Recorded != "" {
			load.spec.Duration = units.Duration(load.schedule.pieces[len(load.schedule.pieces)-1].until)
		}
	}

	for k, share := range load.spec.Mix.shares() {
		if share > 0 {
			load.kinds = append(load.kinds, Kind(k))
		}
	}

	return load, nil
}

// Check returns the problems that Resolve finds.
func (s Spec) Check(open OpenFile) inputerror.List {
	_, problems := s.Resolve(open)
	return problems
}

func (s *Spec) stepsLast() units.Duration {
	var sum units.Duration
	for _, step := range s.Arrivals.Steps {
		sum += step.For
	}
	return sum
}

// fromPreset fills in missing parts from the preset.
func (s *Spec) fromPreset(problems *inputerror.List) {
	if s.Preset == "" {
		return
	}

	presets := Presets()
	i := slices.IndexFunc(presets, func(p Preset) bool { return p.Name == s.Preset })
	if i < 0 {
		names := make([]string, len(presets))
		for i, p := range presets {
			names[i] = p.Name
		}
		*problems = append(*problems, inputerror.Problem{
			Field: "preset", Text: "unknown preset " + s.Preset + ": want one of " + strings.Join(names, ", "),
			Nearest: inputerror.Nearest(s.Preset, names),
		})
		return
	}

	spec := presets[i].Spec
	if s.Arrivals == nil {
		s.Arrivals = spec.Arrivals
		if s.Duration == 0 {
			s.Duration = spec.Duration
		}
	}

	// The kind of documents is written as a whole: a preset's buckets do not apply to a written
	// document, nor the other way round.
	if s.Document != nil {
		spec.Buckets, spec.Mix = nil, without(spec.Mix, spec.Buckets != nil)
	}

	if s.Buckets != nil && spec.Buckets == nil {
		spec.Document, spec.Mix, spec.Keys, spec.WorkingSet = nil, nil, nil, 0
		// The sensors' interval determines the arrivals of buckets, so the preset's do not apply.
		if s.Arrivals == spec.Arrivals {
			s.Arrivals = nil
		}
	}

	s.Mix, s.Document = either(s.Mix, spec.Mix), either(s.Document, spec.Document)

	// A written key count takes precedence over the preset's working set.
	if s.Keys == nil || s.Keys.Count == 0 {
		s.WorkingSet = first(s.WorkingSet, spec.WorkingSet)
	}

	s.Keys, s.Buckets = overKeys(s.Keys, spec.Keys, s.WorkingSet > 0), overBuckets(s.Buckets, spec.Buckets)
	s.Connections = first(s.Connections, spec.Connections)
}

// without returns the mix, or nil if the operations that it applies to were dropped.
func without(m *Mix, dropped bool) *Mix {
	if dropped {
		return nil
	}
	return m
}

func either[T any](a, b *T) *T {
	if a != nil {
		return a
	}
	return b
}

func first[T comparable](a, b T) T {
	var zero T
	if a != zero {
		return a
	}
	return b
}

// overKeys returns a over b, field by field; a written working set replaces the count.
func overKeys(a, b *Keys, workingSet bool) *Keys {
	if a == nil {
		a = &Keys{}
	}

	if b == nil {
		b = &Keys{}
	}

	out := &Keys{
		Distribution:  first(a.Distribution, b.Distribution),
		Count:         first(a.Count, b.Count),
		Theta:         first(a.Theta, b.Theta),
		HotOperations: first(a.HotOperations, b.HotOperations),
		HotKeys:       first(a.HotKeys, b.HotKeys),
	}

	if workingSet {
		out.Count = a.Count
	}

	return out
}

func overBuckets(a, b *Buckets) *Buckets {
	if a == nil || b == nil {
		return either(a, b)
	}
	return &Buckets{
		Span:      first(a.Span, b.Span),
		Sensors:   first(a.Sensors, b.Sensors),
		Interval:  first(a.Interval, b.Interval),
		Entry:     first(a.Entry, b.Entry),
		Base:      first(a.Base, b.Base),
		FilledFor: first(a.FilledFor, b.FilledFor),
	}
}

// fillDefaults sets the defaults of everything that neither the user nor the preset gave. It copies
// the parts that it changes: a preset's parts are shared by all runs, and the caller owns the
// others.
func (s *Spec) fillDefaults() {
	keys := Keys{}
	if s.Keys != nil {
		keys = *s.Keys
	}

	keys.Distribution = first(keys.Distribution, uniformKeys)
	if keys.Distribution == zipfKeys || keys.Distribution == latestKeys {
		keys.Theta = first(keys.Theta, 0.99)
	}

	if keys.Distribution == hotsetKeys {
		keys.HotOperations, keys.HotKeys = first(keys.HotOperations, 0.8), first(keys.HotKeys, 0.2)
	}

	s.Keys = &keys
	if s.Buckets != nil {
		s.bucketDefaults()
	}

	if s.Document != nil && s.Document.Growth != 0 {
		d := *s.Document
		d.Largest = first(d.Largest, 16*units.MiB)
		s.Document = &d
	}

	if s.Mix != nil && s.Mix.Scan > 0 {
		m := *s.Mix
		m.ScanDocuments = first(m.ScanDocuments, 100)
		s.Mix = &m
	}

	if s.Arrivals != nil {
		a := *s.Arrivals
		if len(a.Steps) > 0 || a.Ramp != nil || a.Daily != nil || a.Recorded != "" {
			a.Spacing = first(a.Spacing, poissonSpacing)
		}
		if a.Daily != nil {
			d := *a.Daily
			d.Period = first(d.Period, 24*60*minute)
			a.Daily = &d
		}
		s.Arrivals = &a
	}

	s.Connections = first(s.Connections, 100)
}

func (s *Spec) bucketDefaults() {
	b := *s.Buckets
	b.Entry = first(b.Entry, 40)
	s.Buckets = &b
	if s.Mix == nil {
		s.Mix = &Mix{Push: 1}
	}
	if s.Arrivals == nil && b.Interval > 0 {
		// Each sensor reports once per interval.
		s.Arrivals = &Arrivals{Constant: new(units.Frequency(float64(b.Sensors) * 1e9 / float64(b.Interval)))}
	}
	if b.Span > 0 && b.FilledFor%b.Span != 0 {
		// The buckets that are already filling are documents, too.
		s.Keys.Count = max(s.Keys.Count, b.Sensors)
	}
}

// scheduled converts checked arrivals to a rate over time. A recorded rate is read later.
func scheduled(a *Arrivals) schedule {
	forever := units.Duration(1<<63 - 1).Std()
	s := schedule{poisson: a.Spacing == poissonSpacing}
	switch {
	case a.Constant != nil:
		s.poisson, s.pieces = false, []piece{{forever, *a.Constant}}
	case a.Poisson != nil:
		s.poisson, s.pieces = true, []piece{{forever, *a.Poisson}}
	case a.Ramp != nil:
		s.pieces = ramped(a.Ramp)
	case a.Daily != nil:
		s.pieces, s.repeats = swinging(a.Daily), true
	case len(a.Steps) > 0 && a.Steps[0].Rate != nil:
		var until units.Duration
		for _, step := range a.Steps {
			until += step.For
			s.pieces = append(s.pieces, piece{until.Std(), *step.Rate})
		}
	}

	return s
}

func recordedFile(open OpenFile, name string) ([]piece, error) {
	if open == nil {
		return nil, fmt.Errorf("%s: files cannot be read here", name)
	}
	f, err := open(name)
	if err != nil {
		return nil, fmt.Errorf("cannot be read: %w", err)
	}
	pieces, err := readRecorded(f)
	if err != nil {
		err = fmt.Errorf("%s: %w", name, err)
	}
	return pieces, errors.Join(err, f.Close())
}
