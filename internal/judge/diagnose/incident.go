package diagnose

import (
	"cmp"
	"context"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"plimsoll/internal/judge/incident"
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

const (
	// incidentsMax is how many incidents are judged, the most harmful first; the rest is counted.
	incidentsMax = 10
	// contextSpan is how much time around an incident it is judged with, on either side: what is
	// usual, and how the same device did when nothing stalled.
	contextSpan = time.Hour
	// contextLengths is the same in lengths of the incident, whichever is more.
	contextLengths = 2
	episodeGap     = time.Second
	episodeSlow    = time.Minute
	// Events are of one incident up to nearEvents apart, or so many parts of a long recording.
	nearEvents = 20 * time.Minute
	nearParts  = 48
	// substantial is how much stalled time makes an incident of its own of one or two events that
	// differ from those around them, and substantialCells how many cells.
	substantial      = 15 * time.Second
	substantialCells = 3
	// Incidents of up to blipS that did a small part of the harm of the worst are left out.
	blipS     = 3.0
	blipShare = 0.1
	// stillSlow is the part of the latency from which a cell is stalled at which an episode ends.
	stillSlow = 0.5
)

// judged is an incident while it is judged.
type judged struct {
	group    incident.Group
	order    []int            // of the detectors, by their rank among the group's sources
	span     timeline.Episode // cells of the recording that it is judged with
	c        *rules.Case
	whole    *rules.Case // that of which span and group are cells
	worse    bool        // slower than usual, and no stall
	findings []Finding
}

// condition is where a rule's condition holds.
type condition struct {
	held []timeline.Track
	// known says that what the rule needs was measured.
	known bool
}

// conditions evaluates the rules' conditions once, over the whole recording.
func conditions(ctx context.Context, c *rules.Case, sig *signals, pack *rules.Pack) ([]condition, error) {
	all := pack.Rules()
	out := make([]condition, len(all))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(runtime.GOMAXPROCS(0))

	for i, rule := range all {
		if !concerns(c, rule) || len(lacks(c, rule)) > 0 {
			continue
		}
		g.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			held, err := holds(c, sig, rule)
			out[i] = condition{held: held, known: true}
			return err
		})
	}

	return out, g.Wait()
}

// detectors are the stalls that can be an incident's: those of databases, and of devices while no
// database tells what its clients feel. The one closest to the clients is first.
func detectors(c *rules.Case) (order []int, sources []incident.Source) {
	watched := make(timeline.Mask, c.Grid.N)
	for i, s := range c.Symptoms {
		order = append(order, i)
		if s.IsDatabase {
			// Its source may end up to a sample before or after a device's.
			between := int(s.PeriodS / c.Grid.StepSeconds())
			watched = watched.Or(s.Observed.Widen(between, between))
		}
	}

	rank := func(i int) int {
		s := c.Symptoms[i]
		switch {
		case s.IsDatabase && s.Foremost:
			return 0
		case s.IsDatabase && !s.Aside:
			return 1
		case s.IsDatabase:
			return 2
		case !s.Aside:
			return 3
		}

		return 4
	}

	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)),
			cmp.Compare(c.Symptoms[b].Cells.Count(), c.Symptoms[a].Cells.Count()))
	})

	for _, i := range order {
		s := c.Symptoms[i]
		stalled := s.AsSampled()
		if !s.IsDatabase {
			stalled = stalled.Without(watched)
		}
		sources = append(sources, incident.Source{Stalled: stalled, Slow: slow(s), Harm: harm(c, s)})
	}

	return order, sources
}

// slow is where a latency is still high, or nothing completes.
func slow(s rules.Stall) timeline.Mask {
	if s.Latency == nil {
		return nil
	}
	out := make(timeline.Mask, len(s.Latency))
	for k, x := range s.Latency {
		out[k] = s.Observed[k] && !(x < stillSlow*s.ThresholdAt(k))
	}
	return out
}

