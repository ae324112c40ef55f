// Package incident groups stalled time into incidents: what belongs together because it has one
// cause and recurs, or lies side by side.
//
// A detector marks the cells of a grid in which one class of operation of one database or device
// stalled. Here these marks become values, step by step, and nothing is judged yet:
//
//	marks of each detector
//	  -> episodes: runs of marks, joined while the latency does not calm down (hysteresis)
//	  -> events: what several detectors saw at the same time, led by the one closest to clients
//	  -> groups: events that are alike in what else held meanwhile, and not far apart
//
// The conditions that tell events apart are any masks: those of rules, as it is. Everything here is
// a pure function of its arguments. Package diagnose judges the groups.
package incident

import (
	"cmp"
	"slices"

	"plimsoll/internal/record/timeline"
)

// A Source is the stalled time that one detector saw.
type Source struct {
	Stalled timeline.Mask
	// Slow is where the latency is high still: episodes with nothing else between them are one.
	Slow timeline.Mask
	// Harm is what each cell cost: seconds that operations waited, for example.
	Harm []float64
}

// Options bound what belongs together, in cells.
type Options struct {
	// Gap is the longest calm between two marks of one episode.
	Gap int
	// Slow is the longest stretch of a latency that is high still between them.
	Slow int
	// Near is how far apart two events may be and still be one group, unless they recur.
	Near int
	// Substantial is how many cells make a group of its own of fewer than three events.
	Substantial int
	// At is the place of a cell in time, in cells; nil where no time is left out of the grid.
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

// An Event is what sources saw at the same time. Parts[0] is the leading source's.
type Event struct {
	Parts []Part
	Harm  float64
	// Under is how much of the event each condition held, 0 to 1.
	Under []float64
	// Level is a figure that tells two events under the same conditions apart, such as the rate at
	// which a device was saturated; 0 if it has none.
	Level float64
}

// Lead is the source that leads the event.
func (e Event) Lead() int { return e.Parts[0].Source }

// A Group is events that belong together, in time order.
type Group struct {
	Events []Event
	// Period is the distance of two events in cells of time; 0 if they do not recur regularly.
	Period float64
}

// Lead is the source that leads the group.
func (g Group) Lead() int { return g.Events[0].Lead() }

// Harm is what the group cost in all.
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

// Cells are the stalled cells that a group has of one source.
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

// Crosses tells whether the times of two groups overlap.
func Crosses(a, b Group) bool {
	p, q := a.Span(), b.Span()
	return p.First <= q.Last && q.First <= p.Last
}

// Sources are those that a group has episodes of, in their order.
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

// Episodes are the runs of a source's marks.
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

// joined tells whether two marks with other cells between them are of one episode.
func joined(slow timeline.Mask, last, next int, o Options) bool {
	between := next - last - 1
	if between <= o.Gap {
		return true
	}
	return slow != nil && between <= o.Slow && slow[last+1:next].Count() == between
}

const (
	// together is the share of the shorter of two episodes that has to meet the other.
	together = 0.5
	// longer is how many times as long as the event an episode may be that belongs to it: reads that
	// stall all day are not part of a checkpoint of ten seconds.
	longer = 4
)

// Events are what the sources saw, in time order. The sources are given in the order in which they
// lead: the one closest to clients first.
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

// meets is the event of another source that an episode belongs to; -1 if none.
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
