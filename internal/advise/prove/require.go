package prove

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"plimsoll/internal/base/inputerror"
	"plimsoll/internal/base/units"
	"plimsoll/internal/judge/rules"
)

// requireBytesMax bounds a requirement's text.
const requireBytesMax = 200

// A Bound is a requirement on a figure after the change.
type Bound struct {
	text  string
	name  string
	unit  string
	less  bool
	bound float64
}

// String returns the bound as given.
func (b Bound) String() string { return b.text }

var requirement = regexp.MustCompile(`^\s*([A-Za-z0-9_]+)\s*(<=|>=|<|>)\s*(\S.*?)\s*$`)

// Names returns the figures' names for use in a requirement.
func Names(pack *rules.Pack) []string {
	var out []string
	for _, k := range kinds(pack) {
		out = append(out, k.name)
	}
	return out
}

// ParseBound parses a requirement: "write_p99 < 25ms". The value has the figure's unit: a duration, a size,
// a rate or a share; for stalled it is the stalled time per hour. The error shows the format.
func ParseBound(pack *rules.Pack, text string) (Bound, error) {
	if len(text) > requireBytesMax {
		return Bound{}, fmt.Errorf("requirement too long: want at most %d characters, not %d",
			requireBytesMax, len(text))
	}

	m := requirement.FindStringSubmatch(text)
	if m == nil {
		return Bound{},
			fmt.Errorf("%q is not a requirement: write a figure, < or >, and a value, as in 'write_p99 < 25ms'",
				text)
	}

	all := kinds(pack)
	i := slices.IndexFunc(all, func(k kind) bool { return k.name == m[1] })
	if i < 0 {
		return Bound{}, fmt.Errorf("unknown figure %q: %s", m[1], orAll(pack, m[1]))
	}

	b := Bound{text: strings.TrimSpace(text), name: m[1], unit: all[i].unit, less: m[2][0] == '<'}
	var err error
	if b.bound, err = parseValue(m[3], b.unit); err != nil {
		return Bound{}, fmt.Errorf("%s: %w", m[1], err)
	}

	return b, nil
}

func parseValue(text, unit string) (float64, error) {
	switch unit {
	case "seconds", "seconds/h":
		d, err := units.ParseDuration(strings.TrimSuffix(text, "/h"))
		return d.Std().Seconds(), err
	case "bytes":
		x, err := units.ParseSize(text)
		return float64(x), err
	case "bytes/s":
		x, err := units.ParseThroughput(text)
		return float64(x), err
	case "ratio":
		x, err := units.ParseRatio(text)
		return float64(x), err
	}

	x, err := units.ParseFrequency(text)
	return float64(x), err
}

// orAll suggests the figure that was probably meant, or lists all.
func orAll(pack *rules.Pack, name string) string {
	if near := inputerror.Nearest(name, Names(pack)); near != "" {
		return "did you mean " + near + "?"
	}
	return "want one of " + strings.Join(Names(pack), ", ")
}

// require checks the requirements against the figures after the change. A requirement is met only if the
// whole interval meets it. Because all of them must be met, their number needs no correction: the
// probability that all pass although one is not met is at most the probability for that one (an
// intersection-union test: Berger, Technometrics 24 (1982) 295-300).
func (r *Report) require(pairs []pair, opt Options) {
	for _, b := range opt.Require {
		q := Requirement{Text: b.text, Name: b.name, Less: b.less, Bound: b.bound, Unit: b.unit,
			Outcome: NotMeasured}
		if i := slices.IndexFunc(pairs, func(x pair) bool { return x.figure.Name == b.name }); i >= 0 {
			q.After = pairs[i].figure.After
			q.Outcome = b.outcome(q.After)
			if q.Outcome == CantTellYet {
				q.Record = pairs[i].adviseBound(b, 1-r.Confidence)
			}
		}

		// Under another load, meeting a bound says nothing about the change.
		if !r.Workload.Comparable && q.Outcome != NotMeasured {
			q.Outcome, q.Record = Incomparable, nil
		}

		r.Requirements = append(r.Requirements, q)
	}
}

func (b Bound) outcome(e Estimate) Outcome {
	if e.Value == nil {
		return NotMeasured
	}
	if e.Low == nil && e.High == nil {
		return CantTellYet
	}

	low, high := math.Inf(-1), math.Inf(1)
	if e.Low != nil {
		low = *e.Low
	}

	if e.High != nil {
		high = *e.High
	}

	// Mirror a lower bound, so that one comparison covers both directions.
	if !b.less {
		low, high = -high, -low
	}

	bound := b.bound
	if !b.less {
		bound = -bound
	}

	switch {
	case high < bound:
		return Met
	case low >= bound:
		return NotMet
	}

	return CantTellYet
}

// adviseBound returns how long to record to determine on which side of a bound the figure is.
func (x *pair) adviseBound(b Bound, alpha float64) *Advice {
	e := x.figure.After
	if x.figure.After.AtLeast {
		return nil // the histogram's last bucket has no upper bound, regardless of the recording's length
	}

	if e.Low == nil || e.High == nil {
		if x.figure.P != nil {
			return x.advice(float64(x.afterBlocks*x.figure.BlockUnits)*max(again, square(2*x.reach)), "an upper end")
		}
		return x.figure.Record
	}

	units := float64(x.afterBlocks * x.figure.BlockUnits)
	if *e.Value == 0 && b.less {
		// No event was observed: the upper end falls with the recording's length, see noneSeen.
		return x.advice(units*max(again, *e.High/b.bound), "the bound")
	}

	gap := math.Abs(b.bound - *e.Value)
	if gap == 0 {
		return nil // it equals the bound, so no recording is long enough
	}

	if s := x.afterSpan; s.high < b.bound || s.low > b.bound {
		return nil // it is in the bound's class, and a longer recording does not make classes finer
	}

	error := (x.afterSpan.high - x.afterSpan.low) / 2 / critical(alpha, x.afterBlocks)
	z := normalQuantile(1-alpha/2) + powerQuantile
	return x.advice(units*max(again, square(z*error/gap)), "the bound")
}