// harm is what each cell costs, in seconds that operations waited, summed over them: incidents of all
// detectors are ranked by it. Where no latency is known, those wait that a source counts, or else the part
// of the clients that usually have something completed and have not; at least one, as something stalled.
func harm(c *rules.Case, s rules.Stall) []float64 {
	out := make([]float64, c.Grid.N)
	step := c.Grid.StepSeconds()

	usual := timeline.Quantile(s.Ops, 0.5)
	for k := range out {
		switch {
		case s.Waiting != nil && s.Waiting[k] > 0:
			out[k] = s.Waiting[k] * step
		case s.Waiting == nil && s.Ops != nil && s.Ops[k] < usual:
			waiting := 1.0
			if s.Queued != nil && s.Queued[k] > 0 {
				waiting = max(waiting, s.Queued[k])
			} else if s.Connected != nil && s.Connected[k] > 0 {
				waiting = max(waiting, s.Connected[k]*(1-s.Ops[k]/usual))
			}
			out[k] = waiting * step
		}
	}

	return out
}

func incidentOptions(c *rules.Case) incident.Options {
	return incident.Options{
		Gap: c.Cells(episodeGap), Slow: c.Cells(episodeSlow), Near: max(c.Cells(nearEvents), c.Grid.N/nearParts),
		Substantial: max(c.Cells(substantial), substantialCells),
		At:          func(k int) int { return int(c.Grid.Start(k).Sub(c.Grid.Start(0)) / c.Grid.Step()) },
	}
}

// group finds the incidents of a recording, unjudged.
func group(c *rules.Case, pack *rules.Pack, held []condition) (groups []incident.Group, order []int,
	opt incident.Options) {
	opt = incidentOptions(c)
	order, sources := detectors(c)
	events := incident.Events(sources, opt)
	if len(events) > 1 {
		var masks []timeline.Mask
		seen := map[string]bool{}
		for i, rule := range pack.Rules() {
			if rule.Kind != Cause || rule.When == "" || seen[rule.When] || len(held[i].held) == 0 {
				continue
			}
			seen[rule.When] = true
			m := make(timeline.Mask, c.Grid.N)
			for _, t := range held[i].held {
				m = m.Or(timeline.Known(t.Values))
			}
			masks = append(masks, m)
		}

		incident.Measure(events, masks, saturatedRate(c))
	}

	groups = incident.Groups(events, opt)
	return withoutBlips(c, groups, order, opt), order, opt
}

// withoutBlips removes groups of hardly any stalled time. They become part of the first group of the
// same detector near them: what else held meanwhile, such as a device's queue, must not change how
// long a database stalled.
func withoutBlips(c *rules.Case, groups []incident.Group, order []int,
	opt incident.Options) []incident.Group {
	var out, blips []incident.Group
	for _, g := range groups {
		lead := c.Symptoms[order[g.Lead()]]
		if c.Seconds(g.Cells(g.Lead(), lead.Cells)) <= blipS &&
			(g.Harm() < blipShare*groups[0].Harm() || lead.Aside) {
			blips = append(blips, g)
			continue
		}
		out = append(out, g)
	}

	for _, b := range blips {
		if i := slices.IndexFunc(out,
			func(g incident.Group) bool { return g.Lead() == b.Lead() && incident.Near(g, b, opt) }); i >= 0 {
			out[i] = incident.Join(out[i], b, opt)
		}
	}

	return out
}

// saturatedRate is the rate of requests of the device that is saturated, of several the highest;
// 0 where none is.
func saturatedRate(c *rules.Case) []float64 {
	out := make([]float64, c.Grid.N)
	for _, t := range c.Signal(rules.DiskBusy) {
		dev := t.Labels.Get("device")
		queue, ops := c.For(rules.DiskQueue, "device", dev), c.For(rules.DiskOps, "device", dev)
		if queue == nil || ops == nil {
			continue
		}
		for k, busy := range t.Values {
			if busy > 0.9 && queue[k] > 2 && ops[k] > out[k] {
				out[k] = ops[k]
			}
		}
	}
	return out
}

// context is the time that an incident is judged with.
func contextOf(c *rules.Case, g incident.Group, at func(int) int) timeline.Episode {
	e := g.Span()
	around := max(c.Cells(contextSpan), contextLengths*e.Cells())
	out := e
	for out.First > 0 && at(e.First)-at(out.First-1) <= around {
		out.First--
	}
	for out.Last < c.Grid.N-1 && at(out.Last+1)-at(e.Last) <= around {
		out.Last++
	}
	return out
}
