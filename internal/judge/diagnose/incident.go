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
	// incidentsMax is how many incidents are judged, most harmful first. Others are only counted.
	incidentsMax = 10
	// contextSpan is how much time on either side is included in judging an incident. It shows what
	// is usual, and how the same device performed when nothing stalled.
	contextSpan = time.Hour
	// contextLengths is the same in multiples of the incident's length; the larger one counts.
	contextLengths = 2
	episodeGap     = time.Second
	episodeSlow    = time.Minute
	// Events may be nearEvents apart and still form one incident; in a long recording, a
	// nearParts-th of its length.
	nearEvents = 20 * time.Minute
	nearParts  = 48
	// One or two events that differ from their neighbours form a separate incident if they have
	// this much stalled time and this many cells.
	substantial      = 15 * time.Second
	substantialCells = 3
	// Incidents of up to blipS seconds are dropped if they did less than blipShare of the worst
	// one's harm.
	blipS     = 3.0
	blipShare = 0.1
	// stillSlow is the fraction of the stall threshold below which an episode ends (hysteresis).
	stillSlow = 0.5
)

// judged is an incident with the data for judging it.
type judged struct {
	group    incident.Group
	order    []int            // indexes of the detectors, by rank among the group's sources
	span     timeline.Episode // cells of the recording that are included in judging it
	c        *rules.Case
	whole    *rules.Case // the case whose cells span and group refer to
	worse    bool        // slower than usual, but not stalled
	findings []Finding
}

// condition is the time in which a rule's condition holds.
type condition struct {
	held []timeline.Track
	// known reports whether everything the rule needs was measured.
	known bool
}

// conditions evaluates the conditions of all rules once, over the whole recording.
func conditions(ctx context.Context, c *rules.Case, sig *signals, pack *rules.Pack) ([]condition, error) {
	all := pack.Rules()
	out := make([]condition, len(all))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(runtime.GOMAXPROCS(0))

	for i, rule := range all {
		// A rule that cannot be judged stays unknown, which is different from a condition that never
		// held.
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

// detectors returns the stalls that can form incidents, the one closest to clients first. They are
// those of databases, and of devices while no database reports client latency.
func detectors(input *rules.Case) (order []int, sources []incident.Source) {
	watched := make(timeline.Mask, input.Grid.N)
	for i, s := range input.Symptoms {
		order = append(order, i)
		if s.IsDatabase {
			// The database's source may end up to one sample earlier or later than the device's.
			between := int(s.PeriodS / input.Grid.StepSeconds())
			watched = watched.Or(s.Observed.Widen(between, between))
		}
	}

	// Client latency comes first, because waiting clients are what a stall is. Devices are a substitute.
	rank := func(i int) int {
		s := input.Symptoms[i]
		switch {
		case s.IsDatabase && s.Foremost:
			return 0
		case s.IsDatabase && !s.Aside:
			return 1
		case s.IsDatabase:
			return 2
		case s.Aside && outwaitsDevices(s, input.Symptoms):
			return 3
		case !s.Aside:
			return 4
		}

		return 5
	}

	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)),
			cmp.Compare(input.Symptoms[b].Cells.Count(), input.Symptoms[a].Cells.Count()))
	})

	for _, i := range order {
		s := input.Symptoms[i]

		// Where a database reports its latency, a slow device is at most a cause and starts no incident.
		stalled := s.AsSampled()
		if !s.IsDatabase {
			stalled = stalled.Without(watched)
		}
		sources = append(sources, incident.Source{Stalled: stalled, Slow: slow(s), Harm: harm(input, s)})
	}

	return order, sources
}

// slow marks the cells in which latency is still high, or nothing completes.
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

// harm is the cost of each cell: the seconds that operations waited, summed. Incidents of all
// detectors are ranked by it. Without a known latency, the waiting operations are those that a
// source counts as queued, or the share of connected clients whose usual completions are missing.
// At least one counts, because something stalled.
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

// group finds the incidents of a recording, before they are judged.
func group(c *rules.Case, pack *rules.Pack, held []condition) (groups []incident.Group, order []int,
	opt incident.Options) {
	opt = incidentOptions(c)
	order, sources := detectors(c)
	events := incident.Events(sources, opt)

	// Conditions distinguish incidents; with one event there is nothing to distinguish.
	if len(events) > 1 {
		var masks []timeline.Mask
		seen := map[string]bool{}
		for i, rule := range pack.Rules() {
			// Two rules with the same condition would count it twice when events are compared for
			// similarity.
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

// withoutBlips removes groups with hardly any stalled time and merges each into the first group of
// the same detector near it. Other conditions at the time, such as a device's queue, must not
// change how long a database stalled.
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

// saturatedRate is the request rate of the saturated device, the highest if there are several; 0 if
// none is saturated.
func saturatedRate(c *rules.Case) []float64 {
	out := make([]float64, c.Grid.N)
	for _, t := range c.Signal(rules.DiskBusy) {
		dev := t.Labels.Get("device")
		full, _ := c.SaturatedDevice(dev)
		for k, ops := range c.For(rules.DiskOps, "device", dev) {
			if full[k] {
				out[k] = max(out[k], known(ops))
			}
		}
	}
	return out
}

// contextOf returns the cells included in judging an incident.
func contextOf(c *rules.Case, g incident.Group, at func(int) int) timeline.Episode {
	e := g.Span()

	// Compare times rather than cells: the grid leaves out stretches without samples.
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
