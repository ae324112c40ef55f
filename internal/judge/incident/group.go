package incident

import (
	"cmp"
	"math"
	"slices"

	"plimsoll/internal/record/timeline"
)

const (
	// alike is how alike what held in two events must be for them to have one cause.
	alike = 0.35
	// nothing is the sum of conditions under which an event is told by none.
	nothing = 0.3
	// levelApart is how many times as high one level may be as the other.
	levelApart = 2.5
	// substantialEvents is from how many events on a group is one of its own, however short they are.
	substantialEvents = 3
	// leastRecurring is how many groups apart from each other make a recurrence.
	leastRecurring = 3
	// dwarfed is how many times as long an event is than those that it has nothing to do with, and
	// dwarfedLeast how long it is at least, in lengths of what is a group of its own.
	dwarfed      = 20
	dwarfedLeast = 4
	// sized is how many times as much harm one recurrence may do as another.
	sized = 8
)

// Measure sets what held in each event: the share of its cells under each condition, looked at from
// the cell before it on, because counters credit a wait when it ends.
func Measure(events []Event, conditions []timeline.Mask, level []float64) {
	for i := range events {
		e := events[i].Parts[0].Episode
		first := max(0, e.First-1)
		events[i].Under = make([]float64, len(conditions))
		for j, m := range conditions {
			events[i].Under[j] = min(1, float64(m[first:e.Last+1].Count())/float64(e.Cells()))
		}
		if level != nil {
			if x := timeline.Quantile(level[first:e.Last+1], 0.5); x > 0 {
				events[i].Level = x
			}
		}
	}
}

// Groups joins events that are alike and near each other, and those that recur regularly however
// far apart. The most harmful group is first.
func Groups(events []Event, o Options) []Group {
	var out []Group
	for _, e := range events {
		best, most := -1, alike
		for i, g := range out {
			last := g.Events[len(g.Events)-1].Parts[0].Last
			if g.Lead() != e.Lead() || o.at(e.Parts[0].First)-o.at(last) > o.Near || dwarfs(g, e, o) {
				continue
			}
			if x := likeness(g, e); x >= most {
				best, most = i, x
			}
		}

		if best < 0 {
			out = append(out, Group{Events: []Event{e}})
			continue
		}

		out[best].Events = append(out[best].Events, e)
	}

	out = recurring(oneRhythm(absorb(out, o), o), o)
	for i := range out {
		out[i].Period = period(out[i].Events, o)
	}

	slices.SortStableFunc(out, func(a, b Group) int { return cmp.Compare(b.Harm(), a.Harm()) })
	return out
}

// Join makes one group of two.
func Join(a, b Group, o Options) Group {
	out := Group{Events: slices.Concat(a.Events, b.Events)}
	slices.SortStableFunc(out.Events,
		func(x, y Event) int { return cmp.Compare(x.Parts[0].First, y.Parts[0].First) })
	out.Period = period(out.Events, o)
	return out
}

// Near tells whether two groups are no further apart than events of one group may be.
func Near(a, b Group, o Options) bool { return gap(a, b, o) <= o.Near }

// gap is the least distance between two events of two groups in cells of time; 0 where their times
// cross.
func gap(a, b Group, o Options) int {
	least := math.MaxInt
	for i, j := 0, 0; i < len(a.Events) && j < len(b.Events); {
		p, q := a.Events[i].Parts[0], b.Events[j].Parts[0]
		least = min(least, max(o.at(q.First)-o.at(p.Last), o.at(p.First)-o.at(q.Last), 0))
		if p.Last < q.Last {
			i++
		} else {
			j++
		}
	}
	return least
}

// dwarfs reports whether an event is of another size than those of a group: ten minutes beside the
// second that each checkpoint stalls all day are something else, whatever held in both.
func dwarfs(g Group, e Event, o Options) bool {
	a, b := longest(g), float64(e.Parts[0].Cells())
	return max(a, b) >= dwarfed*min(a, b) && max(a, b) >= float64(dwarfedLeast*o.Substantial)
}

// longest is how many cells the longest event of a group has.
func longest(g Group) (cells float64) {
	for _, e := range g.Events {
		cells = max(cells, float64(e.Parts[0].Cells()))
	}
	return cells
}

// likeness is how alike an event is to those of a group on average, 0 to 1.
func likeness(g Group, e Event) float64 {
	// The last few tell what the group is like: of hours of them there are thousands.
	const few = 8
	with := g.Events[max(0, len(g.Events)-few):]
	sum := 0.0
	for _, x := range with {
		sum += similar(x, e)
	}
	return sum / float64(len(with))
}

