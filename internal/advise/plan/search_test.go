package plan

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"plimsoll/internal/model/scenario"

	"pgregory.net/rapid"
)

// A table is an evaluator with a fixed set of choices that meet the objective. There is no model, so that
// spaces of many shapes can be tried.
type table struct {
	space   *Space
	meets   func(choice []int) bool
	prunes  func(choice []int) bool // some of those that miss
	invalid func(choice []int) bool // refused by the scenario's checks
	// repeats are also some of those that miss; nil: none.
	repeats func(choice []int) bool
}

func (t *table) prune(c *candidate) *outcome {
	switch {
	case t.invalid(c.choice):
		return &outcome{candidate: c, invalid: true}
	case t.prunes(c.choice):
		return &outcome{candidate: c, pruned: true, reason: "pruned"}
	}
	return nil
}

func (t *table) ruledOut(c *candidate) *outcome {
	if t.repeats != nil && t.repeats(c.choice) {
		return &outcome{candidate: c, repeated: true, reason: "run"}
	}
	return nil
}

func (t *table) remember(*outcome) {}

func (t *table) run(_ context.Context, c *candidate) *outcome {
	return &outcome{candidate: c, met: t.meets(c.choice), reason: "run"}
}

// everything returns every candidate of a space, by brute force.
func everything(s *Space) []candidate {
	var out []candidate
	var fill func(choice []int, i int)
	fill = func(choice []int, i int) {
		if i == len(s.axes) {
			if s.changed(choice) <= s.atOnce {
				c := s.candidate(choice, choice, s.price(choice))
				c.choice = slices.Clone(choice)
				out = append(out, c)
			}
			return
		}

		for k := range s.axes[i].options {
			choice[i] = k
			fill(choice, i+1)
		}

		choice[i] = 0
	}

	fill(make([]int, len(s.axes)), 0)
	return out
}

func drawSpace(t *rapid.T) *Space {
	s := &Space{atOnce: rapid.IntRange(0, 3).Draw(t, "at once")}
	for i := range rapid.IntRange(0, 5).Draw(t, "axes") {
		a := axis{path: fmt.Sprint("axis", i), setting: rapid.Bool().Draw(t, "setting")}
		for k := range rapid.IntRange(1, 4).Draw(t, "options") {
			o := option{need: Need(rapid.IntRange(0, 3).Draw(t, "need")), danger: rapid.IntRange(0, 2).Draw(t, "danger")}
			if k == 0 {
				o = option{}
			}

			if !a.setting {
				o.cost = dollars(rapid.IntRange(0, 4).Draw(t, "cost")) * 700_000
			}

			o.ordered.iops = int64(rapid.IntRange(0, 2).Draw(t, "iops"))
			o.ordered.size = int64(rapid.IntRange(0, 2).Draw(t, "size")) * sizeStep * 2 / 3

			for n := range min(k, 2) {
				o.sets = append(o.sets, scenario.Set{Path: fmt.Sprint(a.path, ".", n), Value: k})
			}

			a.options = append(a.options, o)
		}

		s.axes = append(s.axes, a)
	}

	if rapid.Bool().Draw(t, "without prices") {
		s.amounts = func(choice []int) (sum ordered) {
			for i, k := range choice {
				sum = sum.plus(s.axes[i].options[k].ordered)
			}
			return sum
		}
	}

	return s
}

