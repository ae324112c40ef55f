package prove

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"plimsoll/internal/base/units"
	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/timeline"
)

// A refusal is the reason why nothing can be compared, with advice.
type refusal struct{ text, hint string }

func (r *refusal) Error() string { return r.text }

// Hint returns what to do next.
func (r *refusal) Hint() string { return r.hint }

func refuse(hint, format string, args ...any) error {
	return &refusal{text: fmt.Sprintf(format, args...), hint: hint}
}

// sameCellsMin is the number of cells with the same times and values from which two recordings count as
// the same.
const sameCellsMin = 10

// distinct refuses two recordings that are the same or overlap: different recordings never have the same
// values in the same seconds.
func distinct(a, b *side) error {
	shared, same := 0, true
	from := (b.c.Grid.FromMs - a.c.Grid.FromMs) / a.c.Grid.StepMs

	// Compare cells only if they have the same boundaries.
	if !a.c.Grid.Time(0).Add(time.Duration(from) * a.c.Grid.Step()).Equal(b.c.Grid.Time(0)) {
		return nil // cells begin at different times, so they are not compared
	}

	for _, sig := range a.c.Pack.Signals() {
		for _, t := range a.c.Signal(sig) {
			i := slices.IndexFunc(b.c.Signal(sig),
				func(o timeline.Track) bool { return labels.Equal(o.Labels, t.Labels) })
			if i < 0 {
				continue
			}
			n, equal := equalCells(t.Values, b.c.Signal(sig)[i].Values,
				int(max(min(from, math.MaxInt32), -math.MaxInt32)))
			shared, same = max(shared, n), same && equal
		}
	}

	if !same || shared < sameCellsMin {
		return nil
	}
	if shared >= min(a.c.Grid.N, b.c.Grid.N)*9/10 {
		return refuse("give the recording from before the change, then the one from after it; within one source, use --before-to and --after-from to separate the periods",
			"before and after are the same recording: the same values at the same times, from %s to %s",
			stamp(a.c.Whole().From), stamp(a.c.Whole().To))
	}

	return refuse("use --before-to and --after-from to separate the periods",
		"before and after overlap: they share %s of the same samples",
		units.Seconds(float64(shared)*a.c.Grid.StepSeconds()))
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

// equalCells compares two series over their common time; y begins shift cells after x. It returns the
// number of cells known in both, and whether all are equal. It ignores the cells at the ends, which
// contain only part of a sample's interval.
func equalCells(x, y []float64, shift int) (n int, equal bool) {
	for k := max(shift, 0) + 1; k < min(len(x), shift+len(y))-1; k++ {
		v, w := x[k], y[k-shift]
		if math.IsNaN(v) || math.IsNaN(w) {
			continue
		}
		if n++; math.Abs(v-w) > 1e-9*(math.Abs(v)+math.Abs(w)) {
			return n, false
		}
	}
	return n, true
}

// cellsMin is the minimum number of cells of a recording without cycles.
const cellsMin = 60

// longEnough refuses recordings that are too short for any verdict.
func longEnough(a, b *side) error { return cmp.Or(a.tooShort(b), b.tooShort(a)) }

// tooShort refuses a recording that is too short for any verdict.
func (s *side) tooShort(other *side) error {
	_, err := s.lacks(other)
	return err
}

// lacks returns why a recording is too short for any verdict, and how long it has to be; nil and 0 if it is
// long enough.
func (s *side) lacks(other *side) (least time.Duration, why error) {
	step := s.c.Grid.StepSeconds()
	length := units.Seconds(float64(s.c.Grid.N) * step)
	atLeast := func(seconds float64) time.Duration { return time.Duration(math.Ceil(seconds)) * time.Second }

	switch {
	case s.cut.cycles && s.cut.n < unitsMin:
		return atLeast((unitsMin + 2) * s.cycle()), refuse(
			"record at least "+units.Seconds((unitsMin+1)*s.cycle())+", ideally twice as long",
			"%s is too short: its %s contain %s of %s, but %d are needed", s.word, length, wholeCycles(s.cut.n),
			units.Seconds(s.cut.usual*step), unitsMin)
	case !s.cut.cycles && other.cut.cycles && s.cut.n < unitsMin:
		return atLeast((unitsMin + 1) * other.cut.usual * other.c.Grid.StepSeconds()), refuse(
			"record at least "+units.Seconds((unitsMin+1)*other.cut.usual*step)+", ideally twice as long",
			"%s is too short: %s, but the recording %s has checkpoints every %s, and %d times that is needed", s.word,
			length, other.word, units.Seconds(other.cut.usual*step), unitsMin)
	case !s.cut.cycles && !other.cut.cycles && s.checkpointing():
		// Twice as long may then contain two checkpoints.
		return atLeast(2 * float64(s.c.Grid.N) * step), refuse(
			fmt.Sprintf("record until %d checkpoints have begun: %s", unitsMin+2,
				usualCycles(recorded(s, other), unitsMin+2)),
			"%s is too short: in its %s %s, but %d whole checkpoint cycles are needed", s.word, length,
			begun(s.cut.begun), unitsMin)
	case s.c.Grid.N < cellsMin:
		return atLeast((cellsMin + 1) * step), refuse(
			"record at least "+units.Seconds(cellsMin*step)+", ideally ten times as long",
			"%s is too short: %d intervals of %s, but %d are needed", s.word, s.c.Grid.N,
			units.Seconds(step), cellsMin)
	}

	return 0, nil
}

// cycle returns the length of a cycle in seconds for advice: the larger of the usual length and the
// average, because cycles may vary and those at the ends are incomplete.
func (s *side) cycle() float64 {
	const ends = 2
	return max(s.cut.usual, float64(s.c.Grid.N)/float64(s.cut.n+ends)) * s.c.Grid.StepSeconds()
}

// Least returns how long a recording has to be to be comparable with another one, or with one like itself
// if there is no other yet; 0 if it is long enough.
func Least(ctx context.Context, in, beside []recording.Reader, opt Options) (time.Duration, error) {
	s := &side{word: "it", in: in}
	if err := s.lay(ctx, diagnose.Options{Pack: opt.Pack, Progress: opt.Progress}); err != nil {
		return 0, err
	}
	other := s
	if beside != nil {
		other = &side{word: "the other", in: beside}
		if err := other.lay(ctx, diagnose.Options{Pack: opt.Pack, Progress: opt.Progress}); err != nil {
			return 0, err
		}
	}
	s.cut, other.cut = cut(s.c, other.c)
	least, _ := s.lacks(other) // why does not matter: a recording is extended
	return least, nil
}

// recorded returns the engines that the recordings are of; all if they are of none.
func recorded(sides ...*side) []rules.Knowledge {
	all := sides[0].c.Pack.Engines()
	out := slices.DeleteFunc(slices.Clone(all), func(e rules.Knowledge) bool {
		return !slices.ContainsFunc(sides, func(s *side) bool { return slices.Contains(s.c.Engines, e.Database) })
	})
	if len(out) == 0 {
		return all
	}
	return out
}

// usualCycles describes how long this many cycles take with the engines' defaults.
func usualCycles(engines []rules.Knowledge, n int) string {
	var out []string
	for _, e := range engines {
		every := e.Compared.CycleEvery
		if every == 0 {
			continue
		}
		minutes, at := "", ""
		if len(out) == 0 {
			minutes, at = " minutes", " its default of"
		}
		out = append(out, fmt.Sprintf("%d%s of %s at%s %s", int(every.Minutes())*n, minutes, e.Product, at,
			strings.TrimSuffix(every.String(), "0s")))
	}
	return strings.Join(out, ", ")
}

// checkpointing reports whether checkpoints can be expected although fewer than two were observed. A
// recording many times longer than the longest usual interval without a single one is of a database that
// makes none.
func (s *side) checkpointing() bool {
	longest := 0.0
	for _, e := range s.c.Pack.Engines() {
		longest = max(longest, e.Compared.CycleEvery.Seconds())
	}
	_, measured := checkpoints(s.c)
	return measured && s.c.Whole().Seconds() < unitsMin*longest
}

func begun(n int) string {
	if n == 0 {
		return "no checkpoint begins"
	}
	return "one checkpoint begins" // two would make a cycle
}

func wholeCycles(n int) string {
	if n == 1 {
		return "one whole checkpoint cycle"
	}
	return fmt.Sprintf("%d whole checkpoint cycles", n)
}

// nothingInCommon returns the error for recordings without a common figure.
func nothingInCommon(a, b *side, r *Report) error {
	describe := func(s *side, names []string) string {
		var kinds []string
		for _, src := range r.sideOf(s).Sources {
			if !slices.Contains(kinds, src.Kind) {
				kinds = append(kinds, src.Kind)
			}
		}
		if len(names) == 0 {
			return fmt.Sprintf("%s (%s) reports none", s.word, strings.Join(kinds, ", "))
		}
		return fmt.Sprintf("%s (%s) reports %s", s.word, strings.Join(kinds, ", "), strings.Join(names, ", "))
	}

	var sources []string
	for _, e := range recorded(a, b) {
		if e.Compared.Source != "" {
			sources = append(sources, e.Compared.Source)
		}
	}

	return refuse("record both with the same sources: "+strings.Join(sources, ", or ")+
		" for the database; iostat, node_exporter or host for the device (plimsoll record SOURCE... --out DIR)",
		"no figure is in both recordings: %s; %s", describe(a, r.OnlyBefore), describe(b, r.OnlyAfter))
}

func (r *Report) sideOf(s *side) *Side {
	if s.word == "before" {
		return &r.Before
	}
	return &r.After
}