func similar(a, b Event) float64 {
	if a.Level > 0 && b.Level > 0 && max(a.Level, b.Level) > levelApart*min(a.Level, b.Level) {
		return 0
	}
	var both, either float64
	for i := range a.Under {
		both += min(a.Under[i], b.Under[i])
		either += max(a.Under[i], b.Under[i])
	}
	if either < nothing {
		return 1
	}
	return both / either
}

// absorb makes groups of too little part of the nearest one. What sets a single event apart from its
// neighbours may be chance: a checkpoint that one of two stalls happens to meet does not make it
// another incident.
func absorb(all []Group, o Options) []Group {
	slices.SortStableFunc(all, func(a, b Group) int { return cmp.Compare(cells(b), cells(a)) })
	var out []Group
	for _, g := range all {
		into, nearest := -1, o.Near
		if len(g.Events) < substantialEvents && cells(g) < o.Substantial {
			for i, large := range out {
				if large.Lead() != g.Lead() {
					continue
				}
				if d := gap(large, g, o); d <= nearest && (into < 0 || d < nearest) {
					into, nearest = i, d
				}
			}
		}

		if into < 0 {
			out = append(out, g)
			continue
		}

		out[into] = Join(out[into], g, o)
	}

	return out
}

// oneRhythm joins groups of one source that together recur regularly: what else held in some of the
// recurrences was chance.
func oneRhythm(all []Group, o Options) []Group {
	var out []Group
	for _, g := range all {
		into := slices.IndexFunc(out, func(other Group) bool {
			a, b := longest(g), longest(other)
			return other.Lead() == g.Lead() && Crosses(other, g) && Near(other, g, o) &&
				min(a, b) >= recurringLength*max(a, b) && Join(other, g, o).Period > 0
		})
		if into < 0 {
			out = append(out, g)
			continue
		}
		out[into] = Join(out[into], g, o)
	}
	return out
}

// cells is how many cells the leading source's events have.
func cells(g Group) (n int) {
	for _, e := range g.Events {
		n += e.Parts[0].Cells()
	}
	return n
}

// recurring joins groups that are alike and come at regular distances: a backup each night.
func recurring(all []Group, o Options) []Group {
	slices.SortStableFunc(all, func(a,
		b Group) int {
		return cmp.Compare(a.Events[0].Parts[0].First, b.Events[0].Parts[0].First)
	})

	used := make([]bool, len(all))
	var out []Group
	for i, g := range all {
		if used[i] {
			continue
		}

		same := []int{i}
		for j := i + 1; j < len(all); j++ {
			h := all[j]
			if !used[j] && h.Lead() == g.Lead() && similar(mean(g), mean(h)) >= alike && h.Harm() <= sized*g.Harm() &&
				g.Harm() <= sized*h.Harm() {
				same = append(same, j)
			}
		}

		if len(same) >= leastRecurring && regular(all, same, o) {
			for _, j := range same[1:] {
				g = Join(g, all[j], o)
				used[j] = true
			}
		}

		out = append(out, g)
	}

	return out
}

// mean is an event that is like those of a group on average.
func mean(g Group) Event {
	e := Event{Parts: g.Events[0].Parts, Under: make([]float64, len(g.Events[0].Under))}
	levels := make([]float64, 0, len(g.Events))
	for _, x := range g.Events {
		for i := range e.Under {
			e.Under[i] += x.Under[i] / float64(len(g.Events))
		}
		if x.Level > 0 {
			levels = append(levels, x.Level)
		}
	}
	if len(levels) > 0 {
		e.Level = timeline.Quantile(levels, 0.5)
	}
	return e
}

func regular(all []Group, same []int, o Options) bool {
	eps := make([]timeline.Episode, len(same))
	for i, j := range same {
		first := o.at(all[j].Span().First)
		eps[i] = timeline.Episode{First: first, Last: first}
	}
	_, ok := timeline.Recurrence(eps)
	return ok
}

// recurringLength is the part of the longest event from which one is a recurrence: shorter ones are
// noise between them.
const recurringLength = 0.25

// period is the distance of events in cells of time; 0 if irregular.
func period(events []Event, o Options) float64 {
	longest := longest(Group{Events: events})
	var eps []timeline.Episode
	for _, e := range events {
		if float64(e.Parts[0].Cells()) >= recurringLength*longest {
			first := o.at(e.Parts[0].First)
			eps = append(eps, timeline.Episode{First: first, Last: first + e.Parts[0].Cells() - 1})
		}
	}
	p, ok := timeline.Recurrence(eps)
	if !ok {
		return 0
	}
	return p.Cells
}