// For any set of layouts that meet the objective, the search finds the most preferred one, with any
// number of workers, and has rejected everything preferable to it.
func TestSearchIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSpace(t)
		all := everything(s)
		if int64(len(all)) != s.size() {
			t.Fatalf("%d layouts, reported as %d", len(all), s.size())
		}

		meets, pruned, invalid, repeated := map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]bool{}
		for _, c := range all {
			key := fmt.Sprint(c.choice)
			switch rapid.SampledFrom([]string{"misses", "misses", "misses", "meets", "pruned", "invalid", "repeated"}).Draw(t, key) {
			case "meets":
				meets[key] = true
			case "pruned":
				pruned[key] = true
			case "invalid":
				invalid[key] = true
			case "repeated":
				repeated[key] = true
			}
		}

		in := func(m map[string]bool) func([]int) bool { return func(c []int) bool { return m[fmt.Sprint(c)] } }
		e := &table{s, in(meets), in(pruned), in(invalid), in(repeated)}

		// Brute force: all that meet, and among them the most preferred. The final criterion, the
		// grid's order, is known only to the walk, so layouts that only it distinguishes count as
		// equal.
		var best *candidate
		for i := range all {
			if c := &all[i]; meets[fmt.Sprint(c.choice)] && (best == nil || c.before(best) < 0) {
				best = c
			}
		}

		var first string
		for _, workers := range []int{1, 2, 5} {
			got, err := search(context.Background(), s, e, workers, len(all)+1, nil)
			if err != nil || !got.complete {
				t.Fatalf("%v, complete %v", err, got.complete)
			}

			if (got.chosen == nil) != (best == nil) {
				t.Fatalf("chose %v, want %v", got.chosen, best)
			}

			text := ""
			if best != nil {
				c := *got.chosen.candidate
				if c.ordinal = best.ordinal; c.before(best) != 0 {
					t.Fatalf("chose %+v, want %+v", c, best)
				}
				text = fmt.Sprint(c.choice)
			}

			for _, o := range got.rejected {
				text += fmt.Sprint(" ", o.choice, o.pruned)
				if best != nil && o.before(got.chosen.candidate) >= 0 {
					t.Fatalf("rejected %v, which is not preferred to %v", o.choice, got.chosen.choice)
				}
			}

			if first == "" {
				first = text
			}

			if text != first {
				t.Fatalf("%d workers: %s\nelse: %s", workers, text, first)
			}
		}
	})
}

// When no runs are left, the search reports that it is incomplete, with any number of workers. The
// current deployment, which comes first, does not count, because its run is needed in any case.
func TestSearchGivesUp(t *testing.T) {
	s := &Space{axes: []axis{{options: make([]option, 50)}}}
	never := func([]int) bool { return false }
	for _, workers := range []int{1, 4} {
		got, err := search(context.Background(), s, &table{s, never, never, never, nil}, workers, 7, nil)
		if err != nil || got.complete || got.chosen != nil || got.runs != 7 || len(got.rejected) != 8 {
			t.Errorf("%d workers: %+v, %v", workers, got, err)
		}
	}
}

// broken is an evaluator with a failing run.
type broken struct{ table }

func (b *broken) run(context.Context, *candidate) *outcome {
	return &outcome{problem: errors.New("no")}
}

func TestSearchFails(t *testing.T) {
	s := &Space{axes: []axis{{options: make([]option, 5)}}}
	never := func([]int) bool { return false }
	if _, err := search(context.Background(), s, &broken{table{s, never, never, never, nil}}, 2, 9, nil); err == nil || err.Error() != "no" {
		t.Error(err)
	}
}

// The result of a descent meets the objective, and no preferable neighbour does.
func TestDescendIsLocallyBest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSpace(t)
		all := everything(s)

		meets := map[string]bool{}
		for _, c := range all {
			meets[fmt.Sprint(c.choice)] = rapid.Bool().Draw(t, fmt.Sprint(c.choice))
		}

		start := all[rapid.IntRange(0, len(all)-1).Draw(t, "start")]
		meets[fmt.Sprint(start.choice)] = true
		never := func([]int) bool { return false }
		e := &table{s, func(c []int) bool { return meets[fmt.Sprint(c)] }, never, never, nil}

		end, err := descend(context.Background(), s, e, &outcome{candidate: &start, met: true}, 2, 1<<20)
		if err != nil || !meets[fmt.Sprint(end.choice)] {
			t.Fatalf("%v, %v", end, err)
		}

		for _, n := range s.neighbours(end.candidate) {
			if meets[fmt.Sprint(n.choice)] {
				t.Fatalf("%v meets and is preferred to %v", n.choice, end.choice)
			}
		}
	})
}
