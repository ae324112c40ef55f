// Package incident groups stalled time into incidents: stalls that belong together because they
// have one cause and recur, or are close in time.
//
// A detector marks the grid cells in which one class of operation of one database or device
// stalled. This package aggregates the marks in steps, without judging them:
//
//	marks of each detector
//	  -> episodes: runs of marks, joined while the latency stays high (hysteresis)
//	  -> events: episodes of several detectors at the same time, led by the one closest to clients
//	  -> groups: events near each other under similar conditions
//
// Conditions that distinguish events are arbitrary masks; package diagnose passes those of rules and
// judges the groups. Everything here is a pure function of its arguments.
package incident

import (
	"cmp"
	"slices"

	"plimsoll/internal/record/timeline"
)

// A Source is the stalled time that one detector saw.
type Source struct {
	Stalled timeline.Mask
	// Slow marks cells with latency that is still high: episodes separated only by such cells are
	// one.
	Slow timeline.Mask
	// Harm is the cost of each cell, for example the seconds that operations waited.
	Harm []float64
}

// Options bound what belongs together. All lengths are in cells.
type Options struct {
	// Gap is the longest calm between two marks of one episode.
	Gap int
	// Slow is the longest stretch of still-high latency between two marks of one episode.
	Slow int
	// Near is how far apart two events of one group may be, unless they recur.
	Near int
	// Substantial is how many cells make fewer than three events a separate group.
	Substantial int
	// At maps a cell to its position in time, in cells; nil if the grid has no gaps.
	At func(cell int) int
}

func (o Options) at(cell int) int {
	if o.At == nil {
		return cell
	}
	return o.At(cell)
}

// A Part is an episode of one source.
type Part struct {
	Source int
	timeline.Episode
}

// An Event is a set of episodes that sources saw at the same time. Parts[0] is of the leading
// source.
type Event struct {
	Parts []Part
	Harm  float64
	// Under is the share of the event in which each condition held, 0 to 1.
	Under []float64
	// Level is a figure that distinguishes two events under the same conditions, such as the rate
	// at which a device was saturated; 0 if there is none.
	Level float64
}

// Lead is the event's leading source.
func (e Event) Lead() int { return e.Parts[0].Source }

// A Group is a set of events that belong together, in time order.
type Group struct {
	Events []Event
	// Period is the distance between events in cells of time; 0 if they do not recur regularly.
	Period float64
}

// Lead is the group's leading source.
func (g Group) Lead() int { return g.Events[0].Lead() }

// Harm is the total cost of the group.
func (g Group) Harm() (sum float64) {
	for _, e := range g.Events {
		sum += e.Harm
	}
	return sum
}

// Span is the group's time, from the first cell of any part to the last.
func (g Group) Span() timeline.Episode {
	out := g.Events[0].Parts[0].Episode
	for _, e := range g.Events {
		for _, p := range e.Parts {
			out.First, out.Last = min(out.First, p.First), max(out.Last, p.Last)
		}
	}
	return out
}

// Cells returns the group's stalled cells of one source.
func (g Group) Cells(source int, stalled timeline.Mask) timeline.Mask {
	var eps []timeline.Episode
	for _, e := range g.Events {
		for _, p := range e.Parts {
			if p.Source == source {
				eps = append(eps, p.Episode)
			}
		}
	}
	return timeline.MaskOf(len(stalled), eps).And(stalled)
}

// Crosses reports whether the times of two groups overlap.
func Crosses(a, b Group) bool {
	p, q := a.Span(), b.Span()
	return p.First <= q.Last && q.First <= p.Last
}

// Sources lists the sources that the group has episodes of, in order.
func (g Group) Sources() []int {
	var out []int
	for _, e := range g.Events {
		for _, p := range e.Parts {
			if !slices.Contains(out, p.Source) {
				out = append(out, p.Source)
			}
		}
	}
	slices.Sort(out)
	return out
}

// Episodes returns the runs of a source's marks.
func Episodes(s Source, o Options) []timeline.Episode {
	var out []timeline.Episode
	for _, e := range s.Stalled.Episodes() {
		if n := len(out); n > 0 && joined(s.Slow, out[n-1].Last, e.First, o) {
			out[n-1].Last = e.Last
			continue
		}
		out = append(out, e)
	}
	return out
}

// joined reports whether two marks with other cells between them belong to one episode.
func joined(slow timeline.Mask, last, next int, o Options) bool {
	between := next - last - 1
	if between <= o.Gap {
		return true
	}
	return slow != nil && between <= o.Slow && slow[last+1:next].Count() == between
}

const (
	// together is the share of the shorter of two episodes that must overlap the other.
	together = 0.5
	// longer is how many times as long as the event one of its episodes may be: reads that stall
	// all day are not part of a ten-second checkpoint.
	longer = 4
)

// Events combines the episodes of sources, in time order. The order of sources decides which one
// leads: the one closest to clients comes first.
func Events(sources []Source, o Options) []Event {
	if len(sources) == 0 {
		return nil
	}

	owner := make([]int, len(sources[0].Stalled)) // event + 1, by cell
	var out []Event
	for i, s := range sources {
		for _, e := range Episodes(s, o) {
			part := Part{Source: i, Episode: e}
			harm := timeline.Sum(timeline.At(s.Harm[e.First:e.Last+1], s.Stalled[e.First:e.Last+1]))
			if k := meets(owner, out, part); k >= 0 {
				out[k].Parts = append(out[k].Parts, part)
				out[k].Harm += harm
				continue
			}

			out = append(out, Event{Parts: []Part{part}, Harm: harm})
			for k := e.First; k <= e.Last; k++ {
				if owner[k] == 0 {
					owner[k] = len(out)
				}
			}
		}
	}

	slices.SortStableFunc(out, func(a, b Event) int { return cmp.Compare(a.Parts[0].First, b.Parts[0].First) })
	return out
}

// meets returns the index of the event, led by another source, that an episode belongs to; -1 if
// none.
func meets(owner []int, events []Event, p Part) int {
	met := map[int]int{}
	best := -1
	for k := p.First; k <= p.Last; k++ {
		i := owner[k] - 1
		if i < 0 || events[i].Lead() == p.Source {
			continue
		}
		if met[i]++; best < 0 || met[i] > met[best] {
			best = i
		}
	}

	if best < 0 {
		return -1
	}

	lead := events[best].Parts[0].Cells()
	if float64(met[best]) < together*float64(min(lead, p.Cells())) || p.Cells() > longer*lead {
		return -1
	}

	return best
}
