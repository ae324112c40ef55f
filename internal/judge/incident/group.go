package incident

import (
	"cmp"
	"math"
	"slices"

	"plimsoll/internal/record/timeline"
)

const (
	// alike is the least similarity of two events, by the conditions that held in them, for them to
	// have the same cause.
	alike = 0.35
	// nothing is the sum of conditions below which no condition characterises an event.
	nothing = 0.3
	// levelApart is the ratio of levels above which two events differ.
	levelApart = 2.5
	// substantialEvents is how many events make a group separate, however short they are.
	substantialEvents = 3
	// leastRecurring is how many separate groups make a recurrence.
	leastRecurring = 3
	// An event that is dwarfed times as long as those of a group, and at least dwarfedLeast times as
	// long as Options.Substantial, is unrelated to them.
	dwarfed      = 20
	dwarfedLeast = 4
	// sized is the largest ratio of harm between two recurrences.
	sized = 8
)

// Measure sets the share of each event's cells under each condition. It starts one cell before the
// event, because counters credit a wait when it ends.
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

// Groups joins events that are similar and near each other, and those that recur regularly at any
// distance. The most harmful group comes first.
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

// Join merges two groups.
func Join(a, b Group, o Options) Group {
	out := Group{Events: slices.Concat(a.Events, b.Events)}
	slices.SortStableFunc(out.Events,
		func(x, y Event) int { return cmp.Compare(x.Parts[0].First, y.Parts[0].First) })
	out.Period = period(out.Events, o)
	return out
}

// Near reports whether two groups are close enough for their events to form one group.
func Near(a, b Group, o Options) bool { return gap(a, b, o) <= o.Near }

// gap is the shortest distance between events of two groups, in cells of time; 0 if their times
// overlap.
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

// dwarfs reports whether an event differs in size from those of a group. A ten-minute stall is
// unrelated to the one-second stalls of checkpoints all day, even if the same conditions held.
func dwarfs(g Group, e Event, o Options) bool {
	a, b := longest(g), float64(e.Parts[0].Cells())
	return max(a, b) >= dwarfed*min(a, b) && max(a, b) >= float64(dwarfedLeast*o.Substantial)
}

// longest is the length of a group's longest event, in cells.
func longest(g Group) (cells float64) {
	for _, e := range g.Events {
		cells = max(cells, float64(e.Parts[0].Cells()))
	}
	return cells
}

// likeness is the mean similarity of an event to those of a group, 0 to 1.
func likeness(g Group, e Event) float64 {
	// The last few represent the group: hours of events may be thousands.
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
	// With no characteristic condition in either event, nothing speaks against the same cause.
	if either < nothing {
		return 1
	}
	return both / either
}

// absorb merges groups that are too small into the nearest one. What distinguishes a single event
// from its neighbours may be chance: a checkpoint that coincides with one of two stalls does not
// make that one a separate incident.
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

// oneRhythm joins groups of one source that together recur regularly: other conditions that held in
// some of the recurrences were chance.
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

// cells is the length of all events of the leading source, in cells.
func cells(g Group) (n int) {
	for _, e := range g.Events {
		n += e.Parts[0].Cells()
	}
	return n
}

// recurring joins groups that are similar and recur regularly: a backup every night.
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

		// Similar groups far apart are one incident only if they also keep a rhythm.
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

// mean returns the average of a group's events.
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

// recurringLength is the least length of a recurrence relative to the longest event. Shorter events
// are noise between recurrences.
const recurringLength = 0.25

// period is the distance between events in cells of time; 0 if they are irregular.
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
